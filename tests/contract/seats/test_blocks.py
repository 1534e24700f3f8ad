"""Operators block seats and unblock them, on every store."""

from collections import Counter
from dataclasses import replace
from uuid import uuid4

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Placed, SeatsBlocked
from holdfast.domain.ids import SessionId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.seats.block_seats import BlockSeats
from holdfast.engine import Admission
from tests.contract.asking import ask, placed, refused
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 4})


def theatre(world: World) -> Venue:
    return world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=HALL))


def blocked(engine: Admission, command: BlockSeats) -> SeatsBlocked:
    outcome = ask(engine, command)
    assert isinstance(outcome, SeatsBlocked), outcome
    return outcome


def test_a_free_seat_can_be_blocked_and_unblocked(world: World, engine: Admission) -> None:
    venue = theatre(world)
    done = blocked(engine, venue.block("Stalls A 1", "Stalls A 2", reason="camera"))
    assert [seat.id for seat in done.changed] == list(venue.seat_ids("Stalls A 1", "Stalls A 2"))
    assert (done.unchanged, done.ended) == ((), ())
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("blocked", None, 2, "camera")
    refused(engine, venue.seats("Stalls A 1"))
    blocked(engine, venue.unblock("Stalls A 1"))
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("available", None, 3)
    placed(engine, venue.seats("Stalls A 1"))
    a1, a2 = venue.seat_ids("Stalls A 1", "Stalls A 2")
    assert [fact[:1] + fact[2:] for fact in world.facts(venue)][:3] == [
        ("seat.blocked", 2, a1),
        ("seat.blocked", 2, a2),
        ("seat.unblocked", 3, a1),
    ]
    assert [tuple(row) for row in world.audit(venue)][:3] == [
        ("seat.blocked", None, "test", "available", "blocked", a1),
        ("seat.blocked", None, "test", "available", "blocked", a2),
        ("seat.unblocked", None, "test", "blocked", "available", a1),
    ]


def test_blocking_a_held_seat_ends_its_hold(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 3)))
    done = blocked(engine, venue.block("Stalls A 1"))
    assert done.ended == (hold.id,)
    seats = world.seats(venue)
    assert seats["Stalls A 1"] == SeatSeen("blocked", None, 4, "broken")
    assert seats["Stalls A 2"] == SeatSeen("available", None, 3)
    assert world.holds(venue)[hold.id].status == "cancelled"
    assert world.pool(venue.pools["floor"]).held == 0
    assert world.pool(venue.pools["Stalls capacity"]).held == 0
    a1, a2 = venue.seat_ids("Stalls A 1", "Stalls A 2")
    assert Counter(world.facts(venue)[3:]) == Counter(
        [
            ("hold.cancelled", hold.id, 2, None),
            ("seat.released", hold.id, 2, a1),
            ("seat.released", hold.id, 2, a2),
            ("seat.blocked", None, 4, a1),
        ]
    )
    assert [tuple(row) for row in world.audit(venue)][3:] == [
        ("hold.cancelled", hold.id, "test", "active", "cancelled", None),
        ("seat_released", hold.id, "test", "held", "available", a1),
        ("seat_released", hold.id, "test", "held", "available", a2),
        ("seat.blocked", None, "test", "held", "blocked", a1),
    ]
    refusal = refused(engine, venue.release(hold.id))
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE


def test_blocking_a_seat_expires_the_lapsed_hold_on_it(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    world.let_pass(venue, 601)
    blocked(engine, venue.block("Stalls A 2"))
    assert world.holds(venue)[hold.id].status == "expired"
    assert world.seats(venue)["Stalls A 1"].status == "available"


def test_blocking_several_seats_ends_each_of_their_holds_once(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    first = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    second = placed(engine, venue.seats("Stalls A 3", holder=STRANGER))
    names = [f"Stalls A {number}" for number in range(1, 5)]
    done = blocked(engine, venue.block(*names))
    assert set(done.ended) == {first.id, second.id}
    assert {world.seats(venue)[name].status for name in names} == {"blocked"}


def test_a_blocked_sold_seat_is_sold_again_after_unblocking(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    world.sell(hold)
    done = blocked(engine, venue.block("Stalls A 1"))
    assert done.ended == ()
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("blocked", hold.id, 4, "broken")
    blocked(engine, venue.unblock("Stalls A 1"))
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("sold", hold.id, 5)
    refusal = refused(engine, venue.seats("Stalls A 1", holder=STRANGER))
    assert refusal.details["current_status"] == "sold"
    assert world.holds(venue)[hold.id].status == "converted"


def test_blocking_twice_changes_nothing(world: World, engine: Admission) -> None:
    venue = theatre(world)
    blocked(engine, venue.block("Stalls A 1", reason="camera"))
    done = blocked(engine, venue.block("Stalls A 1", "Stalls A 2", reason="rain"))
    assert done.unchanged == venue.seat_ids("Stalls A 1")
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("blocked", None, 2, "camera")
    lifted = blocked(engine, venue.unblock("Stalls A 2", "Stalls A 3"))
    assert lifted.unchanged == venue.seat_ids("Stalls A 3")
    assert [fact.type for fact in world.facts(venue)] == [
        "seat.blocked",
        "seat.blocked",
        "seat.unblocked",
    ]


def test_block_and_hold_commands_of_one_burst_run_in_order(world: World, engine: Admission) -> None:
    venue = theatre(world)
    commands: list[Command] = [
        venue.seats("Stalls A 1"),
        venue.block("Stalls A 1"),
        venue.seats("Stalls A 1", holder=STRANGER),
        venue.unblock("Stalls A 1"),
        venue.seats("Stalls A 1", holder=STRANGER),
    ]
    outcomes = [future.result(60).outcome for future in [engine.submit(c) for c in commands]]
    kinds = [type(outcome).__name__ for outcome in outcomes]
    assert kinds == ["Placed", "SeatsBlocked", "Refusal", "SeatsBlocked", "Placed"]
    held = outcomes[0]
    assert isinstance(held, Placed)
    assert world.holds(venue)[held.hold.id].status == "cancelled"


def test_unknown_seats_fail_the_whole_block_command(world: World, engine: Admission) -> None:
    venue, other = theatre(world), theatre(world)
    command = venue.block("Stalls A 1")
    mixed = replace(command, seat_ids=(*command.seat_ids, *other.seat_ids("Stalls A 1")))
    assert refused(engine, mixed).code is RefusalCode.INVALID_SEAT
    lost = replace(command, session_id=SessionId(uuid4()))
    assert refused(engine, lost).code is RefusalCode.SESSION_NOT_FOUND
    for each in (venue, other):
        assert set(world.seats(each).values()) == {SeatSeen("available")}
        assert world.facts(each) == []


def test_all_seats_of_a_block_can_be_blocked_whatever_its_capacity(
    world: World, engine: Admission
) -> None:
    """A blocked seat does not use capacity."""
    venue = theatre(world)
    blocked(engine, venue.block(*venue.places))
    assert world.pool(venue.pools["Stalls capacity"]).free == 4
