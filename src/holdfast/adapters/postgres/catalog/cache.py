"""Caches the offers of sessions. A group checks the version under the session's lock, so decisions
never use stale data; planning may."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.adapters.postgres.connections.pipeline import Statements
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.adapters.postgres.engine.rows import columns
from holdfast.domain.catalog.model import (
    EventStatus,
    Offer,
    SaleTerms,
    SeatBlock,
    SessionCatalog,
)
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.policy import PolicyOverride, nearest_policy
from holdfast.domain.values import Money

SESSIONS_KEPT_MAX = 10_000


class OfferCache:
    """Shared by the lanes of a process. The least recently loaded session is evicted first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[SessionKey, SessionCatalog] = OrderedDict()

    def known(self, keys: Iterable[SessionKey]) -> dict[SessionKey, SessionCatalog]:
        sessions = self._sessions
        return {key: session for key in keys if (session := sessions.get(key)) is not None}

    def clear(self) -> None:
        with self._lock:
            self._sessions.clear()

    def load(
        self, connection: Statements, keys: Sequence[SessionKey]
    ) -> dict[SessionKey, SessionCatalog]:
        """Reload these sessions in the caller's transaction. Unknown ones are omitted."""
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


class _Session(NamedTuple):
    """A row of SESSION_CATALOG."""

    organization_id: OrganizationId
    session_id: SessionId
    version: int
    currency: str
    event_id: EventId
    status: str
    sale_starts_at: datetime | None
    sale_ends_at: datetime | None
    is_announced: bool
    starts_at: datetime | None
    has_waiting: bool
    organization_policy: Sequence[Any]
    event_policy: Sequence[Any]

    @property
    def sale(self) -> SaleTerms:
        window = (self.sale_starts_at, self.sale_ends_at)
        return SaleTerms(EventStatus(self.status), *window, self.is_announced)


def _read(connection: Statements, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionCatalog]:
    wanted = columns(keys)
    # The version first: if the catalog changes in between, the cached version is too old, and the
    # next group notices.
    session_rows = connection.execute(sql.SESSION_CATALOG, wanted)
    offer_rows = connection.execute(sql.SESSION_OFFERS, wanted)
    block_rows = connection.execute(sql.SESSION_BLOCKS, wanted)
    sessions = {
        (row.organization_id, row.session_id): row for row in starmap(_Session, session_rows)
    }
    offers: dict[SessionKey, dict[TicketTypeId, Offer]] = {key: {} for key in sessions}
    for organization_id, session_id, type_id, price_minor, is_seated, pool_ids, *own in offer_rows:
        session = sessions[organization_id, session_id]
        policies = (session.organization_policy, session.event_policy, own)
        offers[organization_id, session_id][type_id] = Offer(
            Money(price_minor, session.currency),
            tuple(pool_ids or ()),
            nearest_policy(*(PolicyOverride(*policy) for policy in policies)),
            is_seated,
        )
    blocks: dict[SessionKey, dict[BlockId, SeatBlock]] = {key: {} for key in sessions}
    for organization_id, session_id, block_id, name, rank, pool_id, prices in block_rows:
        blocks[organization_id, session_id][block_id] = SeatBlock(
            name,
            rank,
            pool_id,
            {TicketTypeId(UUID(type_id)): price for type_id, price in prices or ()},
        )
    return {
        key: SessionCatalog(
            *key,
            session.version,
            session.currency,
            offers[key],
            session.event_id,
            session.sale,
            blocks[key],
            has_waiting=session.has_waiting,
            starts_at=session.starts_at,
        )
        for key, session in sessions.items()
    }
