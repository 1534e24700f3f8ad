"""Readers: holds for the API, and what the background duties ask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from holdfast.adapters.postgres import statements as sql
from holdfast.adapters.postgres.connecting import (
    CONNECTION_OPTIONS,
    Connection,
    begin,
    configure_reader,
    translated,
)
from holdfast.adapters.postgres.rows import hold_from_row
from holdfast.adapters.postgres.watchdog import Watchdog
from holdfast.domain.hold import HoldStatus
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.ports.holds import HoldFilter, LapsedHold, SeenHold
from holdfast.ports.paging import Cursor, Page, PageRequest
from holdfast.ports.store import StoreUnavailable

CONNECTIONS_MAX = 8
WAITING_MAX = 256
WAIT_SECONDS = 2.0
CHECK_SECONDS = 1.0


class Database:
    """A small pool of connections for everything but the engine."""

    def __init__(self, url: str) -> None:
        self._watchdog = Watchdog()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=CONNECTIONS_MAX,
            max_waiting=WAITING_MAX,
            timeout=WAIT_SECONDS,
            # The pool backs off longer and longer; giving up early makes the next request try at
            # once, so that a server that comes back is found within a second or two.
            reconnect_timeout=1.0,
            configure=self._configure,
            check=self._check,
            kwargs={"application_name": "holdfast reader", **CONNECTION_OPTIONS},
            open=False,
        )

    def _configure(self, connection: Connection) -> None:
        with self._watchdog.limit(connection, CHECK_SECONDS):
            configure_reader(connection)

    def _check(self, connection: Connection) -> None:
        """Before a connection is handed out: is the server still there, and does it answer?"""
        with self._watchdog.limit(connection, CHECK_SECONDS):
            connection.execute("")

    def open(self) -> None:
        """Connections are made in the background; nothing waits for the server here."""
        self._pool.open(wait=False)

    def close(self) -> None:
        self._pool.close(timeout=2)

    @contextmanager
    def transaction(self, *organizations: OrganizationId) -> Iterator[Connection]:
        """A transaction that sees these organizations and no other; committed at the end."""
        try:
            with self._pool.connection() as connection, self._watchdog.limit(connection):
                with connection.pipeline():
                    begin(connection, organizations)
                yield connection
                connection.execute(sql.COMMIT)
        except (PoolTimeout, PoolClosed, TooManyRequests) as error:
            raise StoreUnavailable(type(error).__name__) from error
        except psycopg.Error as error:
            raise translated(error) from error


class PostgresHolds:
    """Implements HoldReader and Housekeeping."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def hold(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.SELECT_HOLD, (organization_id, hold_id)).fetchone()
        return _seen(row) if row else None

    def holds(
        self, organization_id: OrganizationId, only: HoldFilter, page: PageRequest
    ) -> Page[SeenHold]:
        query, parameters = list_query(organization_id, only, page)
        with self._database.transaction(organization_id) as connection:
            seen = [_seen(row) for row in connection.execute(query, parameters)]
        items = tuple(seen[: page.size])
        last = items[-1].hold if len(seen) > page.size else None
        return Page(items, Cursor(last.created_at, last.id) if last else None)

    def lapsed_holds(self, limit: int) -> tuple[LapsedHold, ...]:
        with self._database.transaction() as connection:
            rows = connection.execute(sql.LAPSED_HOLDS, (limit,)).fetchall()
        return tuple(LapsedHold(*row) for row in rows)

    def prune_answers(self, kept_seconds: int, limit: int) -> int:
        with self._database.transaction() as connection:
            row = connection.execute(sql.PRUNE_ANSWERS, (kept_seconds, limit)).fetchone()
        assert row is not None
        return int(row[0])


def list_query(
    organization_id: OrganizationId, only: HoldFilter, page: PageRequest
) -> tuple[str, dict[str, Any]]:
    """Only the conditions that are asked for, so that each combination finds its index."""
    conditions = ["h.organization_id = %(organization_id)s"]
    parameters: dict[str, Any] = {"organization_id": organization_id, "limit": page.size + 1}
    if only.session_id is not None:
        conditions.append("h.session_id = %(session_id)s")
        parameters["session_id"] = only.session_id
    if only.email is not None:
        conditions.append("h.email_key = %(email)s")
        parameters["email"] = only.email.normalized
    if page.after is not None:
        conditions.append("(h.created_at, h.id) < (%(created_at)s, %(id)s)")
        parameters |= {"created_at": page.after.created_at, "id": page.after.id}
    parts = [
        sql.LIST_PART.format(source=source, conditions=" AND ".join([*conditions, condition]))
        for source, condition in _sources(only.status)
    ]
    return sql.LIST_HOLDS.format(parts=" UNION ALL ".join(parts)), parameters


_LIVE = ("hold", "h.status = 'active' AND h.expires_at > statement_timestamp()")
_LAPSED = (sql.LAPSED, "true")


def _sources(status: HoldStatus | None) -> list[tuple[str, str]]:
    """Where the holds of a status are. A lapsed one is expired, whether or not that is written."""
    if status is HoldStatus.ACTIVE:
        return [_LIVE]
    if status is HoldStatus.EXPIRED:
        return [("hold", "h.status = 'expired'"), _LAPSED]
    statuses = [status] if status is not None else list(HoldStatus)
    return [("hold", f"h.status = '{each.value}'") for each in statuses]


def _seen(row: tuple[Any, ...]) -> SeenHold:
    return SeenHold(hold_from_row(row), row[-1])
