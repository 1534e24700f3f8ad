"""What the consumers of every broker agree on: which queues there are, what a message is called,
and how often and how fast one is tried again."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Protocol
from uuid import UUID, uuid5

from holdfast.ports.facts.log import Dead, DeadLetter, Handled, Handler, Message

# A message whose handler raised so often, or whose consumer died over it, is put aside.
DELIVERIES_MAX = 5
TOO_OFTEN = "delivered too often"
MALFORMED = "malformed"

FIRST_PAUSE_SECONDS = 0.1
PAUSE_SECONDS_MAX = 5.0
# For so long a message that is not at fault keeps its place, then it goes to the end of its queue.
# RabbitMQ takes away, and counts, what a consumer has not finished after half an hour.
PATIENCE_SECONDS = 20 * 60.0

_NAMELESS = UUID("5f1f2a0e-6a3c-4d0b-9d8e-0f3f4c1f7a55")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A queue of ours, and the types of the messages that it takes."""

    queue: str
    types: frozenset[str]


# Our own facts that people are told of.
NOTIFICATIONS = Subscription(
    "holdfast.notifications", frozenset({"hold.expiring", "hold.promoted", "order.confirmed"})
)
# What the shop that takes the payment sends us.
ORDERS = Subscription("holdfast.orders", frozenset({"order.confirmed"}))


class Consumer(Protocol):
    """One connection to a broker, on the thread that runs it."""

    def run(self, handler: Handler, stopped: Event) -> None:
        """Until it is stopped, through any number of lost connections. A message is done with only
        when its handler is, so it may come twice."""
        ...


class DeadLetters(Protocol):
    """Every call raises PublishFailed when the broker is away."""

    def peek(self, limit: int) -> list[DeadLetter]:
        """The oldest first, as far as the broker keeps their order. They stay where they are."""
        ...

    def replay(self, message_id: UUID | None = None) -> int:
        """Send one of them, or all that there are now, to the queue that it came from, and to no
        other; say how many were sent."""
        ...


def pause_seconds(failures: int) -> float:
    """How long to wait after so many failures in a row before this one."""
    # The exponent is bounded too: somebody may fail for days.
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 16), PAUSE_SECONDS_MAX)


def message_id(given: str | None, body: bytes) -> UUID:
    """Others may name their messages as they like, or not at all. Whoever sends the same thing
    twice must get the same id twice."""
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
    """Deliver a message again, here and now, for as long as its handler says AGAIN.

    That is said when something else is at fault (the database is away), so it counts as no failure
    of the message, and the ones behind it would fare no better. `pause` waits for so many seconds
    and says whether to go on; AGAIN is returned only when it says no, or when our patience ends:
    after so long, those behind it may have their turn.
    """
    until = time.monotonic() + patience_seconds
    tries = 0
    while (handled := handler(message)) is Handled.AGAIN and time.monotonic() < until:
        if not pause(pause_seconds(tries)):
            break
        tries += 1
    return handled
