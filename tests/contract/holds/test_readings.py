"""Reading holds gives the same answers on every store."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from holdfast.ports.holds import HoldFilter, HoldOrder, HoldReader
from holdfast.ports.paging import PageRequest
from tests.contract.seen import World
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import MemoryWorld, PostgresWorld

ANN = Holder(EmailAddress("ann@example.com"), "ann")
BOB = Holder(user_id="bob")
SOON = timedelta(minutes=5)

Place = Callable[[Holder], Hold]


@pytest.fixture
def reader(world: World) -> Iterator[HoldReader]:
    if isinstance(world, MemoryWorld):
        yield world.store
        return
    assert isinstance(world, PostgresWorld)
    database = Database(world.url)
    database.open()
    yield PostgresHolds(database)
    database.close()


@pytest.fixture
def venue(world: World) -> Venue:
    return world.venue({"floor": 100}, {"standing": ("floor",)})


@pytest.fixture
def place(engine: Admission, venue: Venue) -> Place:
    def place(holder: Holder) -> Hold:
        command = venue.place(("standing", 2), holder=holder)
        outcome = engine.submit(command).result(60).outcome
        assert isinstance(outcome, Placed)
        return outcome.hold

    return place


def listed(
    reader: HoldReader,
    venue: Venue,
    only: HoldFilter,
    order: HoldOrder = HoldOrder.NEWEST,
    size: int = 100,
) -> list[HoldId]:
    """Read all pages."""
    ids: list[HoldId] = []
    page = reader.holds(venue.organization_id, only, PageRequest(size), order)
    while True:
        ids += [seen.hold.id for seen in page.items]
        if page.next is None:
            return ids
        assert len(page.items) == size
        page = reader.holds(venue.organization_id, only, PageRequest(size, page.next), order)


def test_listing_by_holder_and_reference(reader: HoldReader, venue: Venue, place: Place) -> None:
    first, second = place(ANN), place(BOB)
    assert listed(reader, venue, HoldFilter(user_id="ann")) == [first.id]
    assert listed(reader, venue, HoldFilter(user_id="bob", email=ANN.email)) == []
    assert listed(reader, venue, HoldFilter(reference=second.reference)) == [second.id]
    assert listed(reader, venue, HoldFilter()) == [second.id, first.id]


def test_holds_are_filtered_by_time(reader: HoldReader, venue: Venue, place: Place) -> None:
    first, second, third = place(ANN), place(BOB), place(ANN)
    since = HoldFilter(created_from=second.created_at)
    assert listed(reader, venue, since) == [third.id, second.id]
    before = HoldFilter(created_before=second.created_at)
    assert listed(reader, venue, before) == [first.id]
    of_ann = HoldFilter(user_id="ann", created_before=third.created_at)
    assert listed(reader, venue, of_ann) == [first.id]


def test_expired_and_live_holds_are_listed_in_both_orders(
    world: World, reader: HoldReader, venue: Venue, place: Place, engine: Admission
) -> None:
    lapsed = [place(ANN).id for _ in range(3)]
    world.let_pass(venue, 601)
    live = [place(BOB).id for _ in range(5)]
    engine.submit(venue.release(live[2])).result(60)
    left = [hold_id for hold_id in live if hold_id != live[2]]
    gone = HoldFilter(is_lapsed=True)
    assert listed(reader, venue, gone) == lapsed[::-1]
    assert sorted(listed(reader, venue, gone, HoldOrder.EXPIRY)) == sorted(lapsed)
    by_expiry = listed(reader, venue, HoldFilter(), HoldOrder.EXPIRY, size=2)
    assert sorted(by_expiry) == sorted(left)
    active = HoldFilter(status=HoldStatus.ACTIVE)
    assert listed(reader, venue, active, HoldOrder.EXPIRY) == by_expiry


def test_holds_are_listed_by_expiry_time(
    world: World, reader: HoldReader, venue: Venue, place: Place
) -> None:
    ids = []
    for _ in range(5):
        ids.append(place(BOB).id)
        world.let_pass(venue, 10)
    assert listed(reader, venue, HoldFilter(), HoldOrder.EXPIRY, size=2) == ids
    assert listed(reader, venue, HoldFilter(), HoldOrder.NEWEST, size=2) == ids[::-1]


def test_statistics(
    world: World, reader: HoldReader, venue: Venue, place: Place, engine: Admission
) -> None:
    place(ANN)
    world.let_pass(venue, 601)
    place(ANN)
    world.let_pass(venue, 301)
    place(BOB)
    engine.submit(venue.release(place(BOB).id)).result(60)
    for session_id in (None, venue.session_id):
        counted = reader.statistics(venue.organization_id, session_id, SOON)
        assert (counted.active, counted.lapsed) == (2, 1)
        assert (counted.tickets, counted.expiring_soon) == (4, 1)
    elsewhere = world.venue({"floor": 1}, {"standing": ("floor",)})
    none = reader.statistics(venue.organization_id, elsewhere.session_id, SOON)
    assert (none.active, none.lapsed, none.tickets) == (0, 0, 0)
    foreign = reader.statistics(elsewhere.organization_id, None, SOON)
    assert (foreign.active, foreign.lapsed) == (0, 0)


def test_statistics_count_seats_and_tickets_separately(
    world: World, reader: HoldReader, engine: Admission
) -> None:
    """Seats of expired and released holds are not counted."""
    hall = Hall({"Stalls": {"A": 9}}, {"seat": ()})
    venue = world.build(Plan({"floor": 9}, {"standing": ("floor",)}, hall=hall))

    def hold(*asks: tuple[str, int]) -> Hold:
        outcome = engine.submit(venue.place(*asks)).result(60).outcome
        assert isinstance(outcome, Placed)
        return outcome.hold

    hold(("seat", 1))
    world.let_pass(venue, 601)
    hold(("seat", 2), ("standing", 4))
    hold(("standing", 1))
    engine.submit(venue.release(hold(("seat", 3)).id)).result(60)
    for session_id in (None, venue.session_id):
        counted = reader.statistics(venue.organization_id, session_id, SOON)
        assert (counted.active, counted.tickets, counted.seats) == (2, 7, 2)
