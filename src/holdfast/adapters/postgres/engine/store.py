"""The engine's store on PostgreSQL: surveys without locks, groups, and questions about lost
commits."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import psycopg

from holdfast.adapters.postgres.catalog.cache import OfferCache
from holdfast.adapters.postgres.connections.connection import Link, Watchdog, begin
from holdfast.adapters.postgres.connections.pipeline import Row, Statements
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.adapters.postgres.engine.group import Memories, PostgresGroup, ReferenceNumbers
from holdfast.adapters.postgres.engine.rows import columns
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.orders import statements as orders_sql
from holdfast.adapters.postgres.orders.rows import order_from_row
from holdfast.adapters.postgres.seats.map_cache import SeatMaps
from holdfast.adapters.postgres.waitlist import statements as waiting_sql
from holdfast.adapters.postgres.waitlist.cache import WaitlistCache, survey_waitlists
from holdfast.adapters.postgres.waitlist.rows import BusyWaitlists
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import (
    Needs,
    SeatNeeds,
    Survey,
    orders_to_survey,
    seats_to_survey,
    waitlists_to_survey,
)
from holdfast.domain.holds.eviction import EVICTIONS_MAX
from holdfast.domain.ids import (
    BlockId,
    HoldId,
    OrderKey,
    OrganizationId,
    PoolId,
    SeatId,
    SessionKey,
)
from holdfast.domain.seats.seat_plan import Seating
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES, Addresses
from holdfast.ports.store import CommitState, CommitToken, StoreUnavailable, WitnessKind

# How long to ask about a transaction whose connection was lost during COMMIT.
RESOLVE_SECONDS = 3.0
RESOLVE_PAUSE_SECONDS = 0.05


class PostgresStore:
    """Shared by the lanes of a process; each lane has its own connection."""

    def __init__(self, url: str, addresses: Addresses = CLEAR_ADDRESSES) -> None:
        self._url = url
        self.memories = Memories(
            OfferCache(), SeatMaps(), BusyWaitlists(), WaitlistCache(addresses), addresses
        )
        self._watchdog = Watchdog()

    def connect(self) -> "PostgresConnection":
        # A new connection may reach another server, after a failover, where the same version of a
        # session has other contents.
        link = Link(self._url, self._watchdog, on_open=self.memories.offers.clear)
        return PostgresConnection(link, self.memories)


class PostgresConnection:
    def __init__(self, link: Link, memories: Memories) -> None:
        self._link = link
        self._memories = memories
        self._surveyor = _Surveyor(memories)
        self._references = ReferenceNumbers()

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        """Needs no query if the cached catalog is enough."""
        known = self._surveyor.known(needs)
        if known is not None:
            return known
        with self._link.reading(_organizations_of(needs)) as connection:
            return self._surveyor.look(connection, needs, is_patient=is_patient)

    @contextmanager
    def group(self) -> Iterator[PostgresGroup]:
        """A group without writes ends with COMMIT too."""
        group = PostgresGroup(self._link, self._memories, self._references)
        try:
            try:
                yield group
            except BaseException:
                self._link.clean()
                raise
            if not group.is_over:
                with self._link.exchange() as connection:
                    connection.execute(sql.COMMIT)
        finally:
            self._link.precedence.end()

    def resolve(self, token: CommitToken) -> CommitState:
        """Ask the server until it knows the outcome, for a bounded time."""
        give_up_at = time.monotonic() + RESOLVE_SECONDS
        while time.monotonic() < give_up_at:
            with suppress(StoreUnavailable):
                state = self._ask(token)
                if state is not CommitState.UNKNOWN:
                    return state
            time.sleep(RESOLVE_PAUSE_SECONDS)
        return CommitState.UNKNOWN

    def _ask(self, token: CommitToken) -> CommitState:
        with self._link.exchange() as connection:
            try:
                number = str(token.transaction_id)
                ((status,),) = connection.execute(sql.TRANSACTION_STATUS, (number,))
            except psycopg.errors.InvalidParameterValue:
                # The number is in the future: the server crashed before the commit and lost it.
                return CommitState.NOT_COMMITTED
            if status == "aborted":
                return CommitState.NOT_COMMITTED
            if status != "committed":
                return CommitState.UNKNOWN  # still running, or too long ago
            return _witnessed(connection, token)

    def close(self) -> None:
        self._link.close()


_WITNESSES = {
    WitnessKind.HOLD: sql.HOLD_WITNESS,
    WitnessKind.SEAT: sql.SEAT_WITNESS,
    WitnessKind.ORDER: sql.ORDER_WITNESS,
}


def _witnessed(connection: Statements, token: CommitToken) -> CommitState:
    """The number alone is no proof: a server assigns it again after a crash."""
    if token.witness is None:
        # Only refusals were recorded, which can be decided again.
        return CommitState.NOT_COMMITTED
    witness = token.witness
    begin(connection, [witness.organization_id])
    names = (witness.version, witness.organization_id, witness.id)
    found = list(connection.execute(_WITNESSES[witness.kind], names))
    connection.execute(sql.COMMIT)
    return CommitState.COMMITTED if (True,) in found else CommitState.NOT_COMMITTED


def _organizations_of(needs: Needs) -> set[OrganizationId]:
    keys = (needs.sessions, needs.holds, needs.waitlists, needs.carts, needs.orders)
    return {organization_id for some in keys for organization_id, _ in some}


class _Surveyor:
    """Reads what a group may need, without locks."""

    def __init__(self, memories: Memories) -> None:
        self._offers, self._seat_maps, self._busy_waitlists, self._waitlists, addresses = memories
        self._hold = partial(hold_from_row, addresses)
        self._order = partial(order_from_row, addresses)

    def known(self, needs: Needs) -> Survey | None:
        """The survey from caches alone, or None if that is not enough."""
        if needs.holds or needs.lapsed or needs.carts or needs.waitlists or needs.orders:
            return None
        sessions = self._offers.known(needs.sessions)
        if len(sessions) < len(needs.sessions):
            return None
        if not any(each.has_seats or each.has_waitlist for each in sessions.values()):
            return Survey(sessions=sessions)
        seen = Survey(sessions=sessions, busy_waitlists=self._busy_waitlists.among(sessions))
        return None if _is_more_needed(needs, seen) else seen

    def look(self, connection: Statements, needs: Needs, *, is_patient: bool) -> Survey:
        """Read step by step: orders lead to holds, holds to sessions, sessions to waitlists, and
        waitlists to the seats that parties want. Each step is one round trip."""
        sizes, holds_of = _sizes_of(connection, needs.orders)
        chosen = orders_to_survey(sizes, is_patient=is_patient)
        ordered = {(key[0], hold_id) for key in chosen for hold_id in holds_of[key]}
        of_orders = _rows(connection, orders_sql.SURVEY_ORDERS, chosen)
        of_holds = _rows(connection, sql.SURVEY_HOLDS, needs.holds | ordered)
        of_carts = _rows(connection, waiting_sql.SURVEY_CARTS, frozenset(needs.carts))
        of_pools = {
            pool_id: _lapsed(connection, session_key, pool_id)
            for session_key, pool_id in needs.lapsed
        }
        holds = {hold.key: hold for hold in map(self._hold, of_holds)}
        carts = {
            (hold.organization_id, hold.cart): hold
            for hold in map(self._hold, of_carts)
            if hold.cart is not None
        }
        keys = needs.sessions | needs.waitlists
        keys |= {hold.session_key for hold in (*holds.values(), *carts.values())}
        sessions = self._offers.known(keys)
        sessions |= self._offers.load(connection, [key for key in keys if key not in sessions])
        lapsed = {pool_id: tuple(map(self._hold, rows)) for pool_id, rows in of_pools.items()}
        seen = Survey(
            sessions,
            holds,
            lapsed,
            carts=carts,
            orders={order.key: order for order in map(self._order, of_orders)},
            unread_orders={key: size for key, size in sizes.items() if key not in chosen},
            busy_waitlists=self._busy_waitlists.among(sessions),
        )
        seen = replace(
            seen,
            waitlists=survey_waitlists(
                connection, self._waitlists, waitlists_to_survey(needs, seen)
            ),
        )
        seats = seats_to_survey(needs, seen)
        seatings = self._seatings(connection, seats, sessions, is_patient)
        return replace(
            seen,
            seatings=seatings,
            blocks_of=_blocks_of(connection, seats),
            unread=seats.seatings - seatings.keys(),
        )

    def _seatings(
        self,
        connection: Statements,
        needs: SeatNeeds,
        sessions: dict[SessionKey, SessionCatalog],
        is_patient: bool,
    ) -> dict[SessionKey, Seating]:
        seatings = {}
        for key in sorted(needs.seatings):
            ranks = {block_id: block.rank for block_id, block in sessions[key].blocks.items()}
            seating = self._seat_maps.follow(connection, key, ranks)
            if seating is None and is_patient:
                seating = self._seat_maps.load(connection, key, ranks)
            if seating is not None:
                seatings[key] = seating
        return seatings


def _is_more_needed(needs: Needs, seen: Survey) -> bool:
    seats = seats_to_survey(needs, seen)
    return bool(seats.seatings or seats.blocks_of or waitlists_to_survey(needs, seen))


def _rows(connection: Statements, statement: str, keys: Collection[Sequence[Any]]) -> Iterable[Row]:
    """Skip empty queries."""
    return connection.execute(statement, columns(keys)) if keys else ()


def _sizes_of(
    connection: Statements, keys: Sequence[OrderKey]
) -> tuple[dict[OrderKey, int], dict[OrderKey, Sequence[HoldId]]]:
    """The numbers of tickets of the orders that exist, in the order of `keys`, and their holds."""
    rows = list(_rows(connection, orders_sql.ORDER_SIZES, keys))
    sizes = {(organization_id, id_): tickets for organization_id, id_, _, tickets in rows}
    holds = {(organization_id, id_): hold_ids for organization_id, id_, hold_ids, _ in rows}
    return {key: sizes[key] for key in keys if key in sizes}, holds


def _blocks_of(connection: Statements, needs: SeatNeeds) -> dict[SeatId, BlockId]:
    wanted = [(organization_id, seat_id) for (organization_id, _), seat_id in needs.blocks_of]
    return dict(_rows(connection, sql.BLOCKS_OF_SEATS, wanted))


def _lapsed(
    connection: Statements, session_key: tuple[Any, UUID], pool_id: PoolId
) -> Iterable[Row]:
    organization_id, session_id = session_key
    parameters = {
        "organization_id": organization_id,
        "session_id": session_id,
        "pool_id": pool_id,
        "limit": EVICTIONS_MAX,
    }
    return connection.execute(sql.SURVEY_LAPSED, parameters)
