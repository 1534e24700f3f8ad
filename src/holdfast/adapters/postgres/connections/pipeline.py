"""Statements that share a round trip, sent as prepared statements straight through libpq.

psycopg's cursors need about 90 us of processor time for a statement, six times as much as this, and
its pipeline waits for the socket before each one. Every wait gives up the interpreter, so beside a
busy thread a group of 20 statements had to get it back 40 times. Here a round trip takes one write
and, as a rule, one wait.
"""

import re
import select
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any, NamedTuple, Protocol

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

Parameters = Sequence[Any] | Mapping[str, Any]
Row = tuple[Any, ...]

# How long a thread with precedence may compute while others wait: most groups need less.
KEPT_SECONDS = 0.005
# Converting more rows at once would keep the interpreter busy for too long.
ROWS_AT_ONCE = 500

_PLACEHOLDER = re.compile(r"%(?:s|\((\w+)\)s)")
# A prepared statement is gone, or returns other types since a column changed.
_STALE = frozenset({"26000", "0A000"})
_DONE = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK})


class Statements(Protocol):
    """Where statements are executed: a pipeline, or a connection of psycopg."""

    def execute(self, statement: Any, parameters: Any = ..., /) -> Iterable[Row]: ...


class BinaryArray(bytes):
    """A parameter in PostgreSQL's binary format. Other parameters are sent as text."""

    __slots__ = ()


class Rows:
    """The rows of a statement. Reading them sends whatever the pipeline has queued."""

    __slots__ = ("_pipeline", "result")

    def __init__(self, pipeline: "Pipeline") -> None:
        self._pipeline = pipeline
        self.result: PGresult | None = None

    def __iter__(self) -> Iterator[Row]:
        if self.result is None:
            self._pipeline.send()
        result, loader = self.result, self._pipeline.loader
        assert result is not None, "the statement failed, or was never sent"
        for start in range(0, result.ntuples, ROWS_AT_ONCE):
            loader.set_pgresult(result)
            end = min(start + ROWS_AT_ONCE, result.ntuples)
            yield from loader.load_rows(start, end, tuple)

    @property
    def tag(self) -> bytes:
        """The command's own answer, such as COMMIT."""
        assert self.result is not None
        return self.result.command_status or b""


class _Queued(NamedTuple):
    statement: str
    values: list[bytes | None]
    formats: list[Format]
    rows: Rows


class Precedence:
    """Whether a thread keeps the interpreter between its round trips, while it holds locks.
    Everybody who wants the same pool waits for the thread that has locked it. That thread shares
    the interpreter with the event loop, which is as busy: half of the time under the lock, it only
    waited for its turn. One thread of a process may have precedence, because all threads have the
    same switch interval."""

    def __init__(self) -> None:
        self.usual_seconds = sys.getswitchinterval()
        self.is_taken = False

    def end(self) -> None:
        if self.is_taken:
            self.is_taken = False
            sys.setswitchinterval(self.usual_seconds)


class Pipeline:
    """The statements of one connection, for one thread."""

    def __init__(self, connection: psycopg.Connection[Any], precedence: Precedence) -> None:
        self._connection = connection
        self._precedence = precedence
        self._wire = connection.pgconn
        self.loader = Transformer(connection)
        self._queue: list[_Queued] = []
        self._under_way: list[_Queued | None] = []  # without results yet; None is a sync
        self._new: set[Rows] = set()
        self._prepared: dict[str, bytes] = {}
        self._numbers = count()
        self._error: psycopg.Error | None = None
        self._preamble: list[_Queued] = []
        self._readable = _poll(connection, select.POLLIN)
        self._writable = _poll(connection, select.POLLIN | select.POLLOUT)

    @property
    def is_closed(self) -> bool:
        return self._connection.closed

    def execute(self, statement: str, parameters: Parameters = ()) -> Rows:
        """Queue a statement. It is sent when any result of the queue is read, or by `send`."""
        values: Iterable[Any] = parameters
        if isinstance(parameters, Mapping):
            _, names = _translated(statement)
            values = (parameters[name] for name in names)
        sent: list[bytes | None] = []
        formats: list[Format] = []
        for value in values:
            if isinstance(value, BinaryArray):
                sent.append(value)
                formats.append(Format.BINARY)
                continue
            text = None if value is None else str(value).encode()
            if text is not None and b"\0" in text:
                # libpq would cut the text off here.
                raise psycopg.DataError("PostgreSQL text fields cannot contain NUL bytes")
            sent.append(text)
            formats.append(Format.TEXT)
        rows = Rows(self)
        self._queue.append(_Queued(statement, sent, formats, rows))
        return rows

    def forget(self) -> None:
        """Drop statements that are queued and not sent."""
        self._queue.clear()
        if self._under_way:
            self._under_way.clear()
            self._connection.close()  # their results are outstanding

    @contextmanager
    def beginning_with(self, statement: str, parameters: Parameters) -> Iterator[None]:
        """Send this statement first in every round trip, which outside a transaction is a
        transaction of its own."""
        self.execute(statement, parameters)
        self._preamble = [self._queue.pop()]
        try:
            yield
            self.send()
        finally:
            self._preamble = []

    def start(self) -> None:
        """Send the queued statements of a transaction, and don't wait: the server executes them
        while this thread prepares the rest of the round trip. If the rest never comes, the server
        ends the transaction after a while, because they are synced."""
        queue, self._queue = self._queue, []
        with self._exchanging():
            self._put(queue)
            self._write()

    def send(self) -> None:
        """Send all queued statements and read their results. Raises the first error; the server
        skips the statements after it."""
        if not (self._queue or self._under_way):
            return
        queue, self._queue = self._preamble + self._queue, []
        with self._exchanging():
            self._put(queue)
            self._write()
            self._read()
            self._wire.exit_pipeline_mode()
        error, self._error = self._error, None
        if error is not None:
            if error.sqlstate in _STALE:
                self._prepared.clear()
            raise error

    @contextmanager
    def _exchanging(self) -> Iterator[None]:
        """Close the connection if this block fails: results may be outstanding, so it cannot be
        used again, and nobody knows what the server did. Precedence pauses: libpq gives the
        interpreter away many times, and this thread wants it back soon."""
        precedence = self._precedence
        try:
            if precedence.is_taken:
                sys.setswitchinterval(precedence.usual_seconds)
            yield
            if precedence.is_taken:
                sys.setswitchinterval(KEPT_SECONDS)
        except Exception:
            self._connection.close()
            self._under_way.clear()
            self._error = self._error or psycopg.OperationalError("the connection was lost")
        except BaseException:
            self._connection.close()
            raise

    def _put(self, queue: Sequence[_Queued]) -> None:
        """Hand the statements to libpq, and a sync."""
        if not self._under_way:
            self._wire.enter_pipeline_mode()
            self._new.clear()
        self._under_way += (*queue, None)
        for statement, values, formats, rows in queue:
            name = self._prepared.get(statement)
            if name is None:
                text, _ = _translated(statement)
                name = self._prepared[statement] = b"holdfast_%d" % next(self._numbers)
                self._wire.send_prepare(name, text)
                self._new.add(rows)
            self._wire.send_query_prepared(name, values, formats, Format.BINARY)
        self._wire.pipeline_sync()

    def _write(self) -> None:
        while self._wire.flush():
            # The server may be unable to read on before we read its answers.
            ((_, ready),) = self._writable.poll()
            if ready & ~select.POLLOUT:
                self._wire.consume_input()

    def _read(self) -> None:
        sent, self._under_way = self._under_way, []
        for queued in sent:
            if queued is None:
                self._wait()
                synced = self._wire.get_result()
                if synced is None or synced.status != ExecStatus.PIPELINE_SYNC:
                    raise psycopg.OperationalError("the connection was lost")
                continue
            statement, _, _, rows = queued
            if rows in self._new and self._next_result() is None:
                del self._prepared[statement]
            rows.result = self._next_result()

    def _next_result(self) -> PGresult | None:
        """The result of a statement, or None if it failed or was skipped."""
        self._wait()
        result = self._wire.get_result()
        if result is None:
            raise psycopg.OperationalError("the connection was lost")
        is_done = result.status in _DONE
        if not is_done and self._error is None:
            self._error = error_from_result(result)
        self._wait()
        self._wire.get_result()  # every result is followed by an empty one
        return result if is_done else None

    def _wait(self) -> None:
        while self._wire.is_busy():
            self._readable.poll()
            self._wire.consume_input()


def _poll(connection: psycopg.Connection[Any], events: int) -> "select.poll":
    poll = select.poll()
    poll.register(connection.fileno(), events)
    return poll


@cache
def _translated(statement: str) -> tuple[bytes, list[str]]:
    """The statement with numbered parameters, and the names of its named ones in that order."""
    names: list[str] = []
    numbers = count(1)

    def numbered(match: "re.Match[str]") -> str:
        name = match[1]
        if name is None:
            return f"${next(numbers)}"
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return _PLACEHOLDER.sub(numbered, statement).encode(), names
