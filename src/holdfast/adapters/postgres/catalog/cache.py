"""What sessions sell, kept in memory. A group compares the version under the session's lock, so
what is used for a decision is never stale; what is used for planning may be."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from uuid import UUID

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.catalog.model import (
    EventStatus,
    Offer,
    SaleTerms,
    SeatBlock,
    SessionCatalogue,
)
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.policy import POLICY_FIELDS, PolicyOverride, nearest_policy
from holdfast.domain.values import Money

SESSIONS_KEPT_MAX = 10_000
_POLICY = len(POLICY_FIELDS)


class OfferCache:
    """Shared by the lanes of a process. The least recently loaded session is forgotten first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[SessionKey, SessionCatalogue] = OrderedDict()

    def known(self, keys: Iterable[SessionKey]) -> dict[SessionKey, SessionCatalogue]:
        sessions = self._sessions
        return {key: session for key in keys if (session := sessions.get(key)) is not None}

    def load(
        self, connection: Connection, keys: Sequence[SessionKey]
    ) -> dict[SessionKey, SessionCatalogue]:
        """Read these sessions anew, within the caller's transaction. Unknown ones are left out."""
        if not keys:
            return {}
        loaded = _read(connection, keys)
        with self._lock:
            for key in keys:
                self._sessions.pop(key, None)
            self._sessions.update(loaded)
            while len(self._sessions) > SESSIONS_KEPT_MAX:
                self._sessions.popitem(last=False)
        return loaded


def _read(connection: Connection, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionCatalogue]:
    wanted: tuple[list[UUID], list[UUID]] = ([key[0] for key in keys], [key[1] for key in keys])
    with connection.pipeline():
        # The version first: should the catalogue change in between, the version is the older one,
        # and the next group finds that out.
        session_rows = connection.execute(sql.SESSION_CATALOGUE, wanted)
        offer_rows = connection.execute(sql.SESSION_OFFERS, wanted)
        block_rows = connection.execute(sql.SESSION_BLOCKS, wanted)
    sessions = session_rows.fetchall()
    terms = {
        (row[0], row[1]): (
            row[3],
            PolicyOverride(*row[9:-_POLICY]),
            PolicyOverride(*row[-_POLICY:]),
        )
        for row in sessions
    }
    offers: dict[SessionKey, dict[TicketTypeId, Offer]] = {key: {} for key in terms}
    for row in offer_rows:
        currency, *wider = terms[row[0], row[1]]
        offers[row[0], row[1]][row[2]] = Offer(
            Money(row[3], currency),
            tuple(row[-1] or ()),
            nearest_policy(*wider, PolicyOverride(*row[5:-1])),
            row[4],
        )
    blocks: dict[SessionKey, dict[BlockId, SeatBlock]] = {key: {} for key in terms}
    for organization_id, session_id, block_id, name, rank, pool_id, prices in block_rows:
        blocks[organization_id, session_id][block_id] = SeatBlock(
            name,
            rank,
            pool_id,
            {TicketTypeId(UUID(type_id)): price for type_id, price in prices or ()},
        )
    return {
        (row[0], row[1]): SessionCatalogue(
            OrganizationId(row[0]),
            SessionId(row[1]),
            row[2],
            row[3],
            offers[row[0], row[1]],
            EventId(row[4]),
            SaleTerms(EventStatus(row[5]), row[6], row[7]),
            blocks[row[0], row[1]],
            has_waiting=row[8],
        )
        for row in sessions
    }
