"""Shared by the consumers of all brokers: the queues, message ids, and retries."""

import time
from collections.abc import Callable
from threading import Event
from typing import Protocol
from uuid import UUID, uuid5

from holdfast.domain.immutable import immutable
from holdfast.ports.facts.log import Dead, DeadLetter, Handled, Handler, Message

# After this many deliveries that failed or killed their consumer, a message is dead-lettered.
DELIVERIES_MAX = 5
TOO_OFTEN = "delivered too often"
MALFORMED = "malformed"

FIRST_PAUSE_SECONDS = 0.1
PAUSE_SECONDS_MAX = 5.0
# How long a message that is not at fault keeps its place before it goes to the end of its queue.
# RabbitMQ redelivers, and counts, what a consumer has not finished after half an hour.
PATIENCE_SECONDS = 20 * 60.0

_NAMELESS = UUID("5f1f2a0e-6a3c-4d0b-9d8e-0f3f4c1f7a55")


@immutable
class Subscription:
    """One of our queues, and the message types it receives."""

    queue: str
    types: frozenset[str]


# Our own facts that buyers are notified of at once: most have minutes left to pay.
NOTIFICATIONS = Subscription(
    "holdfast.notifications",
    frozenset({"hold.expiring", "hold.promoted", "notice.requested", "order.confirmed"}),
)
# Those about what has ended. A cancelled event makes one for each buyer, and nobody else's notice
# of a few minutes may wait behind them.
ENDINGS = Subscription(
    "holdfast.endings", frozenset({"hold.cancelled", "hold.expired", "order.cancelled"})
)
# The ends of holds, for an Inventory Service: it gives the tickets back, or sells them.
INVENTORY = Subscription(
    "holdfast.inventory",
    frozenset({"hold.cancelled", "hold.converted", "hold.expired", "hold.failed"}),
)
NOTIFIED_TYPES = NOTIFICATIONS.types | ENDINGS.types
# Messages from the shop that takes the payment.
ORDERS = Subscription("holdfast.orders", frozenset({"order.confirmed"}))


class Consumer(Protocol):
    """One connection to a broker, on the thread that runs it."""

    def run(self, handler: Handler, stopped: Event) -> None:
        """Consume until stopped, through any number of lost connections. A message is acknowledged
        only after its handler, so it may arrive twice."""
        ...


class DeadLetters(Protocol):
    """The dead letters of a broker. Every call raises PublishFailed if it is unreachable."""

    def peek(self, limit: int) -> list[DeadLetter]:
        """Read dead letters without removing them, oldest first if the broker keeps the order."""
        ...

    def replay(self, message_id: UUID | None = None) -> int:
        """Send one of them, or all current ones, only to the queue each came from. Returns how many
        were sent."""
        ...


def pause_seconds(failures: int) -> float:
    """The back-off after this many earlier failures in a row."""
    # The exponent is bounded, too: failures may go on for days.
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 16), PAUSE_SECONDS_MAX)


def message_id(given: str | None, body: bytes) -> UUID:
    """A UUID for a message with any id or none. The same message always gets the same id."""
    if not given:
        return uuid5(_NAMELESS, body.hex())
    try:
        return UUID(given)
    except ValueError:
        return uuid5(_NAMELESS, given)


def handle_until_settled(
    handler: Handler,
    message: Message,
    pause: Callable[[float], bool],
    patience_seconds: float,
) -> Handled | Dead:
    """Retry a message in place while its handler returns AGAIN.

    AGAIN means that something else is at fault (such as the database), so it is not a failure of
    the message, and the next ones would fail, too. `pause` waits and returns whether to continue.
    AGAIN is returned only if it says no, or after `patience_seconds`, to give others their turn.
    """
    until = time.monotonic() + patience_seconds
    tries = 0
    while (handled := handler(message)) is Handled.AGAIN and time.monotonic() < until:
        if not pause(pause_seconds(tries)):
            break
        tries += 1
    return handled
