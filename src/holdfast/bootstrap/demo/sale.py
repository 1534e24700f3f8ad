"""The sale of the demo."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid5

from uuid_utils import uuid7

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.bootstrap.demo.boat import boat_changes, fill_boat
from holdfast.bootstrap.demo.hall import LEVELS, Level, is_shown
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.scopes import ALL_SCOPES, Mode, Scope
from holdfast.domain.catalog import changes
from holdfast.domain.catalog.model import BlockPrice, Place
from holdfast.domain.catalog.seat_import import DraftBlock, Source, countable_id, counted_id
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.organizations import ChangeOrganization
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.services.access.authentication import new_secret_key, stored_secret

# Fixed ids make loading the demo twice harmless, on any database.
_DEMO = UUID("0d3f0000-0000-4000-8000-000000000000")
DEMO_ORGANIZATION_ID = OrganizationId(uuid5(_DEMO, "organization"))
DEMO_EVENT_ID = EventId(uuid5(_DEMO, "event"))
DEMO_SESSION_ID = SessionId(uuid5(_DEMO, "session"))
DEMO_PLACE = Place("Pier 7, Harbour Street", "Europe/Berlin")
DEMO_GA_ID = TicketTypeId(uuid5(_DEMO, "general admission"))
DEMO_SMALL_ID = TicketTypeId(uuid5(_DEMO, "meet and greet"))
SMALL_TOTAL = 10
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
    secret = _load_organization(settings, known_secret, ALL_SCOPES)
    with _opened(settings) as database:
        _load(PostgresCatalog(database), [*_general_admission(), *_seats_and_boat()])
        _open_shop(PostgresOrganizationSettings(database))
    fill_boat(settings, DEMO_ORGANIZATION_ID)
    return secret


def _load_organization(settings: Settings, known_secret: str | None, scopes: Sequence[str]) -> str:
    """Create the organization of all demos if it is missing, with a test key of these scopes."""
    if known_secret is None:
        known_secret, key = new_secret_key(Mode.TEST)
    else:
        key = stored_secret(known_secret)
    organizations = PostgresOrganizations(settings.required_owner_url)
    organizations.create(DEMO_ORGANIZATION_ID, "Harbour Nights", [key], scopes=scopes)
    return known_secret


def load_general_admission(settings: Settings, known_secret: str | None) -> str:
    """The part of the sale that another service can count."""
    secret = _load_organization(settings, known_secret, ALL_SCOPES)
    with _opened(settings) as database:
        _load(PostgresCatalog(database), _general_admission())
    return secret


def load_stock(settings: Settings, known_secret: str | None) -> str:
    """What the Inventory Service counts of it."""
    secret = _load_organization(settings, known_secret, [Scope.INVENTORY])
    with _opened(settings) as database:
        ids = (DEMO_ORGANIZATION_ID, DEMO_SESSION_ID, DEMO_SMALL_ID)
        _apply(PostgresCatalog(database), changes.SetStock(*ids, SMALL_TOTAL))
    return secret


@contextmanager
def _opened(settings: Settings) -> Iterator[Database]:
    database = Database(settings.required_database_url)
    database.open()
    try:
        yield database
    finally:
        database.close()


def _open_shop(organizations: PostgresOrganizationSettings) -> None:
    """Let browsers buy without an account."""
    change = ChangeOrganization(DEMO_ORGANIZATION_ID, None, {"anonymous_holders": True})
    origin = Origin(actor="demo", request_id=str(uuid7()))
    organizations.apply(change, origin, None, lambda _: b"")


def _general_admission() -> Iterator[changes.CatalogChange]:
    own = (DEMO_ORGANIZATION_ID, DEMO_EVENT_ID)
    yield changes.CreateEvent(
        *own, "Midsummer by the Harbour", "EUR", PolicyOverride(), place=DEMO_PLACE
    )
    starts_at = datetime(2030, 6, 21, 19, 30, tzinfo=UTC)
    yield changes.CreateSession(
        DEMO_ORGANIZATION_ID, DEMO_SESSION_ID, DEMO_EVENT_ID, "Friday night", starts_at
    )
    yield _ticket_type(DEMO_GA_ID, "General admission", 4500, 100_000)
    yield _ticket_type(DEMO_SMALL_ID, "Meet and greet", 12_000, SMALL_TOTAL)


def _seats_and_boat() -> Iterator[changes.CatalogChange]:
    yield _ticket_type(DEMO_SEATED_ID, "Reserved seat", LEVELS[0].price_minor, None)
    yield _hall()
    yield from boat_changes(DEMO_ORGANIZATION_ID, DEMO_EVENT_ID)


def _load(catalog: PostgresCatalog, wanted: Iterable[changes.CatalogChange]) -> None:
    for change in wanted:
        if not _is_loaded(catalog, change):
            _apply(catalog, change)


def _apply(catalog: PostgresCatalog, change: changes.CatalogChange) -> None:
    origin = Origin(actor="demo", request_id=str(uuid7()))
    outcome = catalog.apply(change, origin, None, lambda _: b"").outcome
    assert not isinstance(outcome, Refusal), outcome


def _is_loaded(catalog: PostgresCatalog, change: changes.CatalogChange) -> bool:
    """Whether an earlier start has made this change."""
    organization_id = change.organization_id
    match change:
        case changes.CreateEvent():
            return catalog.event(organization_id, change.event_id) is not None
        case changes.CreateSession():
            return catalog.session(organization_id, change.session_id) is not None
        case changes.CreatePool():
            return catalog.pool(organization_id, change.pool_id) is not None
        case changes.CreateTicketType():
            return catalog.ticket_type(organization_id, change.ticket_type_id) is not None
    return catalog.block(organization_id, DEMO_BLOCK_IDS[0]) is not None


def _ticket_type(
    ticket_type_id: TicketTypeId, name: str, price_minor: int, capacity: int | None
) -> changes.CreateTicketType:
    """Seated if there is no capacity."""
    return changes.CreateTicketType(
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


def _pool(owner: UUID, name: str, capacity: int | None) -> changes.CreatePool | None:
    if capacity is None:
        return None
    pool_id = PoolId(uuid5(owner, "pool"))
    return changes.CreatePool(DEMO_ORGANIZATION_ID, pool_id, DEMO_SESSION_ID, name, capacity)


def _hall() -> changes.ImportSeats:
    blocks = tuple(_block(rank, level) for rank, level in enumerate(LEVELS))
    return changes.ImportSeats(DEMO_ORGANIZATION_ID, DEMO_SESSION_ID, _FIRST_SEAT_ID, blocks)


def _block(rank: int, level: Level) -> changes.DraftedBlock:
    block_id = DEMO_BLOCK_IDS[rank]
    new_block = changes.CreateBlock(
        organization_id=DEMO_ORGANIZATION_ID,
        block_id=block_id,
        session_id=DEMO_SESSION_ID,
        name=level.name,
        rank=rank,
        own_pool=_pool(block_id, level.name, level.capacity),
        prices=(BlockPrice(DEMO_SEATED_ID, level.price_minor),),
    )
    return changes.DraftedBlock(
        new_block, DraftBlock(Source(rank, level.name), level.name, tuple(level.seats()))
    )
