"""The boat of the demo: a sold-out session of eight places with a waitlist.

A group holds six places all day. The other two change hands every two minutes, because nobody pays.
Emptying the group's cart promotes the parties on the waitlist.
"""

from collections.abc import Iterator
from concurrent.futures import wait
from datetime import UTC, datetime
from multiprocessing import get_context
from uuid import UUID, uuid5

from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import Settings
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.items import CartAsk
from holdfast.domain.catalog import changes
from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import Remarks
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import EventId, HoldId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import DAY_SECONDS, PolicyOverride
from holdfast.domain.values import EmailAddress, Holder, Quantity
from holdfast.engine import Admission

PLACES = 8
FILLED_WITHIN_SECONDS = 10
GROUP_CART = "demo-group"

_BOAT = UUID("0d3f0000-0000-4000-8000-00000000b0a7")
BOAT_SESSION_ID = SessionId(uuid5(_BOAT, "session"))
BOAT_RIDE_ID = TicketTypeId(uuid5(_BOAT, "boat ride"))
_GROUP_ID = TicketTypeId(uuid5(_BOAT, "group"))
_POOL_ID = PoolId(uuid5(_BOAT, "pool"))

# Carts in order of arrival. The first two get places, the others wait.
_PARTIES = (
    (GROUP_CART, "group", _GROUP_ID, 6),
    ("demo-carla", "carla", BOAT_RIDE_ID, 2),
    ("demo-emil", "emil", BOAT_RIDE_ID, 2),
    ("demo-fay", "fay", BOAT_RIDE_ID, 2),
)


def boat_changes(
    organization_id: OrganizationId, event_id: EventId
) -> Iterator[changes.CatalogChange]:
    starts_at = datetime(2030, 6, 22, 18, tzinfo=UTC)
    yield changes.CreateSession(
        organization_id, BOAT_SESSION_ID, event_id, "Sunset on the boat", starts_at
    )
    yield changes.CreatePool(organization_id, _POOL_ID, BOAT_SESSION_ID, "Boat", PLACES)
    short = PolicyOverride(ttl_seconds=120, warning_seconds=30, waitlist=True, waiting_passes_max=2)
    for type_id, name, price_minor, policy in (
        (BOAT_RIDE_ID, "Boat ride", 3_500, short),
        (_GROUP_ID, "Boat ride for groups", 3_000, PolicyOverride(ttl_seconds=DAY_SECONDS)),
    ):
        yield changes.CreateTicketType(
            organization_id=organization_id,
            ticket_type_id=type_id,
            session_id=BOAT_SESSION_ID,
            name=name,
            price_minor=price_minor,
            pool_ids=(_POOL_ID,),
            own_pool=None,
            policy=policy,
        )


def fill_boat(settings: Settings, organization_id: OrganizationId) -> None:
    """Fill the carts that need it; what is refused or takes too long is left to the next start.
    Runs in its own process, because an engine has threads and this process will fork."""
    filling = get_context("fork").Process(target=_fill_boat, args=(settings, organization_id))
    filling.start()
    filling.join(FILLED_WITHIN_SECONDS)
    filling.kill()


def _fill_boat(settings: Settings, organization_id: OrganizationId) -> None:
    engine = Admission(PostgresStore(settings.required_database_url, addresses_of(settings)))
    engine.start()
    try:
        carts = [_fill(organization_id, *party) for party in _PARTIES]
        wait([engine.submit(cart) for cart in carts])
    finally:
        engine.stop()


def _fill(
    organization_id: OrganizationId, cart: str, name: str, type_id: TicketTypeId, quantity: int
) -> FillCart:
    return FillCart(
        organization_id=organization_id,
        session_id=BOAT_SESSION_ID,
        cart=cart,
        hold_id=HoldId(uuid7()),
        group_id=uuid7(),
        holder=Holder(EmailAddress(f"{name}@example.com")),
        asks=(CartAsk("boat", Ask(type_id, Quantity(quantity))),),
        origin=Origin(actor="demo", request_id=str(uuid7())),
        remarks=Remarks(cart_token=cart),
    )
