"""Best available seats, on every store."""

import time
from concurrent.futures import Future
from uuid import uuid4

import pytest

from holdfast.domain.catalog.model import SaleTerms
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.ids import BlockId, HoldId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from holdfast.ports.engine import Answer
from tests.contract.asking import ask, placed, refused
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

SEATED = {"seat": (), "child": ()}
HALL = Hall({"Stalls": {"A": 6, "B": 6}, "Balcony": {"C": 4}}, SEATED)


def theatre(world: World, hall: Hall = HALL) -> Venue:
    return world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=hall, sale=SaleTerms()))


def capped(world: World, capacity: int, **more: dict[str, int]) -> Venue:
    """Six seats in the stalls, with a capacity below that."""
    return theatre(world, Hall({"Stalls": {"A": 6}, **more}, SEATED, {"Stalls": capacity}))


def seats_of(venue: Venue, futures: list[Future[Answer]]) -> list[list[str] | None]:
    outcomes = [future.result(60).outcome for future in futures]
    return [
        venue.names_of(outcome.hold) if isinstance(outcome, Placed) else None
        for outcome in outcomes
    ]


def test_a_quantity_of_a_seated_type_gets_the_best_adjacent_seats(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("seat", 2)))
    assert venue.names_of(hold) == ["Stalls A 3", "Stalls A 4"]
    assert hold.is_adjacent
    assert [line.quantity for line in hold.lines] == [1, 1]
    assert {line.ticket_type_id for line in hold.lines} == {venue.ticket_types["seat"]}


def test_concurrent_callers_get_different_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    found = seats_of(venue, [engine.submit(venue.place(("seat", 2))) for _ in range(8)])
    names = [name for seats in found if seats for name in seats]
    assert sorted(names) == sorted(venue.places), "a seat was given twice"


def test_callers_who_find_no_seats_are_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    outcomes = [
        future.result(60).outcome
        for future in [engine.submit(venue.place(("seat", 3))) for _ in range(9)]
    ]
    assert sum(isinstance(outcome, Placed) for outcome in outcomes) == 5
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    assert {refusal.code for refusal in refusals} == {RefusalCode.INSUFFICIENT_INVENTORY}
    assert {refusal.message for refusal in refusals} == {
        "Not enough seats available. Requested: 3, Available: 1"
    }
    assert refusals[0].details == {"requested_quantity": 3, "available_quantity": 1}
    placed(engine, venue.place(("seat", 1)))
    refusal = refused(engine, venue.place(("seat", 1)))
    assert refusal.code is RefusalCode.NO_AVAILABLE_SEATS
    assert refusal.details["available_quantity"] == 0


def test_separated_seats_are_not_reported_as_adjacent(world: World, engine: Admission) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 2, "B": 2}}, SEATED))
    assert placed(engine, venue.place(("seat", 3))).is_adjacent is False


def test_two_adults_and_two_children_sit_together(world: World, engine: Admission) -> None:
    venue = theatre(world)
    family = placed(engine, venue.place(("seat", 2), ("child", 2)))
    assert family.is_adjacent
    types = [line.ticket_type_id for line in family.lines]
    adult, child = venue.ticket_types["seat"], venue.ticket_types["child"]
    assert types == [adult, adult, child, child]


def test_one_hold_can_mix_named_seats_best_seats_and_general_admission(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    mixed = placed(engine, venue.place(venue.these("Stalls A 3"), ("seat", 2), ("standing", 3)))
    assert venue.names_of(mixed) == ["Stalls A 3", "Stalls A 1", "Stalls A 2"]
    refusal = refused(engine, venue.place(("seat", 2), ("standing", 8)))
    assert refusal.details == {"available_quantity": 7}
    assert sum(seat.status == "held" for seat in world.seats(venue).values()) == 3


def test_best_seats_come_from_the_requested_block_only(world: World, engine: Admission) -> None:
    venue = theatre(world)
    in_balcony = venue.place(venue.some("seat", 3, block="Balcony"))
    assert {name.split()[0] for name in venue.names_of(placed(engine, in_balcony))} == {"Balcony"}
    more = refused(engine, venue.place(venue.some("seat", 3, block="Balcony")))
    assert more.details == {"requested_quantity": 3, "available_quantity": 1}
    other = theatre(world)
    foreign = venue.place(other.some("seat", 1))
    assert refused(engine, foreign).code is RefusalCode.INVALID_TICKET_TYPE
    nowhere = venue.some("seat", 1)
    nowhere = type(nowhere)(
        nowhere.ticket_type_id, nowhere.quantity, None, BlockId(venue.session_id)
    )
    assert refused(engine, venue.place(nowhere)).code is RefusalCode.INVALID_BLOCK


def test_items_for_one_block_are_served_before_others(world: World, engine: Admission) -> None:
    """The party that can sit anywhere leaves the block's last seats to the one that cannot."""
    venue = theatre(world, Hall({"Stalls": {"A": 2}, "Balcony": {"B": 2}}, SEATED))
    both = venue.place(venue.some("child", 2), venue.some("seat", 2, block="Stalls"))
    assert venue.names_of(placed(engine, both)) == [
        "Balcony B 1",
        "Balcony B 2",
        "Stalls A 1",
        "Stalls A 2",
    ]


def test_accessible_seats_go_only_to_buyers_who_ask(world: World, engine: Admission) -> None:
    hall = Hall(
        {"Stalls": {"A": 6, "B": 4}},
        SEATED,
        accessible=frozenset({"Stalls A 3"}),
        companion=frozenset({"Stalls A 4"}),
    )
    venue = theatre(world, hall)
    assert venue.names_of(placed(engine, venue.place(("seat", 3)))) == [
        "Stalls B 1",
        "Stalls B 2",
        "Stalls B 3",
    ]
    two = venue.place(venue.some("seat", 2, accessible=1))
    assert venue.names_of(placed(engine, two)) == ["Stalls A 3", "Stalls A 4"]
    none = refused(engine, venue.place(venue.some("seat", 1, accessible=1)))
    assert none.code is RefusalCode.NO_AVAILABLE_SEATS
    assert none.details == {"requested_quantity": 1, "available_quantity": 0}


def test_seats_of_an_expired_hold_are_found_and_it_ends(world: World, engine: Admission) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 3}}, SEATED))
    old = placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 3)))
    refused(engine, venue.place(("seat", 2)))
    world.let_pass(venue, 601)
    new = placed(engine, venue.place(("seat", 3)))
    assert world.holds(venue)[old.id].status == "expired"
    assert world.pool(venue.pools["floor"]).held == 0
    assert {seat.hold_id for seat in world.seats(venue).values()} == {new.id}


def test_seats_freed_in_a_burst_are_found_in_the_same_burst(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 3}}, SEATED))
    for _ in range(10):
        hold = placed(engine, venue.place(("seat", 3)))
        futures = [engine.submit(venue.release(hold.id))]
        futures += [engine.submit(venue.place(("seat", count))) for count in (3, 1)]
        _, taken, too_late = (future.result(60).outcome for future in futures)
        assert isinstance(taken, Placed)
        assert isinstance(too_late, Refusal)
        ask(engine, venue.release(taken.hold.id))


def test_unblocked_seats_are_found_in_the_same_burst(world: World, engine: Admission) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 3}}, SEATED))
    ask(engine, venue.block(*venue.places))
    engine.submit(venue.unblock(*venue.places))
    placed(engine, venue.place(("seat", 3)))


def test_blocked_and_sold_seats_are_never_found(world: World, engine: Admission) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 4}}, SEATED))
    ask(engine, venue.block("Stalls A 2"))
    world.sell(placed(engine, venue.seats("Stalls A 3")))
    refusal = refused(engine, venue.place(("seat", 3)))
    assert refusal.details["available_quantity"] == 2
    assert venue.names_of(placed(engine, venue.place(("seat", 2)))) == ["Stalls A 1", "Stalls A 4"]


def test_a_block_never_exceeds_its_capacity(world: World, engine: Admission) -> None:
    venue = capped(world, 4)
    first = placed(engine, venue.seats("Stalls A 1", "Stalls A 2", "Stalls A 3"))
    refusal = refused(engine, venue.seats("Stalls A 4", "Stalls A 5", holder=STRANGER))
    assert refusal.code is RefusalCode.BLOCK_AT_CAPACITY
    assert refusal.details == {"block_name": "Stalls", "available_quantity": 1}
    found = refused(engine, venue.place(("seat", 2)))
    assert (found.code, found.details) == (refusal.code, refusal.details)
    placed(engine, venue.seats("Stalls A 4", holder=STRANGER))
    assert refused(engine, venue.place(("seat", 1))).code is RefusalCode.BLOCK_AT_CAPACITY
    assert world.pool(venue.pools["Stalls capacity"]).free == 0
    world.sell(first)
    pool = world.pool(venue.pools["Stalls capacity"])
    assert (pool.held, pool.sold) == (1, 3)
    assert refused(engine, venue.seats("Stalls A 5")).code is RefusalCode.BLOCK_AT_CAPACITY


def test_capacity_of_expired_holds_goes_to_the_next_buyer(world: World, engine: Admission) -> None:
    venue = capped(world, 2)
    old = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    world.let_pass(venue, 601)
    placed(engine, venue.seats("Stalls A 5", holder=STRANGER))
    assert world.holds(venue)[old.id].status == "expired"
    assert world.pool(venue.pools["Stalls capacity"]).held == 1


def test_the_search_continues_beyond_a_full_block(world: World, engine: Admission) -> None:
    venue = capped(world, 3, Balcony={"B": 6})
    found = seats_of(venue, [engine.submit(venue.place(("seat", 2))) for _ in range(4)])
    blocks = [sorted({name.split()[0] for name in seats}) for seats in found if seats]
    assert sorted(blocks) == [["Balcony"]] * 3 + [["Stalls"]]
    last = placed(engine, venue.place(("seat", 1)))
    assert venue.names_of(last)[0].startswith("Stalls")
    refusal = refused(engine, venue.place(("seat", 1)))
    assert refusal.code is RefusalCode.NO_AVAILABLE_SEATS, "the request named no block"
    refusal = refused(engine, venue.place(venue.some("seat", 1, block="Stalls")))
    assert refusal.code is RefusalCode.BLOCK_AT_CAPACITY


def test_named_seats_count_against_the_capacity_left_for_best_seats(
    world: World, engine: Admission
) -> None:
    venue = capped(world, 2, Balcony={"B": 4})
    hold = placed(engine, venue.place(venue.these("Stalls A 1"), ("seat", 2)))
    assert venue.names_of(hold) == ["Stalls A 1", "Balcony B 1", "Balcony B 2"]
    in_stalls = venue.some("seat", 1, block="Stalls")
    apart = placed(engine, venue.place(in_stalls, ("child", 1), holder=STRANGER))
    assert [name.split()[0] for name in venue.names_of(apart)] == ["Stalls", "Balcony"]


@pytest.mark.alone
def test_named_seats_over_capacity_are_refused_though_other_seats_are_free(
    world: World, engine: Admission
) -> None:
    venue = capped(world, 1, Balcony={"B": 4})
    started = time.monotonic()
    command = venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("seat", 1))
    assert refused(engine, command).code is RefusalCode.BLOCK_AT_CAPACITY
    assert time.monotonic() - started < 2


def test_a_refusal_for_taken_seats_offers_an_alternative_on_request(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Stalls A 3", holder=STRANGER))
    wanted = venue.seats("Stalls A 3", "Stalls A 4", wants_alternative=True)
    alternative = refused(engine, wanted).details["alternative"]
    assert isinstance(alternative, dict)
    expected = venue.seat_ids("Stalls A 1", "Stalls A 2")
    assert alternative["seat_ids"] == [str(seat_id) for seat_id in expected]
    assert alternative["adjacent"] is True
    assert isinstance(alternative["seats"], list)
    assert alternative["seats"][0] == {
        "seat_id": str(expected[0]),
        "block_name": "Stalls",
        "row": "A",
        "seat_number": "1",
    }
    assert "alternative" not in refused(engine, venue.seats("Stalls A 3")).details
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))


@pytest.mark.parametrize(
    ("free", "is_adjacent"),
    [
        (("Stalls A 3", "Stalls A 4"), True),
        (("Stalls A 2", "Stalls A 4"), False),
        (("Stalls A 4", "Stalls B 1"), False),
    ],
)
def test_an_alternative_says_whether_its_seats_are_adjacent(
    world: World, engine: Admission, free: tuple[str, ...], is_adjacent: bool
) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 4, "B": 4}}, SEATED))
    taken = [name for name in venue.places if name not in free]
    placed(engine, venue.seats(*taken, holder=STRANGER))
    wanted = venue.seats(*taken[:2], wants_alternative=True)
    alternative = refused(engine, wanted).details["alternative"]
    assert isinstance(alternative, dict)
    assert alternative["seat_ids"] == [str(seat_id) for seat_id in venue.seat_ids(*free)]
    assert alternative["adjacent"] is is_adjacent


@pytest.mark.parametrize("blocks", [("Stalls", "Balcony"), ("Balcony", "Stalls")])
def test_an_alternative_is_in_the_block_of_the_first_seat_if_possible(
    world: World, engine: Admission, blocks: tuple[str, str]
) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 4}, "Balcony": {"A": 4}}, SEATED))
    names = [f"{block} A 1" for block in blocks]
    placed(engine, venue.seats(*names, holder=STRANGER))
    alternative = refused(engine, venue.seats(*names, wants_alternative=True)).details[
        "alternative"
    ]
    assert isinstance(alternative, dict)
    assert isinstance(alternative["seats"], list)
    assert [seat["block_name"] for seat in alternative["seats"]] == [blocks[0]] * 2  # type: ignore[call-overload, index]


def test_an_alternative_is_not_in_a_block_of_unknown_capacity(
    world: World, engine: Admission
) -> None:
    hall = Hall({"Stalls": {"A": 2}, "Balcony": {"B": 1}}, SEATED, capacities={"Stalls": 2})
    venue = theatre(world, hall)
    placed(engine, venue.seats("Balcony B 1", holder=STRANGER))
    wanted = venue.seats("Balcony B 1", wants_alternative=True)
    with world.locked_elsewhere(venue, venue.pools["Stalls capacity"]):
        assert "alternative" not in refused(engine, wanted).details
    assert "alternative" in refused(engine, wanted).details


def test_a_refusal_offers_no_alternative_when_none_is_left(world: World, engine: Admission) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 3}}, SEATED))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
    wanted = venue.seats("Stalls A 1", "Stalls A 2", wants_alternative=True)
    assert refused(engine, wanted).details.get("alternative") is None


@pytest.mark.alone
def test_the_search_skips_seats_locked_elsewhere_without_waiting(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Balcony C 4"))
    with world.seats_locked_elsewhere(venue, "Stalls A 3", "Stalls A 4"):
        started = time.monotonic()
        holds = [placed(engine, venue.place(("seat", 2))) for _ in range(3)]
        # Waiting for the lock would take a lock timeout each.
        assert time.monotonic() - started < 0.75
    names = [name for hold in holds for name in venue.names_of(hold)]
    assert len(set(names)) == 6
    assert not {"Stalls A 3", "Stalls A 4"} & set(names)


@pytest.mark.alone
def test_a_seat_locked_elsewhere_delays_only_buyers_who_name_it(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    with world.seats_locked_elsewhere(venue, "Stalls A 1"):
        waiting = [
            engine.submit(venue.seats("Stalls A 1", "Stalls A 2", holder=Holder(user_id=f"u{n}")))
            for n in range(3)
        ]
        started = time.monotonic()
        for number in range(1, 7):
            placed(engine, venue.seats(f"Stalls B {number}"))
        assert time.monotonic() - started < 1.5
        assert not any(future.done() for future in waiting)
    won = [isinstance(future.result(60).outcome, Placed) for future in waiting]
    assert won == [True, False, False], "in the order of arrival"


@pytest.mark.parametrize("is_taken", [False, True])
def test_sold_out_is_reported_only_after_waiting_for_locked_seats(
    world: World, engine: Admission, is_taken: bool
) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 2}}, SEATED))
    placed(engine, venue.seats("Stalls A 1"))
    with world.seats_locked_elsewhere(venue, "Stalls A 2"):
        patient = engine.submit(venue.place(("seat", 1), holder=STRANGER))
        first = engine.submit(venue.seats("Stalls A 2")) if is_taken else None
        time.sleep(0.6)
        assert not patient.done()
    outcome = patient.result(60).outcome
    if first is None:
        assert isinstance(outcome, Placed)
        return
    winners = [isinstance(each, Placed) for each in (outcome, first.result(60).outcome)]
    assert sorted(winners) == [False, True]


@pytest.mark.alone
def test_a_request_sent_twice_at_once_gets_seats_once(world: World, engine: Admission) -> None:
    venue = theatre(world, Hall({"Stalls": {"A": 3}}, SEATED))
    command = venue.place(("seat", 2), hold_id=HoldId(uuid4()))
    started = time.monotonic()
    found = seats_of(venue, [engine.submit(command) for _ in range(10)])
    assert time.monotonic() - started < 2
    assert found == [["Stalls A 1", "Stalls A 2"]] * 10
    assert list(world.holds(venue)) == [command.hold_id]
