"""Reads holds for the API and for background duties."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from holdfast.adapters.postgres.connections.connection import (
    CONNECTION_OPTIONS,
    EXCHANGE_TIMEOUT_SECONDS,
    Connection,
    Watchdog,
    begin,
    configure_reader,
    translated,
)
from holdfast.adapters.postgres.engine.statements import COMMIT
from holdfast.adapters.postgres.holds import statements as sql
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.waitlist import statements as waiting_sql
from holdfast.domain.holder_hash import NO_HASHES, HolderHashes
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SessionId, SessionKey
from holdfast.domain.values import Holder
from holdfast.ports.holds import (
    PROMOTER_LEASE_SECONDS,
    RECENT_HOLDS_MAX,
    DueHold,
    HoldFilter,
    HoldOrder,
    PromoterTurn,
    SeenHold,
    SeenPlace,
    estimated_seconds,
)
from holdfast.ports.paging import Cursor, Page, PageRequest
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES, Addresses
from holdfast.ports.statistics import HoldStatistics
from holdfast.ports.store import StoreUnavailable

# One per thread of the API (reads, large reads and imports), and two for the duties.
CONNECTIONS_MAX = 14
WAITING_MAX = 256
WAIT_SECONDS = 2.0
CHECK_SECONDS = 1.0
# Longer than a run of the reaper. If the lease ends early, two reapers work, which is safe.
REAPING_SECONDS_MAX = 60.0
_START = (OrganizationId(UUID(int=0)), SessionId(UUID(int=0)))


class Database:
    """A small connection pool for everything but the engine."""

    def __init__(self, url: str, connections_max: int = CONNECTIONS_MAX) -> None:
        self._watchdog = Watchdog()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=connections_max,
            max_waiting=WAITING_MAX,
            timeout=WAIT_SECONDS,
            # The pool backs off longer and longer. Giving up early makes the next request try at
            # once, so a restarted server is found within a second or two.
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
        """Check that the server still answers, before a connection is used."""
        with self._watchdog.limit(connection, CHECK_SECONDS):
            connection.execute("")

    def open(self) -> None:
        """Connections are opened in the background; this does not wait for the server."""
        self._pool.open(wait=False)

    def close(self) -> None:
        self._pool.close(timeout=2)

    @contextmanager
    def transaction(
        self, *organizations: OrganizationId, seconds: float | None = None
    ) -> Iterator[Connection]:
        """A transaction that sees only these organizations, committed at the end. `seconds` raises
        its time limit."""
        limit = EXCHANGE_TIMEOUT_SECONDS if seconds is None else seconds
        try:
            with self._pool.connection() as connection, self._watchdog.limit(connection, limit):
                with connection.pipeline():
                    begin(connection, organizations)
                yield connection
                connection.execute(COMMIT)
        except (PoolTimeout, PoolClosed, TooManyRequests) as error:
            raise StoreUnavailable(type(error).__name__) from error
        except psycopg.Error as error:
            raise translated(error) from error


class PostgresHolds:
    """Implements HoldReader, Housekeeping and PromoterStore."""

    def __init__(self, database: Database, addresses: Addresses = CLEAR_ADDRESSES) -> None:
        self._database = database
        self._hashes = addresses.hashes
        self._hold = partial(hold_from_row, addresses)

    def hold(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.SELECT_HOLD, (organization_id, hold_id)).fetchone()
        return self._seen(row) if row else None

    def holds(
        self,
        organization_id: OrganizationId,
        only: HoldFilter,
        page: PageRequest,
        order: HoldOrder = HoldOrder.NEWEST,
    ) -> Page[SeenHold]:
        query, parameters = list_query(organization_id, only, page, order, self._hashes)
        with self._database.transaction(organization_id) as connection:
            seen = [self._seen(row) for row in connection.execute(query, parameters)]
        items = tuple(seen[: page.size])
        last = items[-1].hold if len(seen) > page.size else None
        if last is None:
            return Page(items, None)
        at = last.expires_at if order is HoldOrder.EXPIRY else last.created_at
        return Page(items, Cursor(at, last.id))

    def statistics(
        self, organization_id: OrganizationId, session_id: SessionId | None, soon: timedelta
    ) -> HoldStatistics:
        of_session = sql.STATISTICS_OF_SESSION if session_id else ""
        query = sql.HOLD_STATISTICS.format(of_session=of_session)
        names = {"organization_id": organization_id, "session_id": session_id, "soon": soon}
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(query, names).fetchone()
        assert row is not None
        return HoldStatistics(*row)

    def live_holds(
        self, organization_id: OrganizationId, event_id: EventId, holder: Holder
    ) -> tuple[Hold, ...]:
        by_user = holder.user_id is not None
        query = sql.LIVE_HOLDS_BY_USER if by_user else sql.LIVE_HOLDS_BY_EMAIL
        names = self._of_person(organization_id, event_id, holder)
        with self._database.transaction(organization_id) as connection:
            return tuple(map(self._hold, connection.execute(query, names)))

    def recent_holds(
        self,
        organization_id: OrganizationId,
        event_id: EventId,
        holder: Holder,
        since: datetime | None,
    ) -> tuple[SeenHold, ...]:
        by_user = holder.user_id is not None
        query = sql.RECENT_HOLDS_BY_USER if by_user else sql.RECENT_HOLDS_BY_EMAIL
        names = self._of_person(organization_id, event_id, holder) | {
            "since": since,
            "statuses": [status.value for status in HoldStatus],
            "limit": RECENT_HOLDS_MAX,
        }
        with self._database.transaction(organization_id) as connection:
            return tuple(map(self._seen, connection.execute(query, names)))

    def cart_hold(self, organization_id: OrganizationId, cart: str) -> SeenHold | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.CART_HOLD, (organization_id, cart)).fetchone()
        return self._seen(row) if row else None

    def live_holds_of_cart(self, organization_id: OrganizationId, cart: str) -> tuple[Hold, ...]:
        with self._database.transaction(organization_id) as connection:
            found = connection.execute(sql.LIVE_HOLDS_OF_CART, (organization_id, cart))
            return tuple(map(self._hold, found))

    def waiting_position(
        self, organization_id: OrganizationId, hold_id: HoldId
    ) -> SeenPlace | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(waiting_sql.POSITION, (organization_id, hold_id)).fetchone()
        if row is None:
            return None
        position, waiting, served, open_seconds, since, at = row
        estimate = estimated_seconds(int(position), served, open_seconds)
        return SeenPlace(int(position), int(waiting), estimate, since, at)

    def _of_person(
        self, organization_id: OrganizationId, event_id: EventId, holder: Holder
    ) -> dict[str, Any]:
        email = holder.email
        return {
            "organization_id": organization_id,
            "event_id": event_id,
            "user_id": holder.user_id,
            "email": email and self._hashes.address_keys(organization_id, email),
        }

    def _seen(self, row: tuple[Any, ...]) -> SeenHold:
        at, *hold = row
        return SeenHold(self._hold(hold), at)

    def due_holds(self, limit: int, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        with self._database.transaction() as connection:
            rows = connection.execute(sql.DUE_HOLDS, (limit, list(skipped))).fetchall()
        return tuple(DueHold(*row) for row in rows)

    @contextmanager
    def reaping(self) -> Iterator[bool]:
        with self._database.transaction(seconds=REAPING_SECONDS_MAX) as connection:
            connection.execute(sql.REAPING_TAKES_ITS_TIME)
            ((is_ours,),) = connection.execute(sql.TRY_REAPING)
            yield is_ours

    def seconds_until_due(self) -> float | None:
        with self._database.transaction() as connection:
            ((seconds,),) = connection.execute(sql.SECONDS_UNTIL_DUE)
        return None if seconds is None else float(seconds)

    def promoter_turn(self, promoter: UUID) -> PromoterTurn | None:
        names = {"promoter": promoter, "seconds": PROMOTER_LEASE_SECONDS}
        with self._database.transaction() as connection:
            row = connection.execute(sql.PROMOTER_TURN, names).fetchone()
            if row is None:
                row = connection.execute(sql.TAKE_PROMOTER_LEASE, names).fetchone()
        if row is None:
            return None
        organization_id, session_id, is_sweep_due = row
        swept_to = (OrganizationId(organization_id), SessionId(session_id))
        return PromoterTurn(None if swept_to == _START else swept_to, is_sweep_due)

    def swept(self, promoter: UUID, swept_to: SessionKey | None, pause_seconds: float) -> None:
        with self._database.transaction() as connection:
            connection.execute(sql.SWEPT, (*(swept_to or _START), pause_seconds, promoter))

    def unsettled_sessions(self, limit: int) -> tuple[SessionKey, ...]:
        with self._database.transaction() as connection:
            rows = connection.execute(sql.UNSETTLED_SESSIONS, (limit,)).fetchall()
        return tuple((OrganizationId(key), SessionId(id_)) for key, id_ in rows)

    def waiting_sessions(self, after: SessionKey | None, limit: int) -> tuple[SessionKey, ...]:
        with self._database.transaction() as connection:
            names = (*(after or _START), limit)
            rows = connection.execute(sql.WAITING_SESSIONS, names).fetchall()
        return tuple((OrganizationId(key), SessionId(id_)) for key, id_ in rows)


def list_query(
    organization_id: OrganizationId,
    only: HoldFilter,
    page: PageRequest,
    order: HoldOrder = HoldOrder.NEWEST,
    hashes: HolderHashes = NO_HASHES,
) -> tuple[str, dict[str, Any]]:
    """Only the requested conditions, so that each combination finds its index."""
    asked = {
        "session_id": only.session_id,
        "email": only.email and hashes.address_keys(organization_id, only.email),
        "user_id": only.user_id,
        "is_without_user": only.is_without_user,
        "reference": only.reference,
        "created_from": only.created_from,
        "created_before": only.created_before,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    conditions = ["h.organization_id = %(organization_id)s", *(_CONDITIONS[name] for name in given)]
    parameters: dict[str, Any] = given | {
        "organization_id": organization_id,
        "event_id": only.event_id,
        "limit": page.size + 1,
    }
    by_expiry = order is HoldOrder.EXPIRY
    if page.after is not None:
        following = "(h.expires_at, h.id) >" if by_expiry else "(h.created_at, h.id) <"
        conditions.append(f"{following} (%(after)s, %(after_id)s)")
        parameters |= {"after": page.after.at, "after_id": page.after.id}
    ordered = sql.NEXT_TO_EXPIRE_FIRST if by_expiry else sql.NEWEST_FIRST
    of_event = only.event_id is not None
    parts = [
        _part(source, [*conditions, condition], of_event=of_event).replace("{order}", ordered)
        for source, condition in _sources(only, page, by_expiry)
    ]
    return sql.LIST_HOLDS.format(parts=" UNION ALL ".join(parts), order=ordered), parameters


_CONDITIONS = {
    "session_id": "h.session_id = %(session_id)s",
    "email": "h.email_key = ANY (%(email)s::uuid[])",
    "user_id": "h.user_id = %(user_id)s",
    "is_without_user": "h.user_id IS NULL",
    "reference": "h.reference = %(reference)s",
    "created_from": "h.created_at >= %(created_from)s",
    "created_before": "h.created_at < %(created_before)s",
}


def _part(source: str, conditions: list[str], *, of_event: bool) -> str:
    if of_event and source == "hold":
        return sql.LIST_PART_OF_EVENT.replace("{conditions}", " AND ".join(conditions))
    if of_event:
        conditions = [*conditions, sql.LAPSED_OF_EVENT]
    part = sql.LIST_PART.replace("{conditions}", " AND ".join(conditions))
    return part.replace("{source}", source)


_LIVE = ("hold", "h.status = 'active' AND h.expires_at > statement_timestamp()")
_WAITING = ("hold", "h.status = 'waiting' AND h.expires_at > statement_timestamp()")
_LAPSED = (sql.LAPSED, "true")


def _sources(only: HoldFilter, page: PageRequest, by_expiry: bool) -> list[tuple[str, str]]:
    """The sources of holds with a status. Lapsed holds are expired, recorded or not."""
    if only.is_lapsed:
        return [_LAPSED]
    status = only.status
    if by_expiry and status is None:
        status = HoldStatus.ACTIVE
    if status is HoldStatus.ACTIVE:
        is_of_all = only == HoldFilter(status=only.status)
        return [_live_of_every_session(page)] if by_expiry and is_of_all else [_LIVE]
    if status is HoldStatus.WAITING:
        return [_WAITING]
    if status is HoldStatus.EXPIRED:
        return [("hold", "h.status = 'expired'"), _LAPSED]
    statuses = [status] if status is not None else list(HoldStatus)
    return [("hold", f"h.status = '{each.value}'") for each in statuses]


def _live_of_every_session(page: PageRequest) -> tuple[str, str]:
    after = "true" if page.after is None else "(expires_at, id) > (%(after)s, %(after_id)s)"
    return sql.LIVE_OF_EVERY_SESSION.format(after=after), "true"
