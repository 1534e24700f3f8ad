"""Create and change every part of a catalog."""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.holds.reader import Database
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
)
from holdfast.domain.catalog.model import BlockPrice, EventStatus, Place
from holdfast.domain.catalog.seat_import import DraftBlock, DraftSeat, Source
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.policy import PolicyChange, PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Metadata
from tests.contract.venues import ORIGIN


def change_catalog(url: str, organization_id: OrganizationId) -> None:
    database = Database(url)
    database.open()
    try:
        catalog = PostgresCatalog(database)
        for change in every_change(organization_id):
            answer = catalog.apply(change, ORIGIN, None, lambda _: b"")
            assert not isinstance(answer.outcome, Refusal), answer.outcome
    finally:
        database.close()


def every_change(organization_id: OrganizationId) -> Iterator[CatalogChange]:
    """Creates one block on its own, and another together with its seats."""
    event_id, session_id = EventId(uuid4()), SessionId(uuid4())
    pool_id, type_id, block_id = PoolId(uuid4()), TicketTypeId(uuid4()), BlockId(uuid4())
    owned, in_session = (organization_id,), (organization_id, session_id)
    policy = PolicyOverride(ttl_seconds=300)
    texts = Metadata({"venue_code": "H-12"})
    place = Place("Harbour Hall", "Europe/Berlin")
    yield CreateEvent(*owned, event_id, "Gala", "EUR", policy, metadata=texts, place=place)
    yield CreateSession(*owned, session_id, event_id, "Friday", None)
    yield CreatePool(*owned, pool_id, session_id, "Floor", 90)
    own_pool = CreatePool(*owned, PoolId(uuid4()), session_id, "Seat", 50)
    yield CreateTicketType(
        *owned, type_id, session_id, "Seat", 4500, (pool_id,), own_pool, policy, is_seated=True
    )
    prices = (BlockPrice(type_id, 5000),)
    yield CreateBlock(*owned, block_id, session_id, "Stalls", None, None, prices)
    balcony = CreateBlock(*owned, BlockId(uuid4()), session_id, "Balcony", None, None, prices)
    drafts = [
        DraftBlock(Source(1, "line 1"), name, (DraftSeat(Source(1, "line 1"), "A", "1"),))
        for name in ("Stalls", "Balcony")
    ]
    yield ImportSeats(
        *in_session, SeatId(uuid4()), tuple(DraftedBlock(balcony, draft) for draft in drafts)
    )
    moment = datetime(2030, 6, 21, 19, 30, tzinfo=UTC)
    sale = SaleChange(status=EventStatus.LIVE, starts_at=moment, ends_at=moment.replace(hour=20))
    yield ChangeEvent(*owned, event_id, "Great gala", PolicyChange(ttl_seconds=None), sale)
    yield ChangeEvent(*owned, event_id, metadata=Metadata({}))
    moved = PlaceChange("Old Mill", None)
    yield ChangeEvent(*owned, event_id, place=moved)
    yield ChangeSession(*owned, session_id, "Saturday", moment, texts)
    yield ChangePool(*owned, pool_id, "House", 100)
    change = PolicyChange(waitlist=True)
    yield ChangeTicketType(*owned, type_id, "Chair", 4900, (), change, texts)
    yield ChangeBlock(*owned, block_id, PoolId(uuid4()), "Circle", 7, 1, ())
