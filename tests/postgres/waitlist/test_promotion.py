"""Catalog changes that free places or end the sale while people wait."""

from collections.abc import Iterator

import pytest

from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.catalog.changes import ChangePool, SaleChange
from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.catalog.seat_import import DraftBlock, DraftSeat, Source
from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import EventId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.engine import Admission
from holdfast.ports.catalog import CatalogOutcome
from holdfast.services.catalog.changes import CatalogEditor
from holdfast.services.waitlist import Promoter
from tests.contract.asking import ask, placed
from tests.contract.venues import ORIGIN, Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound


class SoldOut:
    """A floor for two and a row of two seats, all held, and the waitlist behind them."""

    def __init__(self, world: PostgresWorld, engine: Admission, database: Database) -> None:
        self.world, self.engine = world, engine
        self.catalog, self.reader = PostgresCatalog(database), PostgresHolds(database)
        self.promoter = Promoter(self.reader, engine)
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

    @property
    def office(self) -> CatalogEditor:
        return CatalogEditor(
            self.catalog, self.engine, self.venue.organization_id, ORIGIN, None, lambda _: b""
        )

    def resize_floor(self, total: int) -> None:
        answer = self.office.change_pool(self.venue.pools["floor"], None, total)
        assert not isinstance(answer.outcome, Refusal), answer

    def draw(self, ticket_type: str, *pools: str) -> CatalogOutcome | None:
        return self.office.change_ticket_type(
            ticket_type_id=self.venue.ticket_types[ticket_type],
            name=None,
            price_minor=None,
            pool_ids=tuple(self.venue.pools[pool] for pool in pools),
            policy=None,
        ).outcome

    def event_id(self) -> EventId:
        session = self.catalog.session(self.venue.organization_id, self.venue.session_id)
        assert session is not None
        return session.event_id

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
    sold_out.resize_floor(6)
    promoted = [sold_out.status(hold) for hold in (first, second, third)]
    assert promoted == [HoldStatus.ACTIVE, HoldStatus.ACTIVE, HoldStatus.WAITING]
    assert sold_out.world.pool(sold_out.venue.pools["floor"]).held == 6
    assert sold_out.is_settled()


def test_promotions_beyond_one_transaction_are_left_to_the_promoter(sold_out: SoldOut) -> None:
    for _ in range(PROMOTIONS_MAX + 1):
        sold_out.wait("standing", 1)
    floor = sold_out.venue.pools["floor"]
    sold_out.resize_floor(100)
    assert sold_out.world.pool(floor).held == 2 + PROMOTIONS_MAX
    assert not sold_out.is_settled()
    assert sold_out.promoter.run_once() == 1
    assert sold_out.is_settled()


def test_the_promoter_follows_a_change_whose_server_died_after_the_commit(
    sold_out: SoldOut,
) -> None:
    """Newcomers take nothing meanwhile."""
    first = sold_out.wait("standing", 2)
    venue = sold_out.venue
    larger = ChangePool(venue.organization_id, venue.pools["floor"], total=4)
    answer = sold_out.catalog.apply(larger, ORIGIN, None, lambda _: b"")
    assert answer.unsettled == (venue.session_id,)
    assert sold_out.status(first) is HoldStatus.WAITING
    assert not sold_out.is_settled()
    newcomer = sold_out.wait("standing", 1)
    assert sold_out.promoter.run_once() == 1
    assert sold_out.status(first) is HoldStatus.ACTIVE
    assert sold_out.status(newcomer) is HoldStatus.WAITING
    assert sold_out.is_settled()


def test_new_seats_go_to_parties_waiting_for_seats(sold_out: SoldOut) -> None:
    hold = sold_out.wait("seat", 2)
    venue = sold_out.venue
    source = Source(1, "line 1")
    seats = tuple(DraftSeat(source, "B", str(number)) for number in (1, 2))
    sold_out.office.import_seats(venue.session_id, [DraftBlock(source, "Stalls", seats)])
    promoted = sold_out.world.hold(venue, hold.id)
    assert promoted.status is HoldStatus.ACTIVE
    assert [(seat.row, seat.number) for seat in promoted.seats] == [("B", "1"), ("B", "2")]


def test_a_cancelled_event_cancels_its_waitlist(sold_out: SoldOut) -> None:
    holds = [sold_out.wait("standing", 1), sold_out.wait("seat", 1)]
    cancelled = SaleChange(status=EventStatus.CANCELLED)
    sold_out.office.change_event(sold_out.event_id(), None, None, cancelled)
    assert {sold_out.status(hold) for hold in holds} == {HoldStatus.CANCELLED}
    assert sold_out.is_settled()


def test_a_new_name_of_an_event_leaves_its_waitlists_alone(sold_out: SoldOut) -> None:
    sold_out.wait("standing", 1)
    answer = sold_out.office.change_event(sold_out.event_id(), "Matinee", None, None)
    assert not answer.unsettled
    assert sold_out.is_settled()


def test_a_refused_change_promotes_nobody(sold_out: SoldOut) -> None:
    hold = sold_out.wait("standing", 1)
    answer = sold_out.office.change_pool(sold_out.venue.pools["floor"], None, 1)
    assert isinstance(answer.outcome, Refusal)
    assert not answer.unsettled
    assert sold_out.status(hold) is HoldStatus.WAITING


@pytest.mark.parametrize(
    ("ticket_type", "pools"), [("standing", ("lawn",)), ("seat", ("lawn",)), ("standing", ())]
)
def test_the_pools_of_a_type_cannot_change_while_people_wait_for_it(
    sold_out: SoldOut, ticket_type: str, pools: tuple[str, ...]
) -> None:
    hold = sold_out.wait(ticket_type, 1)
    outcome = sold_out.draw(ticket_type, *pools)
    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.OTHERS_ARE_WAITING
    assert sold_out.status(hold) is HoldStatus.WAITING
    ask(sold_out.engine, sold_out.venue.release(hold.id))
    assert not isinstance(sold_out.draw(ticket_type, "lawn"), Refusal)


def test_unchanged_pools_and_pools_of_other_types_are_accepted(sold_out: SoldOut) -> None:
    sold_out.wait("standing", 1)
    assert not isinstance(sold_out.draw("standing", "floor"), Refusal)
    assert not isinstance(sold_out.draw("seat", "lawn"), Refusal)
