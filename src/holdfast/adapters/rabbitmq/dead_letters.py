"""Reading and replaying dead letters."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from holdfast.adapters.rabbitmq.confirms import ConfirmingChannel, Letter
from holdfast.adapters.rabbitmq.connections import BROKER_ERRORS, Channel, connected
from holdfast.adapters.rabbitmq.messages import RawMessage, dead_letter_from_raw, to_raw
from holdfast.adapters.rabbitmq.topology import DEAD_LETTERS, DEFAULT_EXCHANGE, declare
from holdfast.ports.facts.log import DeadLetter, PublishFailed

RETURN_SECONDS_MAX, LOOK_EVERY_SECONDS = 1.0, 0.02


class RabbitDeadLetters:
    """Every call opens a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    def peek(self, limit: int) -> list[DeadLetter]:
        with self._opened() as publishing, _taken(publishing.channel, limit) as taken:
            return [dead_letter_from_raw(raw) for raw in taken.values()]

    def replay(self, message_id: UUID | None = None) -> int:
        with self._opened() as publishing, _taken(publishing.channel, None) as taken:
            letters = {tag: dead_letter_from_raw(raw) for tag, raw in taken.items()}
            wanted = [
                tag for tag, letter in letters.items() if message_id in {None, letter.message.id}
            ]
            for tag in wanted:
                _send_back(publishing, letters[tag])
                publishing.channel.basic_ack(tag)
                del taken[tag]
            return len(wanted)

    @contextmanager
    def _opened(self) -> Iterator[ConfirmingChannel]:
        try:
            with connected(self._url) as connection:
                publishing = ConfirmingChannel(connection)
                declare(publishing.channel)
                yield publishing
        except BROKER_ERRORS as error:
            raise PublishFailed(type(error).__name__) from error


@contextmanager
def _taken(channel: Channel, limit: int | None) -> Iterator[dict[int, RawMessage]]:
    """Dead letters by delivery tag; those still in the mapping at the end are requeued.

    Only as many as there are now: one that fails again at once would otherwise be taken forever.
    """
    waiting = _count(channel)
    taken: dict[int, RawMessage] = {}
    for _ in range(waiting if limit is None else min(limit, waiting)):
        raw = channel.basic_get(DEAD_LETTERS)
        if raw is None:
            break
        taken[raw.delivery_tag] = raw
    still_there = waiting - len(taken)
    try:
        yield taken
    finally:
        for tag in taken:
            channel.basic_reject(tag, requeue=True)
        _wait_until_back(channel, still_there + len(taken))


def _wait_until_back(channel: Channel, count: int) -> None:
    """Requeuing takes a moment, in which other readers would miss some. The wait is short, because
    another reader may take them in the meantime."""
    deadline = time.monotonic() + RETURN_SECONDS_MAX
    while _count(channel) < count and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_SECONDS)


def _count(channel: Channel) -> int:
    return int(channel.queue_declare(DEAD_LETTERS, passive=True).message_count)


def _send_back(publishing: ConfirmingChannel, letter: DeadLetter) -> None:
    raw = to_raw(publishing.channel, letter.message)
    publishing.publish([Letter(raw, DEFAULT_EXCHANGE, letter.queue)])
