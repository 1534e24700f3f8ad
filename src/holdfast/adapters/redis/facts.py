"""Publishing and consuming through a Valkey or Redis stream, as an alternative to RabbitMQ."""

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from uuid import uuid4

import redis
import structlog

from holdfast.adapters.redis.retention import trim
from holdfast.adapters.redis.streams import (
    BROKER_ERRORS,
    FACTS,
    GROUP_FIELD,
    QUEUE_FIELD,
    REASON_FIELD,
    Fields,
    connect,
    dead_letters_of,
    forgets,
    from_fields,
    to_fields,
)
from holdfast.domain.immutable import immutable
from holdfast.ports.facts.deliveries import (
    DELIVERIES_MAX,
    MALFORMED,
    PATIENCE_SECONDS,
    TOO_OFTEN,
    handle_until_settled,
    pause_seconds,
)
from holdfast.ports.facts.log import Dead, Handled, Handler, Message, PublishFailed

# Messages read at a time; they are handled one by one.
READ_COUNT = 16
READ_WAIT_MS = 500
# A consumer that has not finished a message after this time counts as dead.
CLAIM_AFTER_SECONDS = 60.0
# The stream is trimmed whenever it has grown by a hundredth of the messages it keeps.
TRIMS = 100

_log = structlog.get_logger("holdfast.valkey")


class ValkeyPublisher:
    """The stream keeps about `kept` messages, and all that a group has not read yet."""

    def __init__(self, url: str, kept: int, *, stream: str = FACTS) -> None:
        self._client = connect(url)
        self._kept = kept
        self._stream = stream
        self._until_trim = 0

    def publish(self, messages: Sequence[Message]) -> None:
        try:
            self._trim_now_and_then(len(messages))
            with self._client.pipeline(transaction=False) as pipeline:
                for message in messages:
                    pipeline.xadd(self._stream, to_fields(message))
                pipeline.execute()
        except BROKER_ERRORS as error:
            raise PublishFailed(type(error).__name__) from error

    def _trim_now_and_then(self, count: int) -> None:
        """Trim before publishing: a failure here causes no duplicates."""
        self._until_trim -= count
        if self._until_trim < 0:
            trim(self._client, self._stream, self._kept)
            self._until_trim = self._kept // TRIMS

    def close(self) -> None:
        self._client.close()


@immutable
class _Entry:
    """A message in the stream, with its number of deliveries including this one."""

    id: bytes
    fields: Fields
    deliveries: int


class ValkeyConsumer:
    """A consumer of a group. It leaves messages of other types to other groups."""

    def __init__(
        self,
        url: str,
        group: str,
        types: Collection[str],
        *,
        stream: str = FACTS,
        claim_after_seconds: float = CLAIM_AFTER_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._client = connect(url)
        self._group = group
        self._types = frozenset(types)
        self._stream = stream
        self._claim_after_ms = int(claim_after_seconds * 1_000)
        self._patience_seconds = patience_seconds
        self._name = uuid4().hex

    def run(self, handler: Handler, stopped: threading.Event) -> None:
        failures = 0
        has_looked = False
        while not stopped.is_set():
            try:
                self._make_group()
                if not has_looked:
                    self._warn_of_forgetting()
                    has_looked = True
                while not stopped.is_set():
                    for entry in self._abandoned() + self._fresh():
                        self._deliver(entry, handler, stopped)
                    failures = 0
            except BROKER_ERRORS as error:
                _log.warning("consumer.lost", queue=self._group, problem=type(error).__name__)
                stopped.wait(pause_seconds(failures))
                failures += 1
        with suppress(*BROKER_ERRORS):
            self._leave()
        self._client.close()

    def _make_group(self) -> None:
        """Create the group, starting with the oldest message."""
        try:
            self._client.xgroup_create(self._stream, self._group, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    def _warn_of_forgetting(self) -> None:
        if forgets(self._client):
            problem = "a restart of Redis loses messages: set appendonly to yes"
            _log.warning("broker.forgets", queue=self._group, problem=problem)

    def _abandoned(self) -> list[_Entry]:
        """Messages that a dead consumer had not finished, or a stopped one had not begun."""
        _, claimed, *_ = self._client.xautoclaim(
            self._stream, self._group, self._name, self._claim_after_ms, count=READ_COUNT
        )
        return [_Entry(id_, fields, self._deliveries_of(id_)) for id_, fields in claimed]

    def _fresh(self) -> list[_Entry]:
        answer = self._client.xreadgroup(
            self._group, self._name, {self._stream: ">"}, count=READ_COUNT, block=READ_WAIT_MS
        )
        return [_Entry(id_, fields, 1) for _, entries in answer or () for id_, fields in entries]

    def _deliveries_of(self, entry_id: bytes) -> int:
        pending = self._client.xpending_range(self._stream, self._group, entry_id, entry_id, 1)
        return int(pending[0]["times_delivered"]) if pending else 1

    def _deliver(self, entry: _Entry, handler: Handler, stopped: threading.Event) -> None:
        message = from_fields(entry.fields)
        if message is None:
            self._put_aside(entry, MALFORMED)
        elif not self._is_for_us(entry, message):
            self._done(entry)
        else:
            self._try(entry, message, handler, stopped)

    def _is_for_us(self, entry: _Entry, message: Message) -> bool:
        group = entry.fields.get(GROUP_FIELD.encode(), self._group.encode())
        return message.type in self._types and group == self._group.encode()

    def _try(
        self, entry: _Entry, message: Message, handler: Handler, stopped: threading.Event
    ) -> None:
        for attempt in range(entry.deliveries, DELIVERIES_MAX + 1):
            if stopped.is_set():
                self._give_back(entry, attempt - 1)
                return
            self._keep(entry, attempt)
            match self._handled(entry, message, handler, stopped):
                case Handled.DONE:
                    self._done(entry)
                    return
                case Dead(reason):
                    self._put_aside(entry, reason)
                    return
                case Handled.AGAIN if stopped.is_set():
                    self._give_back(entry, attempt - 1)
                    return
                case Handled.AGAIN:
                    self._send_to_the_end(entry)
                    return
            stopped.wait(pause_seconds(attempt - 1))
        self._put_aside(entry, TOO_OFTEN)

    def _handled(
        self, entry: _Entry, message: Message, handler: Handler, stopped: threading.Event
    ) -> Handled | Dead | None:
        """None when the handler raised."""

        def pause(seconds: float) -> bool:
            stopped.wait(seconds)
            self._keep(entry)
            return not stopped.is_set()

        try:
            return handle_until_settled(handler, message, pause, self._patience_seconds)
        except Exception:
            _log.exception("message.failed", queue=self._group, message_id=str(message.id))
            return None

    def _done(self, entry: _Entry) -> None:
        self._client.xack(self._stream, self._group, entry.id)

    def _keep(self, entry: _Entry, deliveries: int | None = None) -> None:
        """Show that we are alive, and record the attempt number for the case that we die."""
        self._claim(entry, idle=0, deliveries=deliveries)

    def _give_back(self, entry: _Entry, deliveries: int) -> None:
        """Let another consumer take it at once."""
        self._claim(entry, idle=self._claim_after_ms, deliveries=deliveries)

    def _claim(self, entry: _Entry, idle: int, deliveries: int | None) -> None:
        self._client.xclaim(
            self._stream,
            self._group,
            self._name,
            min_idle_time=0,
            message_ids=[entry.id],
            idle=idle,
            retrycount=deliveries,
            justid=True,
        )

    def _put_aside(self, entry: _Entry, reason: str) -> None:
        _log.warning("message.put_aside", queue=self._group, reason=reason)
        self._move(
            entry, dead_letters_of(self._stream), {QUEUE_FIELD: self._group, REASON_FIELD: reason}
        )

    def _send_to_the_end(self, entry: _Entry) -> None:
        """Add it again for our group alone: the other groups had it already."""
        _log.warning("message.delayed", queue=self._group)
        self._move(entry, self._stream, {GROUP_FIELD: self._group})

    def _move(self, entry: _Entry, stream: str, notes: Mapping[str, str]) -> None:
        noted = {name.encode(): note.encode() for name, note in notes.items()}
        with self._client.pipeline(transaction=True) as pipeline:
            pipeline.xadd(stream, {**entry.fields, **noted})
            pipeline.xack(self._stream, self._group, entry.id)
            pipeline.execute()

    def _leave(self) -> None:
        """Delete this consumer if it has finished all its messages: unfinished ones would be
        deleted with it."""
        for consumer in self._client.xinfo_consumers(self._stream, self._group):
            if consumer["name"] == self._name.encode() and consumer["pending"] == 0:
                self._client.xgroup_delconsumer(self._stream, self._group, self._name)
