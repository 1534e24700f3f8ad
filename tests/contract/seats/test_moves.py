"""Moving a hold to other seats: all or nothing, at the same price and until the same time. Runs on
every store."""

from uuid import uuid4

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import HoldId, OrganizationId, SeatId, SessionId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.move_seats import SEATS_MOVED_MAX, MoveSeats
from holdfast.domain.values import InvalidValue
from holdfast.engine import Admission
from tests.contract.asking import ask, in_one_group, placed, refused, waiting
from tests.contract.seen import World
from tests.contract.venues import BUYER, ORIGIN, STRANGER, Hall, Plan, Venue

HALL = Hall(
    {"Stalls": {"A": 6}, "Balcony": {"C": 4}, "Gallery": {"G": 2}},
    {"seat": (), "junior": ("children",), "gallery": ()},
    capacities={"Stalls": 4, "Balcony": 3},
    sold_in={"Stalls": ("seat", "junior"), "Balcony": ("seat",), "Gallery": ("gallery",)},
)


def theatre(world: World, policy: HoldPolicy | None = None, hall: Hall = HALL) -> Venue:
    plan = Plan(
        {"floor": 4, "children": 4}, {"standing": ("floor",)}, policy or HoldPolicy(), hall=hall
    )
    return world.build(plan)


def moved(engine: Admission, command: MoveSeats) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Placed), outcome
    return outcome.hold


def test_a_hold_gets_other_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 2)))
    after = moved(engine, venue.move(hold.id, {"Stalls A 1": "Balcony C 3"}))
    assert set(venue.names_of(after)) == {"Stalls A 2", "Balcony C 3"}
    assert world.hold(venue, hold.id) == after
    assert after.quantity == 4
    seats = world.seats(venue)
    assert seats["Stalls A 1"].status == "available"
    assert (seats["Balcony C 3"].status, seats["Balcony C 3"].hold_id) == ("held", hold.id)
    for pool, held in (("Stalls capacity", 1), ("Balcony capacity", 1), ("floor", 2)):
        assert world.pool(venue.pools[pool]).held == held
        assert world.lapse(venue.pools[pool]) == {hold.expires_at: held}


def test_time_and_price_stay(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1", price=1234)))
    world.let_pass(venue, 300)
    after = moved(engine, venue.move(hold.id, {"Stalls A 1": "Balcony C 1"}))
    before = world.hold(venue, hold.id)
    assert after.total_minor == 1234
    assert (after.expires_at, after.warn_at) == (before.expires_at, before.warn_at)
    assert (after.held_at, after.extensions) == (before.held_at, 0)
    assert world.held_until(venue)["Balcony C 1"] == after.expires_at


def test_the_facts_and_the_audit_tell_of_both_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    moved(engine, venue.move(hold.id, {"Stalls A 1": "Stalls A 3"}))
    old, new = venue.seat_ids("Stalls A 1", "Stalls A 3")
    assert world.facts(venue)[facts:] == [
        ("hold.changed", hold.id, 2, None),
        ("seat.released", hold.id, 2, old),
        ("seat.held", hold.id, 2, new),
    ]
    assert [(each.action, each.seat_id) for each in world.audit(venue)[audit:]] == [
        ("hold.changed", None),
        ("seat_released", old),
        ("seat_reserved", new),
    ]
    released = [each for type_, each in world.payloads(venue) if type_ == "seat.released"]
    assert released[-1]["reason"] == "operator"


def test_a_cart_keeps_its_items(world: World, engine: Admission) -> None:
    venue = theatre(world)
    items = {"one": venue.these("Stalls A 1"), "two": venue.these("Stalls A 2")}
    cart = placed(engine, venue.fill("cart", items))
    moves = {"Stalls A 1": "Stalls A 5", "Stalls A 2": "Stalls A 6"}
    after = moved(engine, venue.move(cart.id, moves))
    shown = {line.item and line.item.id: line.seat and line.seat.number for line in after.lines}
    assert shown == {"one": "5", "two": "6"}
    assert after.cart == "cart"


def test_a_seat_that_another_buyer_has_is_refused_and_nothing_moves(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    placed(engine, venue.seats("Stalls A 3", holder=STRANGER))
    moves = {"Stalls A 1": "Stalls A 4", "Stalls A 2": "Stalls A 3"}
    refusal = refused(engine, venue.move(hold.id, moves))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER
    assert world.hold(venue, hold.id) == hold
    assert world.seats(venue)["Stalls A 4"].status == "available"


def test_a_seat_in_another_hold_of_the_same_buyer_is_refused(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    placed(engine, venue.seats("Stalls A 2"))
    refusal = refused(engine, venue.move(hold.id, {"Stalls A 1": "Stalls A 2"}))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS


def test_blocked_seats_are_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    ask(engine, venue.block("Stalls A 2"))
    refusal = refused(engine, venue.move(hold.id, {"Stalls A 1": "Stalls A 2"}))
    assert refusal.code is RefusalCode.SEAT_NOT_AVAILABLE


def test_a_seat_that_is_not_sold_as_the_ticket_type_is_refused(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1", ticket_type="junior")))
    for name in ("Balcony C 1", "Gallery G 1"):
        refusal = refused(engine, venue.move(hold.id, {"Stalls A 1": name}))
        assert refusal.code is RefusalCode.INVALID_TICKET_TYPE
    assert world.hold(venue, hold.id) == hold


def test_seats_of_other_sessions_and_seats_that_the_hold_lacks_or_has_are_refused(
    world: World, engine: Admission
) -> None:
    venue, other = theatre(world), theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    (own,), (foreign,) = venue.seat_ids("Stalls A 1"), other.seat_ids("Stalls A 3")
    ids = (venue.organization_id, venue.session_id, hold.id)
    elsewhere = MoveSeats(*ids, ((own, foreign),), ORIGIN)
    for command in (
        elsewhere,
        venue.move(hold.id, {"Stalls A 3": "Stalls A 4"}),
        venue.move(hold.id, {"Stalls A 1": "Stalls A 2"}),
    ):
        assert refused(engine, command).code is RefusalCode.INVALID_SEAT
    for command in (
        venue.move(HoldId(uuid4()), {"Stalls A 1": "Stalls A 4"}),
        other.move(hold.id, {"Stalls A 1": "Stalls A 4"}),
    ):
        assert refused(engine, command).code is RefusalCode.HOLD_NOT_FOUND
    assert world.hold(venue, hold.id) == hold


def test_a_full_block_is_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    full = ("Balcony C 1", "Balcony C 2", "Balcony C 3")
    placed(engine, venue.seats(*full, holder=STRANGER))
    refusal = refused(engine, venue.move(hold.id, {"Stalls A 1": "Balcony C 4"}))
    assert refusal.code is RefusalCode.BLOCK_AT_CAPACITY


def test_within_a_full_block_a_hold_can_still_move(world: World, engine: Admission) -> None:
    venue = theatre(world)
    names = [f"Stalls A {number}" for number in range(1, 5)]
    hold = placed(engine, venue.seats(*names))
    after = moved(engine, venue.move(hold.id, {"Stalls A 1": "Stalls A 6"}))
    assert "Stalls A 6" in venue.names_of(after)


def test_the_next_party_on_the_waitlist_gets_the_old_seat(world: World, engine: Admission) -> None:
    hall = Hall(
        {"Stalls": {"A": 1}, "Balcony": {"C": 1}},
        {"seat": (), "front": ()},
        sold_in={"Stalls": ("seat", "front"), "Balcony": ("seat",)},
    )
    venue = theatre(world, HoldPolicy(waitlist=True), hall)
    hold = placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    party = waiting(engine, venue.place(venue.some("front", 1)))
    moved(engine, venue.move(hold.id, {"Stalls A 1": "Balcony C 1"}))
    after = world.hold(venue, party.id)
    assert after.status is HoldStatus.ACTIVE
    assert venue.names_of(after) == ["Stalls A 1"]


def test_only_active_holds_move(world: World, engine: Admission) -> None:
    venue = theatre(world)
    released, paid, lapsed = (
        placed(engine, venue.seats(f"Stalls A {number}")) for number in (1, 2, 3)
    )
    ask(engine, venue.release(released.id))
    ask(engine, venue.convert(paid.id))
    for hold, name in ((released, "Stalls A 1"), (paid, "Stalls A 2")):
        refusal = refused(engine, venue.move(hold.id, {name: "Stalls A 6"}))
        assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    world.let_pass(venue, 601)
    refusal = refused(engine, venue.move(lapsed.id, {"Stalls A 3": "Stalls A 6"}))
    assert refusal.code is RefusalCode.HOLD_EXPIRED


def test_a_lapsed_hold_makes_room(world: World, engine: Admission) -> None:
    venue = theatre(world)
    lapsed = placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    world.let_pass(venue, 601)
    hold = placed(engine, venue.seats("Stalls A 1"))
    after = moved(engine, venue.move(hold.id, {"Stalls A 1": "Stalls A 2"}))
    assert venue.names_of(after) == ["Stalls A 2"]
    assert world.hold(venue, lapsed.id).status is HoldStatus.EXPIRED


def test_of_two_holds_that_move_to_one_seat_in_a_group_the_first_gets_it(world: World) -> None:
    venue = theatre(world)
    ids = [HoldId(uuid4()) for _ in range(2)]
    outcomes = in_one_group(
        world.store,
        venue.seats("Stalls A 1", hold_id=ids[0], holder=BUYER),
        venue.seats("Stalls A 2", hold_id=ids[1], holder=STRANGER),
    )
    assert all(isinstance(each, Placed) for each in outcomes)
    first, second = in_one_group(
        world.store,
        venue.move(ids[0], {"Stalls A 1": "Stalls A 3"}),
        venue.move(ids[1], {"Stalls A 2": "Stalls A 3"}),
    )
    assert isinstance(first, Placed)
    assert isinstance(second, Refusal)
    assert second.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_a_cancelled_event_refuses(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    world.set_status(venue, EventStatus.CANCELLED)
    refusal = refused(engine, venue.move(hold.id, {"Stalls A 1": "Stalls A 2"}))
    assert refusal.code is RefusalCode.EVENT_UNAVAILABLE


def some_pairs(count: int) -> tuple[tuple[SeatId, SeatId], ...]:
    return tuple((SeatId(uuid4()), SeatId(uuid4())) for _ in range(count))


OLD, NEW = (SeatId(uuid4()) for _ in range(2))


@pytest.mark.parametrize(
    "moves",
    [
        (),
        some_pairs(SEATS_MOVED_MAX + 1),
        ((OLD, NEW), (NEW, NEW)),
        ((OLD, OLD), (OLD, NEW)),
    ],
    ids=["none", "too many", "one to two", "two to one"],
)
def test_each_seat_is_named_once_and_there_are_not_too_many(
    moves: tuple[tuple[SeatId, SeatId], ...],
) -> None:
    ids = (OrganizationId(uuid4()), SessionId(uuid4()), HoldId(uuid4()))
    with pytest.raises(InvalidValue):
        MoveSeats(*ids, moves, ORIGIN)
