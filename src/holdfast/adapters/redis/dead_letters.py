"""Reading and replaying dead letters of the streams."""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

from holdfast.adapters.redis.streams import (
    BROKER_ERRORS,
    FACTS,
    GROUP_FIELD,
    INBOUND,
    QUEUE_FIELD,
    REASON_FIELD,
    Client,
    Fields,
    connect,
    dead_letters_of,
    from_fields,
    to_fields,
)
from holdfast.ports.facts.deliveries import message_id
from holdfast.ports.facts.log import DeadLetter, Message, PublishFailed

PAGE_SIZE = 100
# Atomic, and once even if two people replay at the same time.
SEND_BACK = """
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 2))
return 1
"""


class ValkeyDeadLetters:
    def __init__(self, url: str) -> None:
        self._url = url

    def peek(self, limit: int) -> list[DeadLetter]:
        try:
            with closing(connect(self._url)) as client:
                return [
                    _letter(fields)
                    for stream in (FACTS, INBOUND)
                    for _, fields in client.xrange(dead_letters_of(stream), count=limit)
                ][:limit]
        except BROKER_ERRORS as error:
            raise PublishFailed(type(error).__name__) from error

    def replay(self, message_id: UUID | None = None) -> int:
        try:
            with closing(connect(self._url)) as client:
                return sum(
                    _send_back(client, stream, entry_id, letter)
                    for stream in (FACTS, INBOUND)
                    for entry_id, letter in _all_now(client, stream)
                    if message_id in {None, letter.message.id}
                )
        except BROKER_ERRORS as error:
            raise PublishFailed(type(error).__name__) from error


def _all_now(client: Client, stream: str) -> Iterator[tuple[bytes, DeadLetter]]:
    """Only as many as there are now: one that fails again at once would otherwise be taken
    forever."""
    newest = client.xrevrange(dead_letters_of(stream), count=1)
    after = "-"
    while newest:
        page = client.xrange(dead_letters_of(stream), after, newest[0][0], count=PAGE_SIZE)
        if not page:
            return
        for entry_id, fields in page:
            yield entry_id, _letter(fields)
        after = f"({page[-1][0].decode()}"


def _send_back(client: Client, stream: str, entry_id: bytes, letter: DeadLetter) -> bool:
    fields = to_fields(letter.message, **{GROUP_FIELD: letter.queue})
    flat = [part for field in fields.items() for part in field]
    return bool(client.eval(SEND_BACK, 2, dead_letters_of(stream), stream, entry_id, *flat))


def _letter(fields: Fields) -> DeadLetter:
    """A malformed entry is shown as far as possible."""
    body = fields.get(b"body", b"")
    nameless = Message(message_id(None, body), _text(fields, "type"), body, {})
    return DeadLetter(
        message=from_fields(fields) or nameless,
        queue=_text(fields, QUEUE_FIELD),
        reason=_text(fields, REASON_FIELD),
    )


def _text(fields: Fields, name: str) -> str:
    return fields.get(name.encode(), b"").decode(errors="replace")
