"""Holding seats by name, on every store."""

import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.catalog.model import SaleTerms
from holdfast.domain.group.outcomes import NOTHING_MORE, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import SeatAsk
from holdfast.domain.ids import HoldId, SeatId, SessionKey
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from tests.contract.asking import ask, placed, refused
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6, "B": 6}, "Balcony": {"C": 4}}, {"seat": (), "child": ()})


def theatre(world: World) -> Venue:
    return world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=HALL))


def test_a_hold_of_seats_lists_and_takes_them(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 3", "Stalls A 2"))
    assert [(seat.block_name, seat.row, seat.number) for seat in hold.seats] == [
        ("Stalls", "A", "3"),
        ("Stalls", "A", "2"),
    ]
    assert (hold.quantity, hold.total.minor, hold.is_adjacent) == (2, 9000, True)
    seats = world.seats(venue)
    assert seats["Stalls A 2"] == seats["Stalls A 3"] == SeatSeen("held", hold.id, 2)
    assert Counter(seat.status for seat in seats.values()) == {"held": 2, "available": 14}


@pytest.mark.parametrize(
    ("names", "is_adjacent"),
    [
        (("Stalls A 2",), True),
        (("Stalls A 4", "Stalls A 2", "Stalls A 3"), True),
        (("Stalls A 2", "Stalls A 4"), False),
        (("Stalls A 2", "Stalls B 3"), False),
        (("Stalls A 2", "Balcony C 3"), False),
    ],
)
def test_adjacency_is_reported_correctly(
    world: World, engine: Admission, names: tuple[str, ...], is_adjacent: bool
) -> None:
    venue = theatre(world)
    assert placed(engine, venue.seats(*names)).is_adjacent is is_adjacent


def test_only_a_request_for_best_seats_reads_the_whole_hall(world: World) -> None:
    venue = theatre(world)
    connection = world.store.connect()

    def sessions_looked_at(command: PlaceHold) -> set[SessionKey]:
        survey = connection.survey(command.needs(NOTHING_MORE))
        return {*survey.seatings, *survey.unread}

    assert sessions_looked_at(venue.seats("Stalls A 1")) == set()
    assert sessions_looked_at(venue.place(("standing", 1))) == set()
    assert sessions_looked_at(venue.place(("seat", 1))) == {venue.seats("Stalls A 1").session_key}
    connection.close()


def test_an_expired_hold_frees_its_places_once(world: World, engine: Admission) -> None:
    venue = world.build(Plan({"floor": 2}, {"standing": ("floor",)}, hall=HALL))
    both = venue.place(venue.these("Stalls A 1"), ("standing", 1), holder=STRANGER)
    older = placed(engine, both)
    world.let_pass(venue, 5)
    younger = placed(engine, venue.place(("standing", 1), holder=STRANGER))
    world.let_pass(venue, 601)
    hold = placed(engine, venue.place(venue.these("Stalls A 1"), ("standing", 2)))
    seen = world.holds(venue)
    assert [seen[each.id].status for each in (older, younger)] == ["expired", "expired"]
    assert world.hold(venue, hold.id) == hold
    assert world.pool(venue.pools["floor"]).held == 2


def test_seats_across_an_aisle_are_not_adjacent(world: World, engine: Admission) -> None:
    hall = Hall({"Stalls": {"A": 6}}, {"seat": ()}, aisles_after=frozenset({3}))
    venue = world.build(Plan({}, {}, hall=hall))
    assert placed(engine, venue.seats("Stalls A 2", "Stalls A 3")).is_adjacent
    assert not placed(engine, venue.seats("Stalls A 4", "Stalls A 6")).is_adjacent
    other = world.build(Plan({}, {}, hall=hall))
    assert not placed(engine, other.seats("Stalls A 3", "Stalls A 4")).is_adjacent


def test_seats_and_general_admission_are_all_or_nothing(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seats = venue.these("Stalls A 1", "Stalls A 2")
    refusal = refused(engine, venue.place(seats, ("standing", 11)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("available")
    placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    refusal = refused(engine, venue.place(("standing", 2), seats))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER
    assert world.pool(venue.pools["floor"]).held == 0
    hold = placed(engine, venue.place(("standing", 2), venue.these("Stalls A 1")))
    assert [line.quantity for line in hold.lines] == [2, 1]
    assert world.pool(venue.pools["floor"]).held == 2


def test_a_refusal_lists_contested_seats_and_times_but_no_holder(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    world.let_pass(venue, 100)
    placed(engine, venue.seats("Stalls A 4", "Stalls A 5", holder=STRANGER))
    refusal = refused(engine, venue.seats(*(f"Stalls A {n}" for n in range(1, 5))))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER
    assert refusal.code.is_retryable
    contested = refusal.details["contested_seats"]
    assert isinstance(contested, list)
    seen = {entry["seat_id"]: entry["expires_in"] for entry in contested if isinstance(entry, dict)}
    assert set(seen) == {str(id_) for id_ in venue.seat_ids("Stalls A 2", "Stalls A 4")}
    soon, later = (seen[str(id_)] for id_ in venue.seat_ids("Stalls A 2", "Stalls A 4"))
    assert isinstance(soon, int)
    assert isinstance(later, int)
    assert 490 <= soon <= 501
    assert 590 <= later <= 601
    assert refusal.details["expires_in"] == later
    assert "stranger" not in str(refusal)
    assert str(STRANGER.key) not in str(refusal)
    assert Counter(seat.status for seat in world.seats(venue).values())["held"] == 3


def test_a_refusal_distinguishes_sold_and_blocked_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    world.sell(placed(engine, venue.seats("Stalls A 1", holder=STRANGER)))
    ask(engine, venue.block("Stalls A 2"))
    for name, status in (("Stalls A 1", "sold"), ("Stalls A 2", "blocked")):
        refusal = refused(engine, venue.seats(name))
        assert refusal.code is RefusalCode.SEAT_NOT_AVAILABLE
        assert refusal.details["current_status"] == status
    mine = placed(engine, venue.seats("Stalls B 1"))
    world.sell(mine)
    refusal = refused(engine, venue.seats("Stalls B 1"))
    assert refusal.details["current_status"] == "sold", "sold, even to the same buyer"


def test_requesting_your_own_seats_again_returns_your_hold(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1", "Stalls A 2", "Stalls A 3"))
    upper = Holder(EmailAddress("BUYER@example.com"))
    for command in (
        venue.seats("Stalls A 1", "Stalls A 2", "Stalls A 3"),
        venue.seats("Stalls A 3", "Stalls A 2", "Stalls A 1", holder=upper),
        replace(venue.seats("Stalls A 3"), is_reservation=True),
    ):
        again = ask(engine, command)
        assert isinstance(again, Placed)
        assert (again.hold, again.is_repeat) == (hold, True)
    assert len(world.facts(venue)) == 4
    refusal = refused(engine, venue.seats("Stalls A 1", holder=STRANGER))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_your_own_expired_seat_can_be_held_again(world: World, engine: Admission) -> None:
    venue = theatre(world)
    old = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 601)
    new = placed(engine, venue.seats("Stalls A 1"))
    assert new.id != old.id
    assert world.holds(venue)[old.id].status == "expired"


def test_concurrent_clicks_of_one_person_make_one_hold(world: World, engine: Admission) -> None:
    venue = theatre(world)
    futures = [engine.submit(venue.seats("Stalls A 1")) for _ in range(20)]
    outcomes = [future.result(60).outcome for future in futures]
    holds = {outcome.hold.id for outcome in outcomes if isinstance(outcome, Placed)}
    assert len(holds) == 1
    assert all(isinstance(outcome, Placed) for outcome in outcomes)
    assert list(world.holds(venue)) == list(holds)


def test_taking_a_seat_of_an_expired_hold_frees_everything_else_it_had(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    old = placed(
        engine,
        venue.place(venue.these("Stalls A 1", "Stalls B 6"), ("standing", 4), holder=STRANGER),
    )
    refused(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 601)
    new = placed(engine, venue.seats("Stalls A 1"))
    a1, b6 = venue.seat_ids("Stalls A 1", "Stalls B 6")
    assert Counter(world.facts(venue)[3:]) == Counter(
        [
            ("hold.expired", old.id, 2, None),
            ("seat.released", old.id, 2, a1),
            ("seat.released", old.id, 2, b6),
            ("hold.created", new.id, 1, None),
            ("seat.held", new.id, 1, a1),
        ]
    )
    assert world.facts(venue)[3].type == "hold.expired", "the old one ends before the new begins"
    seats = world.seats(venue)
    assert seats["Stalls A 1"] == SeatSeen("held", new.id, 4)
    assert seats["Stalls B 6"] == SeatSeen("available", None, 3)
    assert world.pool(venue.pools["floor"]).held == 0
    assert [(row.action, row.hold_id, row.seat_id) for row in world.audit(venue)][3:] == [
        ("hold.expired", old.id, None),
        ("seat_hold_expired", old.id, a1),
        ("seat_hold_expired", old.id, b6),
        ("hold.created", new.id, None),
        ("seat_reserved", new.id, a1),
    ]


def test_two_expired_holds_make_room_for_one(world: World, engine: Admission) -> None:
    venue = theatre(world)
    old = [placed(engine, venue.seats(f"Stalls A {n}", f"Stalls B {n}")) for n in (1, 2)]
    world.let_pass(venue, 601)
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
    assert {world.holds(venue)[hold.id].status for hold in old} == {"expired"}
    assert world.seats(venue)["Stalls B 2"].status == "available"


def test_a_released_or_expired_hold_frees_its_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    ask(engine, venue.release(placed(engine, venue.seats("Stalls A 1")).id))
    lapsed = placed(engine, venue.seats("Stalls A 2"))
    world.let_pass(venue, 601)
    ask(engine, venue.expire(lapsed.id))
    seats = world.seats(venue)
    assert seats["Stalls A 1"] == seats["Stalls A 2"] == SeatSeen("available", None, 3)
    a1, a2 = venue.seat_ids("Stalls A 1", "Stalls A 2")
    facts = [(fact.type, fact.seat_id) for fact in world.facts(venue) if fact.seat_id is not None]
    assert facts == [
        ("seat.held", a1),
        ("seat.released", a1),
        ("seat.held", a2),
        ("seat.released", a2),
    ]


def test_a_seat_can_change_holders_within_one_burst(world: World, engine: Admission) -> None:
    """In arrival order, as if they came one by one."""
    venue = theatre(world)
    first = placed(engine, venue.seats("Stalls A 1"))
    second = venue.seats("Stalls A 1", holder=STRANGER)
    futures = [
        engine.submit(command)
        for command in (
            venue.release(first.id),
            second,
            venue.seats("Stalls A 1"),
            venue.seats("Stalls A 1", holder=STRANGER),
        )
    ]
    _, taken, too_late, again = (future.result(60).outcome for future in futures)
    assert isinstance(taken, Placed)
    assert taken.hold.id == second.hold_id
    assert isinstance(too_late, Refusal)
    assert isinstance(again, Placed)
    assert again.hold.id == second.hold_id


def test_overlapping_selections_in_one_burst_get_all_their_seats_or_none(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    people = [Holder(user_id=f"user-{number}") for number in range(1, 6)]
    futures = [
        engine.submit(venue.seats(f"Stalls A {n}", f"Stalls A {n + 1}", holder=people[n - 1]))
        for n in range(1, 6)
    ]
    won = [isinstance(future.result(60).outcome, Placed) for future in futures]
    assert won == [True, False, True, False, True]
    assert all(seat.status == "held" for name, seat in world.seats(venue).items() if " A " in name)


def test_seats_of_another_session_or_organization_are_not_found(
    world: World, engine: Admission
) -> None:
    venue, other = theatre(world), theatre(world)
    for stranger in (other.these("Stalls A 1"), SeatAsk((SeatId(uuid4()),))):
        refusal = refused(engine, venue.place(venue.these("Stalls A 1"), stranger))
        assert refusal.code is RefusalCode.INVALID_SEAT
    assert set(world.seats(other).values()) == {SeatSeen("available")}
    assert set(world.seats(venue).values()) == {SeatSeen("available")}


def test_a_seat_is_sold_only_as_a_type_its_block_sells(world: World, engine: Admission) -> None:
    hall = Hall(HALL.blocks, HALL.seated, sold_in={"Balcony": ("child",)})
    venue = world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=hall))
    child, seat = venue.ticket_types["child"], venue.ticket_types["seat"]
    hold = placed(engine, venue.seats("Balcony C 1", "Stalls A 1"))
    assert [line.ticket_type_id for line in hold.lines] == [child, seat]
    for ticket_type in ("seat", "standing"):
        wrong = venue.place(venue.these("Balcony C 2", ticket_type=ticket_type))
        assert refused(engine, wrong).code is RefusalCode.INVALID_TICKET_TYPE
    cheap = venue.place(venue.these("Stalls A 2", ticket_type="child", price=1))
    assert placed(engine, cheap).lines[0].unit_price_minor == 1


def test_a_seated_ticket_type_can_have_a_quota(world: World, engine: Admission) -> None:
    hall = Hall({"Stalls": {"A": 6}}, {"seat": (), "child": ("children",)})
    venue = world.build(Plan({"children": 3}, {}, hall=hall))
    children = [venue.these(f"Stalls A {n}", ticket_type="child") for n in (1, 2, 3, 4)]
    refusal = refused(engine, venue.place(*children))
    assert refusal.details == {"available_quantity": 3}
    hold = placed(engine, venue.place(*children[:2], venue.these("Stalls A 3")))
    assert world.pool(venue.pools["children"]).held == 2
    world.let_pass(venue, 601)
    placed(engine, venue.place(venue.these("Stalls A 5", ticket_type="child"), holder=STRANGER))
    assert world.holds(venue)[hold.id].status == "active", "its places were not needed yet"
    placed(engine, venue.place(venue.these("Stalls A 6", ticket_type="child"), holder=STRANGER))
    assert world.holds(venue)[hold.id].status == "expired"
    assert world.seats(venue)["Stalls A 3"] == SeatSeen("available", None, 3)


def test_a_repeated_hold_id_with_other_seats_is_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold_id = HoldId(uuid4())
    first = placed(engine, venue.seats("Stalls A 1", hold_id=hold_id))
    again = ask(engine, venue.seats("Stalls A 1", hold_id=hold_id))
    assert isinstance(again, Placed)
    assert (again.hold, again.is_repeat) == (first, True)
    for other in (
        venue.seats("Stalls A 2", hold_id=hold_id),
        venue.seats("Stalls A 1", "Stalls A 2", hold_id=hold_id),
        venue.place(("seat", 2), hold_id=hold_id),
        venue.place(("standing", 1), hold_id=hold_id),
    ):
        assert refused(engine, other).code is RefusalCode.IDEMPOTENCY_KEY_REUSED
    best = venue.place(("seat", 2), hold_id=HoldId(uuid4()))
    assert placed(engine, best) == placed(engine, best)


def test_facts_are_unique_per_hold_version_type_and_seat(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("seat", 2)))
    world.sell(hold)
    facts = Counter(world.facts(venue))
    assert set(facts.values()) == {1}
    assert facts == Counter(
        [
            *_facts_of(hold, 1, "created", "held"),
            *_facts_of(hold, 2, "converted", "sold"),
            ("order.confirmed", hold.id, 2, None),
        ]
    )


def _facts_of(hold: Hold, version: int, of_hold: str, of_seat: str) -> list[tuple[object, ...]]:
    return [
        (f"hold.{of_hold}", hold.id, version, None),
        *((f"seat.{of_seat}", hold.id, version, seat.id) for seat in hold.seats),
    ]


def test_a_refusal_names_your_own_hold_among_the_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    mine = placed(engine, venue.seats("Stalls A 1"))
    refusal = refused(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
    assert refusal.details["hold_id"] == str(mine.id)
    placed(engine, venue.seats("Stalls A 3", holder=STRANGER))
    refusal = refused(engine, venue.seats("Stalls A 1", "Stalls A 3"))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_a_user_id_identifies_the_holder_whatever_the_email(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    first = Holder(EmailAddress("one@example.com"), "user-1")
    mine = placed(engine, venue.seats("Stalls A 1", holder=first))
    again = placed(engine, venue.seats("Stalls A 1", holder=Holder(user_id="user-1")))
    assert again.id == mine.id
    by_address = Holder(EmailAddress("one@example.com"))
    refusal = refused(engine, venue.seats("Stalls A 1", holder=by_address))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_requesting_your_own_seat_works_after_the_sale_has_ended(
    world: World, engine: Admission
) -> None:
    sale = SaleTerms(ends_at=datetime.now(UTC) + timedelta(seconds=2))
    venue = world.build(Plan({}, {}, hall=HALL, sale=sale))
    mine = placed(engine, venue.seats("Stalls A 1"))
    time.sleep(2)
    refusal = refused(engine, venue.seats("Stalls A 2"))
    assert refusal.code is RefusalCode.EVENT_SALES_CLOSED
    assert placed(engine, venue.seats("Stalls A 1")).id == mine.id


@pytest.mark.parametrize("what", ["fewer", "type", "price", "id"])
def test_a_different_request_for_your_own_seats_is_refused(
    world: World, engine: Admission, what: str
) -> None:
    venue = theatre(world)
    mine = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    both = ("Stalls A 1", "Stalls A 2")
    other = {
        "fewer": venue.seats("Stalls A 1"),
        "type": venue.place(venue.these(*both, ticket_type="child")),
        "price": venue.place(venue.these(*both, price=1)),
        "id": venue.seats(*both, hold_id=HoldId(uuid4())),
    }[what]
    refusal = refused(engine, other)
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
    assert refusal.details["hold_id"] == str(mine.id)


def test_your_own_seats_are_not_listed_as_contested(world: World, engine: Admission) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Stalls A 1"))
    placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    refusal = refused(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    contested = refusal.details["contested_seats"]
    assert isinstance(contested, list)
    assert [seat["seat_number"] for seat in contested if isinstance(seat, dict)] == ["2"]


def test_an_alternative_respects_block_capacity(world: World, engine: Admission) -> None:
    hall = Hall({"Front": {"A": 5}, "Back": {"B": 3}}, {"seat": ()}, capacities={"Front": 1})
    venue = world.build(Plan({}, {}, hall=hall))
    placed(engine, venue.seats("Front A 1"))
    wish = venue.seats("Front A 1", holder=STRANGER, wants_alternative=True)
    offered = refused(engine, wish).details["alternative"]
    assert isinstance(offered, dict)
    names = [name for name, place in venue.places.items() if [str(place.id)] == offered["seat_ids"]]
    assert names[0].startswith("Back")
    placed(engine, venue.seats(*names, holder=STRANGER))
