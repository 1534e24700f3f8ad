"""What was put aside: to look at it, and to send it on its way again."""

from collections.abc import Iterator
from uuid import UUID

from holdfast.adapters.rabbitmq.confirming import ConfirmingChannel, Letter
from holdfast.adapters.rabbitmq.connecting import BROKER_ERRORS, Channel, connected
from holdfast.adapters.rabbitmq.messages import RawMessage, dead_letter_from_raw, to_raw
from holdfast.adapters.rabbitmq.topology import DEAD_LETTERS, declare
from holdfast.ports.facts import DeadLetter, PublishFailed

DEFAULT_EXCHANGE = ""  # takes the name of a queue as routing key


class RabbitDeadLetters:
    """Every call opens a connection of its own, and raises PublishFailed when the broker is away.
    What was taken and not acknowledged is back in its place when the connection ends."""

    def __init__(self, url: str) -> None:
        self._url = url

    def peek(self, limit: int) -> list[DeadLetter]:
        """The oldest ones. They stay where they are."""
        try:
            with connected(self._url) as connection:
                channel = connection.channel()
                return [dead_letter_from_raw(raw) for raw in _taken(channel, limit)]
        except BROKER_ERRORS as error:
            raise PublishFailed(type(error).__name__) from error

    def replay(self, message_id: UUID | None = None) -> int:
        """Send one of them, or all that there are now, to the queue that it came from, and to no
        other; say how many were sent."""
        try:
            with connected(self._url) as connection:
                publishing = ConfirmingChannel(connection)
                return sum(
                    _send_back(publishing, raw, message_id)
                    for raw in _taken(publishing.channel, None)
                )
        except BROKER_ERRORS as error:
            raise PublishFailed(type(error).__name__) from error


def _taken(channel: Channel, limit: int | None) -> Iterator[RawMessage]:
    """No more than there are now: what comes back at once must not be taken for ever."""
    declare(channel)
    waiting = channel.queue_declare(DEAD_LETTERS, passive=True).message_count
    for _ in range(waiting if limit is None else min(limit, waiting)):
        raw = channel.basic_get(DEAD_LETTERS)
        if raw is None:
            return
        yield raw


def _send_back(publishing: ConfirmingChannel, raw: RawMessage, message_id: UUID | None) -> bool:
    letter = dead_letter_from_raw(raw)
    if message_id not in {None, letter.message.id}:
        return False
    again = to_raw(publishing.channel, letter.message)
    publishing.publish([Letter(again, DEFAULT_EXCHANGE, letter.queue)])
    publishing.channel.basic_ack(raw.delivery_tag)
    return True
