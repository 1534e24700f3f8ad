"""The engine's store on PostgreSQL."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from holdfast.adapters.postgres.catalog.cache import OfferCache
from holdfast.adapters.postgres.connections.connection import Link, begin
from holdfast.adapters.postgres.connections.pipeline import Statements
from holdfast.adapters.postgres.connections.watchdog import Watchdog
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.adapters.postgres.engine.group import Memories, PostgresGroup, ReferenceNumbers
from holdfast.adapters.postgres.engine.survey import Surveyor, organizations_of
from holdfast.adapters.postgres.seats.map_cache import SeatMaps
from holdfast.adapters.postgres.waitlist.rows import BusyWaitlists
from holdfast.domain.group.footprint import Needs, Survey
from holdfast.ports.store import CommitState, CommitToken, StoreUnavailable

# How long to ask about a transaction whose connection was lost during COMMIT.
RESOLVE_SECONDS = 3.0
RESOLVE_PAUSE_SECONDS = 0.05


class PostgresStore:
    """Shared by the lanes of a process; each lane has its own connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._offers = OfferCache()
        self._seat_maps = SeatMaps()
        self._busy_waitlists = BusyWaitlists()
        self._watchdog = Watchdog()

    def connect(self) -> "PostgresConnection":
        link = Link(self._url, self._watchdog)
        return PostgresConnection(link, self._offers, self._seat_maps, self._busy_waitlists)


class PostgresConnection:
    def __init__(
        self, link: Link, offers: OfferCache, seat_maps: SeatMaps, busy_waitlists: BusyWaitlists
    ) -> None:
        self._link = link
        self._memories = Memories(offers, seat_maps, busy_waitlists)
        self._surveyor = Surveyor(offers, seat_maps, busy_waitlists)
        self._references = ReferenceNumbers()

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        """Needs no query if the cached catalog is enough."""
        known = self._surveyor.known(needs)
        if known is not None:
            return known
        with self._link.reading(organizations_of(needs)) as connection:
            return self._surveyor.look(connection, needs, is_patient=is_patient)

    @contextmanager
    def group(self) -> Iterator[PostgresGroup]:
        """A group without writes ends with COMMIT too."""
        group = PostgresGroup(self._link, self._memories, self._references)
        try:
            yield group
        except BaseException:
            self._link.clean()
            raise
        if not group.is_over:
            with self._link.exchange() as connection:
                connection.execute(sql.COMMIT)

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


def _witnessed(connection: Statements, token: CommitToken) -> CommitState:
    """The number alone is no proof: a server assigns it again after a crash."""
    if token.witness is None:
        # Only refusals were recorded, which can be decided again.
        return CommitState.NOT_COMMITTED
    witness = token.witness
    query = sql.WITNESS if witness.is_hold else sql.SEAT_WITNESS
    begin(connection, [witness.organization_id])
    names = (witness.version, witness.organization_id, witness.id)
    found = list(connection.execute(query, names))
    connection.execute(sql.COMMIT)
    return CommitState.COMMITTED if (True,) in found else CommitState.NOT_COMMITTED
