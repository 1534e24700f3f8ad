"""The sale of the demo."""

from datetime import UTC, datetime
from uuid import UUID, uuid5

from uuid_utils import uuid7

from holdfast.adapters.postgres.access.keys import PostgresOrganizations
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.bootstrap.accounts import owner_url_of
from holdfast.bootstrap.demo.boat import Step, boat_steps, fill_boat
from holdfast.bootstrap.demo.hall import LEVELS, Level, is_shown
from holdfast.bootstrap.settings import Settings
from holdfast.domain.catalog.changes import (
    CreateBlock,
    CreateEvent,
    CreatePool,
    CreateSession,
    CreateTicketType,
    DraftedBlock,
    ImportSeats,
)
from holdfast.domain.catalog.model import BlockPrice
from holdfast.domain.catalog.seat_import import DraftBlock, Source, countable_id, counted_id
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.services.access.authentication import new_secret_key, stored_key

# Fixed ids make loading the demo twice harmless, on any database.
_DEMO = UUID("0d3f0000-0000-4000-8000-000000000000")
DEMO_ORGANIZATION_ID = OrganizationId(uuid5(_DEMO, "organization"))
DEMO_EVENT_ID = EventId(uuid5(_DEMO, "event"))
DEMO_SESSION_ID = SessionId(uuid5(_DEMO, "session"))
DEMO_GA_ID = TicketTypeId(uuid5(_DEMO, "general admission"))
DEMO_SMALL_ID = TicketTypeId(uuid5(_DEMO, "meet and greet"))
DEMO_SEATED_ID = TicketTypeId(uuid5(_DEMO, "reserved seat"))
DEMO_BLOCK_IDS = tuple(BlockId(uuid5(_DEMO, level.name)) for level in LEVELS)
_FIRST_SEAT_ID = countable_id(uuid5(_DEMO, "seats"))
_SEATS = [(level, seat) for level in LEVELS for seat in level.seats()]
DEMO_SEAT_IDS = tuple(
    counted_id(_FIRST_SEAT_ID, count)
    for count, (level, seat) in enumerate(_SEATS)
    if is_shown(level, seat)
)


def load_demo(settings: Settings, known_secret: str | None) -> str:
    """Create the demo organization if it is missing. Returns its test key: the known one or a new
    one."""
    if known_secret is None:
        known_secret, key = new_secret_key("test", "demo")
    else:
        key = stored_key(known_secret, "demo")
    organizations = PostgresOrganizations(owner_url_of(settings))
    organizations.create(DEMO_ORGANIZATION_ID, "Harbour Nights", [key])
    assert settings.database_url is not None
    database = Database(settings.database_url)
    database.open()
    try:
        _load_sale(PostgresCatalog(database))
    finally:
        database.close()
    fill_boat(settings.database_url, DEMO_ORGANIZATION_ID)
    return known_secret


def _load_sale(catalog: PostgresCatalog) -> None:
    organization_id = DEMO_ORGANIZATION_ID
    starts_at = datetime(2030, 6, 21, 19, 30, tzinfo=UTC)
    steps: list[Step] = [
        (
            lambda: catalog.event(organization_id, DEMO_EVENT_ID),
            CreateEvent(
                organization_id, DEMO_EVENT_ID, "Midsummer by the Harbour", "EUR", PolicyOverride()
            ),
        ),
        (
            lambda: catalog.session(organization_id, DEMO_SESSION_ID),
            CreateSession(
                organization_id, DEMO_SESSION_ID, DEMO_EVENT_ID, "Friday night", starts_at
            ),
        ),
        (
            lambda: catalog.ticket_type(organization_id, DEMO_GA_ID),
            _ticket_type(DEMO_GA_ID, "General admission", 4500, 100_000),
        ),
        (
            lambda: catalog.ticket_type(organization_id, DEMO_SMALL_ID),
            _ticket_type(DEMO_SMALL_ID, "Meet and greet", 12_000, 10),
        ),
        (
            lambda: catalog.ticket_type(organization_id, DEMO_SEATED_ID),
            _ticket_type(DEMO_SEATED_ID, "Reserved seat", LEVELS[0].price_minor, None),
        ),
        (lambda: catalog.block(organization_id, DEMO_BLOCK_IDS[0]), _hall()),
        *boat_steps(catalog, organization_id, DEMO_EVENT_ID),
    ]
    origin = Origin(actor="demo", request_id=str(uuid7()))
    for find, change in steps:
        if find() is None:
            outcome = catalog.apply(change, origin, None, lambda _: b"").outcome
            assert not isinstance(outcome, Refusal), outcome


def _ticket_type(
    ticket_type_id: TicketTypeId, name: str, price_minor: int, capacity: int | None
) -> CreateTicketType:
    """Seated if there is no capacity."""
    return CreateTicketType(
        organization_id=DEMO_ORGANIZATION_ID,
        ticket_type_id=ticket_type_id,
        session_id=DEMO_SESSION_ID,
        name=name,
        price_minor=price_minor,
        pool_ids=(),
        own_pool=_pool(ticket_type_id, name, capacity),
        policy=PolicyOverride(),
        is_seated=capacity is None,
    )


def _pool(owner: UUID, name: str, capacity: int | None) -> CreatePool | None:
    if capacity is None:
        return None
    pool_id = PoolId(uuid5(owner, "pool"))
    return CreatePool(DEMO_ORGANIZATION_ID, pool_id, DEMO_SESSION_ID, name, capacity)


def _hall() -> ImportSeats:
    blocks = tuple(_block(rank, level) for rank, level in enumerate(LEVELS))
    return ImportSeats(DEMO_ORGANIZATION_ID, DEMO_SESSION_ID, _FIRST_SEAT_ID, blocks)


def _block(rank: int, level: Level) -> DraftedBlock:
    block_id = DEMO_BLOCK_IDS[rank]
    new_block = CreateBlock(
        organization_id=DEMO_ORGANIZATION_ID,
        block_id=block_id,
        session_id=DEMO_SESSION_ID,
        name=level.name,
        rank=rank,
        own_pool=_pool(block_id, level.name, level.capacity),
        prices=(BlockPrice(DEMO_SEATED_ID, level.price_minor),),
    )
    return DraftedBlock(
        new_block, DraftBlock(Source(rank, level.name), level.name, tuple(level.seats()))
    )
