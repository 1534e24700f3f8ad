"""The engine's store on PostgreSQL."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg

from holdfast.adapters.postgres import statements as sql
from holdfast.adapters.postgres import waiting_statements as waiting_sql
from holdfast.adapters.postgres.connecting import Connection, Link, begin
from holdfast.adapters.postgres.group import PostgresGroup
from holdfast.adapters.postgres.offers import OfferCache
from holdfast.adapters.postgres.references import ReferenceNumbers
from holdfast.adapters.postgres.rows import columns, hold_from_row
from holdfast.adapters.postgres.seat_maps import SeatMaps
from holdfast.adapters.postgres.waitlists import LinedSessions, SentLines
from holdfast.adapters.postgres.watchdog import Watchdog
from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.footprint import (
    Needs,
    SeatNeeds,
    Survey,
    seats_to_survey,
    waitlists_to_survey,
)
from holdfast.domain.hold import Hold
from holdfast.domain.ids import BlockId, CartKey, HoldKey, PoolId, SeatId, SessionKey
from holdfast.domain.room import EVICTIONS_MAX
from holdfast.domain.seating import Seating
from holdfast.domain.waiting import LOOK_AHEAD, Waitlist
from holdfast.ports.store import CommitState, CommitToken, StoreUnavailable

# How long to go on asking about a transaction that was lost in COMMIT.
RESOLVE_SECONDS = 3.0
RESOLVE_PAUSE_SECONDS = 0.05


class PostgresStore:
    """Shared by the lanes of one process; each lane has a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._offers = OfferCache()
        self._seat_maps = SeatMaps()
        self._lined = LinedSessions()
        self._watchdog = Watchdog()

    def connect(self) -> "PostgresConnection":
        link = Link(self._url, self._watchdog)
        return PostgresConnection(link, self._offers, self._seat_maps, self._lined)


class PostgresConnection:
    def __init__(
        self, link: Link, offers: OfferCache, seat_maps: SeatMaps, lined: LinedSessions
    ) -> None:
        self._link = link
        self._offers = offers
        self._seat_maps = seat_maps
        self._lined = lined
        self._references = ReferenceNumbers()

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        """Costs nothing where all that is needed is the catalogue of a session that is known."""
        sessions = self._offers.known(needs.sessions)
        seen = Survey(sessions=sessions, lined=self._lined.among(sessions))
        if len(sessions) == len(needs.sessions) and not _is_more_needed(needs, seen):
            return seen
        organizations = {key[0] for key in needs.sessions | needs.holds | needs.waitlists}
        organizations.update(command.organization_id for command in needs.carts)
        with self._link.exchange() as connection:
            begin(connection, organizations)
            survey = self._look(connection, needs, is_patient)
            connection.execute(sql.COMMIT)
        return survey

    def _look(self, connection: Connection, needs: Needs, is_patient: bool) -> Survey:
        """One thing leads to the other: holds to their sessions, those to who waits there, and that
        to the seats that somebody waits for."""
        holds, carts = _holds(connection, needs), _carts(connection, needs)
        keys = needs.sessions | needs.waitlists
        keys |= {hold.session_key for hold in (*holds.values(), *carts.values())}
        sessions = self._offers.known(keys)
        sessions |= self._offers.load(connection, [key for key in keys if key not in sessions])
        lapsed = {
            pool_id: _lapsed(connection, session_key, pool_id)
            for session_key, pool_id in needs.lapsed
        }
        seen = Survey(sessions, holds, lapsed, carts=carts, lined=self._lined.among(sessions))
        seen = replace(seen, waitlists=_waitlists(connection, waitlists_to_survey(needs, seen)))
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
        connection: Connection,
        needs: SeatNeeds,
        sessions: dict[SessionKey, SessionCatalogue],
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

    @contextmanager
    def group(self) -> Iterator[PostgresGroup]:
        """A group that has nothing to write ends with COMMIT as well: after a ROLLBACK psycopg
        forgets every prepared statement."""
        group = PostgresGroup(self._link, self._offers, self._lined, self._references)
        try:
            yield group
        except BaseException:
            self._link.clean()
            raise
        if not group.is_over:
            with self._link.exchange() as connection:
                connection.execute(sql.COMMIT)

    def resolve(self, token: CommitToken) -> CommitState:
        """Ask the server until it knows, for a bounded time."""
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
                row = connection.execute(
                    sql.TRANSACTION_STATUS, (str(token.transaction_id),)
                ).fetchone()
            except psycopg.errors.InvalidParameterValue:
                # "In the future": the server crashed and forgot the number. It never committed.
                return CommitState.NOT_COMMITTED
            status = row[0] if row else None
            if status == "aborted":
                return CommitState.NOT_COMMITTED
            if status != "committed":
                return CommitState.UNKNOWN  # still running, or too long ago
            return _witnessed(connection, token)

    def close(self) -> None:
        self._link.close()


def _witnessed(connection: Connection, token: CommitToken) -> CommitState:
    """The number alone does not prove it: a server that crashed hands it out again."""
    if token.witness is None:
        # Only refusals were recorded. Deciding them anew does no harm.
        return CommitState.NOT_COMMITTED
    witness = token.witness
    query = sql.WITNESS if witness.is_hold else sql.SEAT_WITNESS
    begin(connection, [witness.organization_id])
    row = connection.execute(
        query, (witness.version, witness.organization_id, witness.id)
    ).fetchone()
    connection.execute(sql.COMMIT)
    return CommitState.COMMITTED if row and row[0] else CommitState.NOT_COMMITTED


def _is_more_needed(needs: Needs, seen: Survey) -> bool:
    if needs.holds or needs.lapsed or needs.carts or needs.waitlists:
        return True
    seats = seats_to_survey(needs, seen)
    return bool(seats.seatings or seats.blocks_of or waitlists_to_survey(needs, seen))


def _waitlists(connection: Connection, keys: frozenset[SessionKey]) -> dict[SessionKey, Waitlist]:
    if not keys:
        return {}
    with connection.pipeline():
        lines = SentLines(connection, sorted(keys), LOOK_AHEAD)
    return lines.waitlists()


def _carts(connection: Connection, needs: Needs) -> dict[CartKey, Hold]:
    if not needs.carts:
        return {}
    wanted = columns({command.cart_key for command in needs.carts})
    found = map(hold_from_row, connection.execute(waiting_sql.SURVEY_CARTS, wanted))
    return {(hold.organization_id, hold.cart): hold for hold in found if hold.cart is not None}


def _holds(connection: Connection, needs: Needs) -> dict[HoldKey, Hold]:
    if not needs.holds:
        return {}
    keys = list(needs.holds)
    wanted = ([key[0] for key in keys], [key[1] for key in keys])
    found = map(hold_from_row, connection.execute(sql.SURVEY_HOLDS, wanted))
    return {hold.key: hold for hold in found}


def _blocks_of(connection: Connection, needs: SeatNeeds) -> dict[SeatId, BlockId]:
    if not needs.blocks_of:
        return {}
    wanted = (
        [session_key[0] for session_key, _ in needs.blocks_of],
        [seat_id for _, seat_id in needs.blocks_of],
    )
    return dict(connection.execute(sql.BLOCKS_OF_SEATS, wanted).fetchall())


def _lapsed(
    connection: Connection, session_key: tuple[Any, UUID], pool_id: PoolId
) -> tuple[Hold, ...]:
    organization_id, session_id = session_key
    parameters = {
        "organization_id": organization_id,
        "session_id": session_id,
        "pool_id": pool_id,
        "limit": EVICTIONS_MAX,
    }
    return tuple(map(hold_from_row, connection.execute(sql.SURVEY_LAPSED, parameters)))
