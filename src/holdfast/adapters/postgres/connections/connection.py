"""Connections to PostgreSQL: their settings, their time limits, and the translation of errors."""

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import psycopg
from psycopg import errors
from psycopg.types.json import set_json_loads

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Precedence, Statements
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.ids import OrganizationId
from holdfast.ports.store import Contended, Rejected, StoreError, StoreUnavailable

CONNECT_TIMEOUT_SECONDS = 2
# After a failed attempt, others fail at once for this long instead of waiting one by one.
RECONNECT_PAUSE_SECONDS = 0.25
# Plans for a small table may be wrong when it has grown. Statistics lag behind, but the planner
# sees the table's size at once, so plans are discarded this often.
PLANS_KEPT_SECONDS = 1.0
LOCK_TIMEOUT_MS = 250
# The longest that one exchange with the server may take before its connection is closed.
EXCHANGE_TIMEOUT_SECONDS = 4.0
LOOK_EVERY_SECONDS = 0.25
# Shorter than the watchdog's timeout: an error leaves the connection intact.
STATEMENT_TIMEOUT_MS = int(EXCHANGE_TIMEOUT_SECONDS * 750)

Connection = psycopg.Connection[tuple[Any, ...]]

# Row-level security applies to holdfast_app. The idle timeout frees the locks of a transaction that
# this process leaves open, e.g. because it was stopped.
_SESSION_SETTINGS = f"""
SET ROLE holdfast_app;
SET TIME ZONE 'UTC';
SET default_transaction_isolation = 'read committed';
SET statement_timeout = '{STATEMENT_TIMEOUT_MS}ms';
SET lock_timeout = '{LOCK_TIMEOUT_MS}ms';
SET idle_in_transaction_session_timeout = '10s';
"""

# Row-level security applies to the owner too, except with this setting.
OWNER_AT_WORK = "SET holdfast.owner = 'on'"

# The engine looks up rows by key only: a sequential scan is never right, even on a new table
# without statistics, and planning for each group costs more than it gains.
_ENGINE_SETTINGS = """
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off;
"""


# Autocommit, because we send BEGIN and COMMIT ourselves; keepalives, to let the kernel notice a
# vanished peer too.
CONNECTION_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": CONNECT_TIMEOUT_SECONDS,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class Watch:
    """The time limit of the exchanges of one connection. Setting it is a plain assignment: a system
    call for each exchange would give up the interpreter, which a busy thread returns late."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        # A duplicate: libpq may close its descriptor, and another socket may get its number.
        self._descriptor = os.dup(connection.fileno())
        self._until = math.inf

    @contextmanager
    def limit(self, seconds: float = EXCHANGE_TIMEOUT_SECONDS) -> Iterator[None]:
        """Cut the connection if this block takes longer."""
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = math.inf

    def check(self, now: float) -> None:
        if self._until <= now:
            _cut(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Watchdog:
    """A stopped server still acknowledges at the TCP level, so we would wait for it forever. One
    thread serves all connections of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: set[Watch] = set()
        self._thread: threading.Thread | None = None
        self._looked_at = math.inf

    def watch(self, connection: psycopg.Connection[Any]) -> Watch:
        """Until `release`."""
        watch = Watch(connection)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._look, name="holdfast-watchdog", daemon=True
                )
                self._looked_at = time.monotonic()
                self._thread.start()
            self._watches.add(watch)
        return watch

    def release(self, watch: Watch) -> None:
        with self._lock:
            self._watches.discard(watch)
            watch.close()

    @contextmanager
    def limit(
        self, connection: psycopg.Connection[Any], seconds: float = EXCHANGE_TIMEOUT_SECONDS
    ) -> Iterator[None]:
        """Cut a connection that is not watched otherwise if this block takes longer."""
        watch = self.watch(connection)
        try:
            with watch.limit(seconds):
                yield
        finally:
            self.release(watch)

    def _look(self) -> None:
        """Polls, because a wake-up for each exchange would cost more than it saves. Ends when there
        is nothing to watch."""
        while True:
            time.sleep(LOOK_EVERY_SECONDS)
            with self._lock:
                if not self._watches:
                    self._thread = None
                    return
                self.check(time.monotonic())

    def check(self, now: float) -> None:
        """If the last look was long ago, the whole process was paused, and answers may have arrived
        that no thread has read yet. So the time of a pause counts with the next look."""
        is_late = now - self._looked_at > 2 * LOOK_EVERY_SECONDS
        counted = self._looked_at if is_late else now
        self._looked_at = now
        for watch in self._watches:
            watch.check(counted)


def _cut(descriptor: int) -> None:
    """Shut the socket down under libpq: the waiting thread gets an error at once."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already closed


def connect(url: str, application_name: str, watchdog: Watchdog) -> Connection:
    """A connection for the engine. An error here never means that something was committed."""
    try:
        connection = psycopg.connect(url, application_name=application_name, **CONNECTION_OPTIONS)
        try:
            with watchdog.limit(connection):
                connection.execute(_SESSION_SETTINGS + _ENGINE_SETTINGS)
        except BaseException:
            connection.close()
            raise
    except psycopg.Error as error:
        raise StoreUnavailable(_reason(error)) from error
    connection.prepare_threshold = 0
    set_json_loads(msgspec.json.decode, connection)
    return connection


def configure_reader(connection: Connection) -> None:
    """Configure a connection of the readers' pool."""
    connection.execute(_SESSION_SETTINGS)
    set_json_loads(msgspec.json.decode, connection)


_WORTH_A_RETRY = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    # A stale prepared statement, which the pipeline has forgotten by now.
    errors.InvalidSqlStatementName,
    errors.FeatureNotSupported,
)


def translated(error: psycopg.Error) -> StoreError:
    """Contended (retry), StoreUnavailable (retry later) or Rejected (do not retry)."""
    state = error.sqlstate
    if isinstance(error, _WORTH_A_RETRY):
        return Contended(_reason(error))
    if state is None:
        # From the driver itself: it cannot send a value, or the connection is lost.
        is_value = isinstance(error, psycopg.DataError | psycopg.ProgrammingError)
        return Rejected(_reason(error)) if is_value else StoreUnavailable(_reason(error))
    if state[:2] in {"08", "25", "53", "57", "58", "XX"}:
        return StoreUnavailable(_reason(error))
    return Rejected(_reason(error))


def _reason(error: psycopg.Error) -> str:
    """For the log: only the kind of error, because its text may quote values and hosts."""
    return f"{type(error).__name__} {error.sqlstate or ''}".strip()


def begin(
    statements: Statements,
    organizations: Iterable[OrganizationId],
    setting: str = sql.SET_ORGANIZATIONS,
) -> None:
    """Begin a transaction that sees only these organizations."""
    statements.execute(sql.BEGIN)
    statements.execute(setting, (_named(organizations),))


def _named(organizations: Iterable[OrganizationId]) -> str:
    return "{" + ",".join(sorted(map(str, organizations))) + "}"


class _Opened(NamedTuple):
    connection: Connection
    pipeline: Pipeline
    watch: Watch


class Link:
    """One thread's connection, opened on first use and again after a loss."""

    def __init__(
        self, url: str, watchdog: Watchdog, on_open: Callable[[], None] = lambda: None
    ) -> None:
        self._url = url
        self._watchdog = watchdog
        self._on_open = on_open
        self.precedence = Precedence()
        self._opened: _Opened | None = None
        self._not_before = 0.0
        self._planned_at = 0.0

    @contextmanager
    def exchange(self) -> Iterator[Pipeline]:
        """The pipeline of the connection, with a time limit. At the end it is sent. After an error
        the connection is rolled back or closed: an open transaction or a broken pipeline would
        break the next group too."""
        opened = self._opened
        if opened is None or opened.connection.closed:
            opened = self._open()
        pipeline = opened.pipeline
        try:
            with opened.watch.limit():
                now = time.monotonic()
                if now - self._planned_at > PLANS_KEPT_SECONDS:
                    self._planned_at = now
                    pipeline.execute(sql.DISCARD_PLANS)
                yield pipeline
                pipeline.send()
        except psycopg.Error as error:
            self.clean()
            raise translated(error) from error
        except BaseException:
            self.clean()
            raise

    @contextmanager
    def reading(self, organizations: Iterable[OrganizationId]) -> Iterator[Pipeline]:
        """For reads of these organizations: every round trip is a transaction of its own."""
        with (
            self.exchange() as pipeline,
            pipeline.beginning_with(sql.SET_ORGANIZATIONS, (_named(organizations),)),
        ):
            yield pipeline

    def _open(self) -> _Opened:
        self.close()
        if time.monotonic() < self._not_before:
            raise StoreUnavailable("no connection")
        try:
            connection = connect(self._url, "holdfast engine", self._watchdog)
        except StoreError:
            self._not_before = time.monotonic() + RECONNECT_PAUSE_SECONDS
            raise
        self._on_open()
        pipeline = Pipeline(connection, self.precedence)
        self._opened = _Opened(connection, pipeline, self._watchdog.watch(connection))
        return self._opened

    def clean(self) -> None:
        """Roll back, and close the connection if that fails."""
        if self._opened is None:
            return
        connection, pipeline, watch = self._opened
        pipeline.forget()
        try:
            if not connection.closed:
                with watch.limit(1.0):
                    # Through the pipeline: psycopg would drop all prepared statements with it.
                    pipeline.execute(sql.ROLLBACK)
                    pipeline.send()
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self.close()

    def close(self) -> None:
        if self._opened is not None:
            self._watchdog.release(self._opened.watch)
            self._opened.connection.close()
            self._opened = None
