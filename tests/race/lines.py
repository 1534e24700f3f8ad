"""Carts and waiting parties for the races."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import psycopg

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.items import CartAsk
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.group.outcomes import Outcome, Placed, Waiting
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import WAITING_PLACES_MAX, HoldPolicy
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from holdfast.services.waitlist import Promoter
from tests.contract.asking import ask
from tests.contract.venues import BUYER, ORIGIN, Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld

ANSWER_SECONDS = 60
STRICT = HoldPolicy(waitlist=True, waiting_places_max=WAITING_PLACES_MAX)
AREAS = ("floor", "stalls")


def fill(
    venue: Venue,
    cart: str,
    *asks: tuple[str, int],
    holder: Holder = BUYER,
    key: IdempotencyKey | None = None,
) -> FillCart:
    """Fill the cart with quantities of ticket types; each type names its item."""
    wanted = tuple(CartAsk(name, venue.some(name, quantity)) for name, quantity in asks)
    return FillCart(
        venue.organization_id,
        venue.session_id,
        cart,
        HoldId(uuid4()),
        uuid4(),
        holder,
        wanted,
        ORIGIN,
        key,
    )


def empty(venue: Venue, cart: str, key: IdempotencyKey | None = None) -> EmptyCart:
    return EmptyCart(venue.organization_id, cart, ORIGIN, idempotency=key)


def renew(venue: Venue, cart: str, key: IdempotencyKey | None = None) -> RenewCart:
    hold_id = HoldId(uuid4())
    return RenewCart(venue.organization_id, cart, hold_id, uuid4(), ORIGIN, idempotency=key)


def live_holds_of(world: PostgresWorld, venue: Venue, cart: str) -> list[Hold]:
    return [
        hold
        for hold in world.all_holds(venue)
        if hold.is_cart and hold.remarks.cart_token == cart and not hold.is_over()
    ]


def at_once(engines: list[Admission], *commands: Command) -> list[Outcome | None]:
    """Submit the commands to the engines in turn."""
    futures = [
        engines[number % len(engines)].submit(command) for number, command in enumerate(commands)
    ]
    return [future.result(ANSWER_SECONDS).outcome for future in futures]


@dataclass
class SoldOut:
    """A session with a waitlist whose every place is held, one per hold. The floor counts places,
    the stalls have seats."""

    world: PostgresWorld
    engine: Admission
    venue: Venue
    sold: str  # the ticket type
    holds: list[Hold]

    def buy(self, quantity: int = 1) -> PlaceHold:
        """A hold for a new buyer."""
        return self.venue.place((self.sold, quantity), holder=somebody())

    def join(self, quantity: int = 1) -> Hold:
        return waiting(ask(self.engine, self.buy(quantity)))

    def status(self, *holds: Hold) -> list[str]:
        seen = self.world.holds(self.venue)
        return [seen[hold.id].status for hold in holds]

    def free(self) -> int:
        """The number of free places."""
        if self.venue.places:
            seats = self.world.seats(self.venue).values()
            return sum(seat.status == "available" for seat in seats)
        return self.world.pool(self.venue.pools["floor"]).free


def sold_out(
    world: PostgresWorld,
    engine: Admission,
    places: int,
    area: str = "floor",
    policy: HoldPolicy = STRICT,
) -> SoldOut:
    if area == "floor":
        plan = Plan({"floor": places}, {"standing": ("floor",)}, policy)
    else:
        plan = Plan({}, {}, policy, Hall({"Stalls": {"A": places}}, {"seat": ()}))
    venue = world.build(plan)
    sale = SoldOut(world, engine, venue, "standing" if area == "floor" else "seat", [])
    futures = [engine.submit(sale.buy()) for _ in range(places)]
    outcomes = [future.result(ANSWER_SECONDS).outcome for future in futures]
    sale.holds = [outcome.hold for outcome in outcomes if isinstance(outcome, Placed)]
    assert len(sale.holds) == places
    return sale


def add_capacity(sale: SoldOut, places: int) -> None:
    """Add places to the floor and leave the promotions to the promoter."""
    pool_id, session_id = sale.venue.pools["floor"], sale.venue.session_id
    with psycopg.connect(sale.world.url) as owner:
        owner.execute("UPDATE pool SET total = total + %s WHERE id = %s", [places, pool_id])
        owner.execute("UPDATE waitlist SET is_settled = false WHERE session_id = %s", [session_id])


def somebody() -> Holder:
    return Holder(user_id=f"user-{uuid4()}")


def waiting(outcome: Outcome | None) -> Hold:
    assert isinstance(outcome, Waiting), outcome
    assert outcome.hold.status is HoldStatus.WAITING
    return outcome.hold


@contextmanager
def promoter_of(world: PostgresWorld, engine: Admission) -> Iterator[Promoter]:
    database = Database(world.url)
    database.open()
    try:
        yield Promoter(PostgresHolds(database), engine)
    finally:
        database.close()


def run_to_the_end(promoter: Promoter, runs_max: int = 50) -> None:
    """Run until no waitlist is unsettled."""
    for _ in range(runs_max):
        if not promoter.run_once():
            return
    raise AssertionError(f"lines are unsettled after {runs_max} runs")
