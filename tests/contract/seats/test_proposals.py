"""Best seats for several items, crowded groups and limited halls: nobody gets less than requested
or is refused free seats."""

import threading
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.seats.map_cache import SeatMaps
from holdfast.domain.group import plan
from holdfast.domain.group.outcomes import Expired, Placed
from holdfast.domain.holds import place_hold
from holdfast.domain.ids import HoldId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.seats import block_seats
from holdfast.engine import Admission
from tests.contract.asking import ask, placed, refused
from tests.contract.seen import World
from tests.contract.sides import Side
from tests.contract.venues import BUYER, STRANGER, Hall, Plan
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT

HALL = Hall({"Stalls": {"A": 6, "B": 6}}, {"seat": (), "child": ("quota",)})
PLAN = Plan({"quota": 0}, {}, hall=HALL)


@pytest.fixture
def side(world: World) -> Iterator[Side]:
    """Commands run together form one group."""
    side = Side(world, PLAN)
    yield side
    side.close()


def test_a_request_is_not_given_the_seats_proposed_to_another_with_its_id(side: Side) -> None:
    hold_id = HoldId(uuid4())
    first = side.venue.place(("child", 2), hold_id=hold_id)
    second = side.venue.place(("seat", 3), hold_id=hold_id, holder=STRANGER)
    refusal, outcome = side.run([first, second])
    assert refusal[:2] == ("refused", RefusalCode.INSUFFICIENT_INVENTORY)
    assert outcome[0] == "placed"
    assert len(side.placed[hold_id].seats) == 3


def test_seats_proposed_to_a_refused_command_go_to_the_next(side: Side) -> None:
    """All twelve seats are proposed to the first command, which has no quota."""
    first = side.venue.place(("child", 12))
    second = side.venue.place(("seat", 12), holder=STRANGER)
    refusal, outcome = side.run([first, second])
    assert refusal[:2] == ("refused", RefusalCode.INSUFFICIENT_INVENTORY)
    assert outcome[0] == "placed"


def test_the_quota_of_one_type_does_not_limit_a_block(world: World, engine: Admission) -> None:
    hall = Hall(
        {"X": {"A": 5}, "Y": {"B": 1}},
        {"few": ("quota",), "many": ()},
        capacities={"X": 2},
    )
    for asks in ((("few", 1), ("many", 2)), (("many", 2), ("few", 1))):
        venue = world.build(Plan({"quota": 1}, {}, hall=hall))
        assert len(placed(engine, venue.place(*asks)).seats) == 3


def test_one_item_leaves_another_the_block_it_needs(world: World, engine: Admission) -> None:
    """Two overlapping sets of blocks: served greedily, the first item takes the second's only
    seat."""
    hall = Hall(
        {"Y": {"A": 1}, "X": {"B": 1}, "Z": {"C": 1}},
        {"a": (), "b": ()},
        sold_in={"Y": ("a", "b"), "X": ("a",), "Z": ("b",)},
    )
    venue = world.build(Plan({}, {}, hall=hall))
    placed(engine, venue.seats("Z C 1", holder=STRANGER))
    hold = placed(engine, venue.place(("a", 1), ("b", 1)))
    assert venue.names_of(hold) == ["X B 1", "Y A 1"]


def test_accessible_seats_go_to_the_item_that_asks(world: World, engine: Admission) -> None:
    hall = Hall(
        {"Stalls": {"A": 4}},
        {"adult": (), "wheelchair": ()},
        accessible=frozenset({"Stalls A 1"}),
    )
    venue = world.build(Plan({}, {}, hall=hall))
    asks = (venue.some("adult", 2), venue.some("wheelchair", 1, accessible=1))
    hold = placed(engine, venue.place(*asks))
    of_type = {venue.name_of(line.seat.id): line.ticket_type_id for line in hold.lines if line.seat}
    assert of_type["Stalls A 1"] == venue.ticket_types["wheelchair"]
    refusal = refused(engine, venue.place(venue.some("adult", 1, accessible=1)))
    assert refusal.message == "Not enough accessible seats available. Requested: 1, Available: 0"


def test_each_item_gets_as_many_seats_as_it_asks_for(world: World, engine: Admission) -> None:
    """They are found together, and then shared out."""
    hall = Hall(
        {"Stalls": {"A": 8}},
        {"adult": (), "wheelchair": ()},
        accessible=frozenset({"Stalls A 1", "Stalls A 2"}),
    )
    venue = world.build(Plan({}, {}, hall=hall))
    asks = (
        venue.some("wheelchair", 3, accessible=1),
        venue.some("adult", 2),
        venue.some("wheelchair", 2, accessible=1),
    )
    hold = placed(engine, venue.place(*asks))
    types = [venue.ticket_types[name] for name in ("wheelchair", "adult", "wheelchair")]
    assert [line.ticket_type_id for line in hold.lines] == [
        type_id for type_id, count in zip(types, (3, 2, 2), strict=True) for _ in range(count)
    ]
    accessible = [line.seat is not None and line.seat.is_accessible for line in hold.lines]
    assert (sum(accessible[:3]), sum(accessible[3:5]), sum(accessible[5:])) == (1, 0, 1)
    assert len(set(venue.names_of(hold))) == 7


def test_only_items_that_require_it_must_sit_together(world: World, engine: Admission) -> None:
    """All sit together if possible; otherwise only the item that requires it."""
    hall = Hall({"Stalls": {"A": 2, "B": 2, "C": 4}}, {"seat": (), "child": ()})
    venue = world.build(Plan({}, {}, hall=hall))
    asks = (("seat", 2), venue.some("child", 2, together=True))
    hold = placed(engine, venue.place(*asks))
    assert {name.split()[1] for name in venue.names_of(hold)} == {"C"}
    hold = placed(engine, venue.place(*asks, holder=STRANGER))
    assert len(hold.seats) == 4
    children = [line.seat for line in hold.lines[2:] if line.seat is not None]
    assert len({seat.row for seat in children}) == 1


def test_two_items_that_each_sit_together_can_sit_apart(world: World, engine: Admission) -> None:
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 2, "B": 3}}, {"seat": ()})))
    two, three = (venue.some("seat", count, together=True) for count in (2, 3))
    refusal = refused(engine, venue.place(two, venue.some("seat", 4, together=True)))
    assert refusal.details == {"requested_quantity": 6, "available_quantity": 5}
    hold = placed(engine, venue.place(two, three))
    assert [name.split()[1] for name in venue.names_of(hold)] == ["A", "A", "B", "B", "B"]


def test_a_refusal_of_adjacent_seats_says_how_many_could_sit_together(
    world: World, engine: Admission
) -> None:
    hall = Hall({"Stalls": {"A": 4}, "Balcony": {"B": 3}}, {"seat": ()}, capacities={"Stalls": 2})
    venue = world.build(Plan({}, {}, hall=hall))
    asks = (venue.some("seat", 1), venue.some("seat", 4, together=True))
    refusal = refused(engine, venue.place(*asks))
    assert refusal.message == (
        "Not enough seats side by side available. Requested: 4, Available: 3"
    )


def test_a_shortage_counts_the_seats_of_all_items(world: World, engine: Admission) -> None:
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 5}}, {"seat": (), "child": ()})))
    refusal = refused(engine, venue.place(("seat", 4), ("child", 4)))
    assert refusal.details == {"requested_quantity": 8, "available_quantity": 5}


def test_capacity_freed_while_a_command_waits_is_used(world: World, engine: Admission) -> None:
    """The buyer finds X full and waits for the lock on Y's only seat. Then X has capacity again."""
    hall = Hall({"X": {"A": 2}, "Y": {"B": 1}}, {"seat": ()}, capacities={"X": 1})
    venue = world.build(Plan({}, {}, hall=hall))
    first = placed(engine, venue.seats("X A 1", holder=STRANGER))
    with world.seats_locked_elsewhere(venue, "Y B 1"):
        waiting = engine.submit(venue.place(("seat", 1), holder=BUYER))
        time.sleep(0.3)
        ask(engine, venue.release(first.id))
    outcome = waiting.result(60).outcome
    assert isinstance(outcome, Placed), outcome


def test_blocking_frees_a_limited_number_of_seats_at_once(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_seats, "SEATS_FREED_BY_ONE_MAX", 5)
    venue = world.build(PLAN)
    placed(engine, venue.place(("seat", 3)))
    placed(engine, venue.place(("seat", 3), holder=STRANGER))
    names = list(venue.places)
    refusal = refused(engine, venue.block(*names))
    assert refusal.code is RefusalCode.TOO_MANY_SEATS
    assert {seat.status for seat in world.seats(venue).values()} == {"available", "held"}
    monkeypatch.setattr(block_seats, "SEATS_FREED_BY_ONE_MAX", 6)
    ask(engine, venue.block(*names))
    assert {seat.status for seat in world.seats(venue).values()} == {"blocked"}


def test_taking_a_seat_frees_a_limited_number_of_other_seats(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place_hold, "SEATS_FREED_BY_ONE_MAX", 3)
    venue = world.build(PLAN)
    old = placed(engine, venue.place(("seat", 4), holder=STRANGER))
    world.let_pass(venue, 601)
    wanted = venue.names_of(old)[0]
    assert refused(engine, venue.seats(wanted)).code is RefusalCode.SERVICE_UNAVAILABLE
    ask(engine, venue.expire(old.id))
    placed(engine, venue.seats(wanted))


def test_expiring_frees_a_limited_number_of_seats_at_a_time(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SEATS_FREED_AT_ONCE_MAX", 4)
    venue = world.build(PLAN)
    holds = [placed(engine, venue.place(("seat", 2), holder=STRANGER)).id for _ in range(5)]
    world.let_pass(venue, 601)
    counts = []
    for _ in range(3):
        outcome = ask(engine, venue.expire(*holds))
        assert isinstance(outcome, Expired)
        counts.append(len(outcome.hold_ids))
        holds = [hold_id for hold_id in holds if hold_id not in outcome.hold_ids]
    assert counts == [2, 2, 1]


def test_loading_a_seat_map_delays_no_other_command(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = PostgresWorld(database_url)
    engine = Admission(world.store, PATIENT)
    engine.start()
    loading, loaded = threading.Event(), threading.Event()
    load = SeatMaps.load

    def slowly(*arguments: object) -> object:
        loading.set()
        assert loaded.wait(10)
        return load(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(SeatMaps, "load", slowly)
    hall, elsewhere = world.build(PLAN), world.venue({"floor": 5}, {"standing": ("floor",)})
    waiting = engine.submit(hall.place(("seat", 2)))
    assert loading.wait(10)
    placed(engine, elsewhere.place(("standing", 1)))
    placed(engine, hall.seats("Stalls A 1", holder=STRANGER))
    assert not waiting.done()
    loaded.set()
    assert isinstance(waiting.result(60).outcome, Placed)
    engine.stop()
    world.close()
