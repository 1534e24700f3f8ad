"""Catalog changes that free places or end the sale while people wait."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.catalog.store import PostgresCatalogue
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.catalog.changes import (
    CatalogueChange,
    ChangeEvent,
    ChangePool,
    ChangeTicketType,
    SaleChange,
)
from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.catalog.seat_import import DraftBlock, DraftSeat, Source
from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import EventId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.engine import Admission
from holdfast.services.catalog.changes import Cataloguing
from tests.contract.asking import ask, placed
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound


class SoldOut:
    """A floor for two and a row of two seats, all held, and the waitlist behind them."""

    def __init__(self, world: PostgresWorld, engine: Admission, database: Database) -> None:
        self.world, self.engine = world, engine
        self.catalogue, self.reader = PostgresCatalogue(database), PostgresHolds(database)
        policy = HoldPolicy(waitlist=True, waiting_places_max=50)
        hall = Hall({"Stalls": {"A": 2}}, {"seat": ()}, sold_in={"Stalls": ("seat",)})
        plan = Plan({"floor": 2, "lawn": 9}, {"standing": ("floor",)}, policy, hall=hall)
        self.venue: Venue = world.build(plan)
        placed(engine, self.venue.place(("standing", 2)))
        placed(engine, self.venue.place(("seat", 2)))

    def wait(self, ticket_type: str, quantity: int) -> Hold:
        outcome = ask(self.engine, self.venue.place((ticket_type, quantity)))
        assert isinstance(outcome, Waiting), outcome
        return outcome.hold

    def change(self, change: CatalogueChange) -> None:
        answer = self.catalogue.apply(change, None, lambda _: b"")
        assert not isinstance(answer.outcome, Refusal), answer

    def status(self, hold: Hold) -> HoldStatus:
        return self.world.hold(self.venue, hold.id).status

    def is_settled(self) -> bool:
        key = (self.venue.organization_id, self.venue.session_id)
        return key not in self.reader.unsettled_sessions(1000)


@pytest.fixture
def sold_out(fresh_world: PostgresWorld, fresh_engine: Admission) -> Iterator[SoldOut]:
    database = Database(fresh_world.url)
    database.open()
    yield SoldOut(fresh_world, fresh_engine, database)
    database.close()
    assert_sound(fresh_world.url, 60)


def test_a_larger_pool_promotes_the_waitlist_in_order(sold_out: SoldOut) -> None:
    first, second, third = (sold_out.wait("standing", 2) for _ in range(3))
    organization_id, floor = sold_out.venue.organization_id, sold_out.venue.pools["floor"]
    sold_out.change(ChangePool(organization_id, floor, total=6))
    promoted = [sold_out.status(hold) for hold in (first, second, third)]
    assert promoted == [HoldStatus.ACTIVE, HoldStatus.ACTIVE, HoldStatus.WAITING]
    assert sold_out.world.pool(floor).held == 6
    assert sold_out.is_settled()


def test_promotions_beyond_one_transaction_are_left_to_the_promoter(sold_out: SoldOut) -> None:
    for _ in range(PROMOTIONS_MAX + 1):
        sold_out.wait("standing", 1)
    organization_id, floor = sold_out.venue.organization_id, sold_out.venue.pools["floor"]
    sold_out.change(ChangePool(organization_id, floor, total=100))
    assert sold_out.world.pool(floor).held == 2 + PROMOTIONS_MAX
    assert not sold_out.is_settled()


def test_new_seats_go_to_parties_waiting_for_seats(sold_out: SoldOut) -> None:
    hold = sold_out.wait("seat", 2)
    venue = sold_out.venue
    source = Source(1, "line 1")
    seats = tuple(DraftSeat(source, "B", str(number)) for number in (1, 2))
    cataloguing = Cataloguing(sold_out.catalogue, venue.organization_id, None, lambda _: b"")
    cataloguing.import_seats(venue.session_id, [DraftBlock(source, "Stalls", seats)])
    promoted = sold_out.world.hold(venue, hold.id)
    assert promoted.status is HoldStatus.ACTIVE
    assert [(seat.row, seat.number) for seat in promoted.seats] == [("B", "1"), ("B", "2")]


def test_a_cancelled_event_cancels_its_waitlist(sold_out: SoldOut) -> None:
    holds = [sold_out.wait("standing", 1), sold_out.wait("seat", 1)]
    with psycopg.connect(sold_out.world.url) as owner:
        row = owner.execute(
            "SELECT event_id FROM session WHERE id = %s", [sold_out.venue.session_id]
        ).fetchone()
    assert row is not None
    cancelled = SaleChange(status=EventStatus.CANCELLED)
    sold_out.change(ChangeEvent(sold_out.venue.organization_id, EventId(row[0]), sale=cancelled))
    assert {sold_out.status(hold) for hold in holds} == {HoldStatus.CANCELLED}
    assert sold_out.is_settled()


def test_a_refused_change_promotes_nobody(sold_out: SoldOut) -> None:
    hold = sold_out.wait("standing", 1)
    smaller = ChangePool(sold_out.venue.organization_id, sold_out.venue.pools["floor"], total=1)
    answer = sold_out.catalogue.apply(smaller, None, lambda _: b"")
    assert isinstance(answer.outcome, Refusal)
    assert sold_out.status(hold) is HoldStatus.WAITING


def drawn_from(sold_out: SoldOut, ticket_type: str, *pools: str) -> ChangeTicketType:
    venue = sold_out.venue
    pool_ids = tuple(venue.pools[pool] for pool in pools)
    type_id = venue.ticket_types[ticket_type]
    return ChangeTicketType(venue.organization_id, type_id, pool_ids=pool_ids)


@pytest.mark.parametrize(
    ("ticket_type", "pools"), [("standing", ("lawn",)), ("seat", ("lawn",)), ("standing", ())]
)
def test_the_pools_of_a_type_cannot_change_while_people_wait_for_it(
    sold_out: SoldOut, ticket_type: str, pools: tuple[str, ...]
) -> None:
    hold = sold_out.wait(ticket_type, 1)
    change = drawn_from(sold_out, ticket_type, *pools)
    answer = sold_out.catalogue.apply(change, None, lambda _: b"")
    assert isinstance(answer.outcome, Refusal)
    assert answer.outcome.code is RefusalCode.OTHERS_ARE_WAITING
    assert sold_out.status(hold) is HoldStatus.WAITING
    ask(sold_out.engine, sold_out.venue.release(hold.id))
    sold_out.change(drawn_from(sold_out, ticket_type, "lawn"))


def test_unchanged_pools_and_pools_of_other_types_are_accepted(sold_out: SoldOut) -> None:
    sold_out.wait("standing", 1)
    sold_out.change(drawn_from(sold_out, "standing", "floor"))
    sold_out.change(drawn_from(sold_out, "seat", "lawn"))
