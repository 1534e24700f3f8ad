"""Changes of the catalog. Every call blocks."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from datetime import datetime

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.catalog.changes import (
    CatalogChange,
    ChangeBlock,
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
    CreateBlock,
    CreateEvent,
    CreatePool,
    CreateSession,
    CreateTicketType,
    DraftedBlock,
    ImportSeats,
    PlaceChange,
    SaleChange,
    SetStock,
    refuse_policy,
    refuse_window,
)
from holdfast.domain.catalog.model import NOWHERE, BlockPrice, Place, SaleTerms, SessionStatus
from holdfast.domain.catalog.seat_import import DraftBlock, countable_id
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import PolicyChange, PolicyOverride, Unchanged
from holdfast.domain.values import NO_METADATA, Metadata
from holdfast.ports.catalog import CatalogAnswer, CatalogOutcome, CatalogStore
from holdfast.ports.engine import Submit
from holdfast.ports.store import StoreError
from holdfast.services.failures import refusal_for
from holdfast.services.waitlist import SESSIONS_PER_RUN, submit_promotions

# Limits the wait for a busy engine: the change is committed, and the promoter will follow.
PROMOTION_SECONDS_MAX = 2.0

_log = structlog.get_logger("holdfast.catalog")


@immutable
class CatalogEditor:
    """Changes on behalf of one caller, with its idempotency key if it sent one, and with the state
    of the record that a person saw."""

    catalog: CatalogStore
    submit: Submit
    organization_id: OrganizationId
    origin: Origin
    idempotency: IdempotencyKey | None
    render: Callable[[CatalogOutcome], bytes]
    seen: str | None = None

    def create_event(
        self,
        name: str,
        currency: str,
        policy: PolicyOverride,
        sale: SaleTerms,
        metadata: Metadata = NO_METADATA,
        *,
        place: Place = NOWHERE,
    ) -> CatalogAnswer:
        refusal = refuse_window(sale) or refuse_policy(policy)
        if refusal is not None:
            return CatalogAnswer(refusal)
        ids = (self.organization_id, EventId(uuid7()))
        return self._apply(CreateEvent(*ids, name, currency, policy, sale, metadata, place))

    def change_event(
        self,
        event_id: EventId,
        name: str | None,
        policy: PolicyChange | None,
        sale: SaleChange | None,
        metadata: Metadata | None = None,
        *,
        place: PlaceChange | None = None,
    ) -> CatalogAnswer:
        return self._apply(
            ChangeEvent(self.organization_id, event_id, name, policy, sale, metadata, place)
        )

    def create_session(
        self, event_id: EventId, name: str, starts_at: datetime | None, metadata: Metadata
    ) -> CatalogAnswer:
        session_id = SessionId(uuid7())
        return self._apply(
            CreateSession(self.organization_id, session_id, event_id, name, starts_at, metadata)
        )

    def change_session(
        self,
        session_id: SessionId,
        name: str | None,
        starts_at: datetime | None,
        metadata: Metadata | None = None,
        status: SessionStatus | None = None,
    ) -> CatalogAnswer:
        return self._apply(
            ChangeSession(self.organization_id, session_id, name, starts_at, metadata, status)
        )

    def create_pool(self, session_id: SessionId, name: str, total: int) -> CatalogAnswer:
        return self._apply(self._new_pool(session_id, name, total))

    def change_pool(self, pool_id: PoolId, name: str | None, total: int | None) -> CatalogAnswer:
        return self._apply(ChangePool(self.organization_id, pool_id, name, total))

    def create_ticket_type(
        self,
        *,
        session_id: SessionId,
        name: str,
        price_minor: int,
        pool_ids: tuple[PoolId, ...],
        capacity: int | None,
        policy: PolicyOverride,
        is_seated: bool,
        metadata: Metadata = NO_METADATA,
    ) -> CatalogAnswer:
        """A capacity creates a pool named like the ticket type."""
        refusal = refuse_policy(policy)
        if refusal is not None:
            return CatalogAnswer(refusal)
        own_pool = None if capacity is None else self._new_pool(session_id, name, capacity)
        change = CreateTicketType(
            organization_id=self.organization_id,
            ticket_type_id=TicketTypeId(uuid7()),
            session_id=session_id,
            name=name,
            price_minor=price_minor,
            pool_ids=pool_ids,
            own_pool=own_pool,
            policy=policy,
            is_seated=is_seated,
            metadata=metadata,
        )
        return self._apply(change)

    def change_ticket_type(
        self,
        *,
        ticket_type_id: TicketTypeId,
        name: str | None,
        price_minor: int | None,
        pool_ids: tuple[PoolId, ...] | None,
        policy: PolicyChange | None,
        metadata: Metadata | None = None,
    ) -> CatalogAnswer:
        change = ChangeTicketType(
            self.organization_id, ticket_type_id, name, price_minor, pool_ids, policy, metadata
        )
        return self._apply(change)

    def set_stock(
        self, session_id: SessionId, ticket_type_id: TicketTypeId, total: int
    ) -> CatalogAnswer:
        return self._apply(SetStock(self.organization_id, session_id, ticket_type_id, total))

    def create_block(
        self,
        *,
        session_id: SessionId,
        name: str,
        rank: int | None,
        capacity: int | None,
        prices: tuple[BlockPrice, ...],
    ) -> CatalogAnswer:
        return self._apply(self._new_block(session_id, name, rank, capacity, prices))

    def change_block(
        self,
        *,
        block_id: BlockId,
        name: str | None,
        rank: int | None,
        capacity: int | Unchanged | None,
        prices: tuple[BlockPrice, ...] | None,
    ) -> CatalogAnswer:
        change = ChangeBlock(
            self.organization_id, block_id, PoolId(uuid7()), name, rank, capacity, prices
        )
        return self._apply(change)

    def import_seats(self, session_id: SessionId, drafts: Iterable[DraftBlock]) -> CatalogAnswer:
        blocks = tuple(
            DraftedBlock(
                self._new_block(session_id, draft.name, draft.rank, draft.capacity, draft.prices),
                draft,
            )
            for draft in drafts
        )
        first_seat_id = countable_id(uuid7())
        return self._apply(ImportSeats(self.organization_id, session_id, first_seat_id, blocks))

    def _new_block(
        self,
        session_id: SessionId,
        name: str,
        rank: int | None,
        capacity: int | None,
        prices: tuple[BlockPrice, ...],
    ) -> CreateBlock:
        """A capacity is counted in a pool named like the block."""
        own_pool = None if capacity is None else self._new_pool(session_id, name, capacity)
        block_id = BlockId(uuid7())
        return CreateBlock(self.organization_id, block_id, session_id, name, rank, own_pool, prices)

    def _new_pool(self, session_id: SessionId, name: str, total: int) -> CreatePool:
        return CreatePool(self.organization_id, PoolId(uuid7()), session_id, name, total)

    def _apply(self, change: CatalogChange) -> CatalogAnswer:
        try:
            answer = self.catalog.apply(
                change, self.origin, self.idempotency, self.render, self.seen
            )
        except StoreError as error:
            kind = type(error).__name__
            _log.error("catalog.failed", change=type(change).__name__, problem=kind)
            return CatalogAnswer(refusal_for(error))
        self._promote(answer.unsettled)
        return answer

    def _promote(self, sessions: Sequence[SessionId]) -> None:
        """Offer freed places to the waitlist before answering. A waitlist not reached in time stays
        marked for the promoter."""
        keys = [(self.organization_id, session_id) for session_id in sessions[:SESSIONS_PER_RUN]]
        wait(submit_promotions(self.submit, keys).values(), timeout=PROMOTION_SECONDS_MAX)
