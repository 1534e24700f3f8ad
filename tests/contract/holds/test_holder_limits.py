"""Limits of what one holder may have in an event. Runs on every store."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import NOTHING_MORE, Outcome, Placed
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.holds.holdings import Holdings
from holdfast.domain.ids import EventId
from holdfast.domain.policy import HOLDER_UNITS_MAX, HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from holdfast.ports.store import Wanted
from tests.contract.asking import (
    ask,
    changed,
    converted,
    emptied,
    extended,
    in_one_group,
    placed,
    refused,
    started,
    waiting,
)
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()})


def a_plan(**policy: int) -> Plan:
    lasting: dict[str, Any] = {"ttl_seconds": 600, "lifetime_max_seconds": 6000, **policy}
    return Plan({"floor": 100}, {"standing": ("floor",)}, HoldPolicy(**lasting), HALL)


def club(world: World, **policy: int) -> Venue:
    return world.build(a_plan(**policy))


def is_refused_by(outcome: Outcome | None, policy: str) -> bool:
    return isinstance(outcome, Refusal) and outcome.details.get("policy") == policy


def test_held_and_bought_tickets_count_towards_the_limit(world: World, engine: Admission) -> None:
    venue = club(world, holder_units_max=4)
    first = placed(engine, venue.place(("standing", 3)))
    for command in (venue.place(("standing", 2)), venue.place(("standing", 1), ("seat", 1))):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.HOLDER_LIMIT_REACHED
        assert refusal.details["policy"] == "holder_units_max"
        assert (refusal.details["limit"], refusal.details["current"]) == (4, 3)
        assert refusal.details["retry_after_seconds"] in range(590, 602), "when the hold expires"
    converted(engine, venue.convert(first.id))
    refusal = refused(engine, venue.place(("standing", 2)))
    assert refusal.details["current"] == 3
    assert "retry_after_seconds" not in refusal.details, "bought tickets do not expire"
    placed(engine, venue.place(("standing", 1)))
    assert refused(engine, venue.place(("standing", 1))).details["current"] == 4
    placed(engine, venue.place(("standing", 4), holder=STRANGER))


def test_released_and_expired_tickets_do_not_count(world: World, engine: Admission) -> None:
    venue = club(world, holder_units_max=2)
    first = placed(engine, venue.place(("standing", 2)))
    ask(engine, venue.release(first.id))
    second = placed(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 601)
    third = placed(engine, venue.place(("standing", 2)))
    ask(engine, venue.expire(second.id))
    assert refused(engine, venue.place(("standing", 1))).details["current"] == third.quantity


def test_all_sessions_of_an_event_count_and_those_of_others_do_not(
    world: World, engine: Admission
) -> None:
    plan = a_plan(holder_units_max=4, holder_holds_max=3)
    first = world.build(plan)
    second = world.build(plan, beside=first)
    other = world.build(a_plan(holder_units_max=4), beside=first)
    converted(engine, first.convert(placed(engine, first.place(("standing", 2))).id))
    placed(engine, second.place(("standing", 1)))
    assert refused(engine, second.place(("standing", 2))).details["current"] == 3
    assert refused(engine, first.place(("standing", 2))).details["current"] == 3
    placed(engine, other.place(("standing", 4)))


def test_a_limit_set_later_counts_what_was_held_and_bought_before(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    converted(engine, venue.convert(placed(engine, venue.place(("standing", 3))).id))
    placed(engine, venue.place(("standing", 2)))
    world.set_policy(venue, a_plan(holder_units_max=6).policy)
    assert refused(engine, venue.place(("standing", 2))).details["current"] == 5


def test_a_user_id_and_an_address_are_two_holders(world: World, engine: Admission) -> None:
    """The user id decides if both are given."""
    venue = club(world, holder_units_max=2)
    email = EmailAddress("Fan@example.com")
    both = Holder(email, "user-1")
    placed(engine, venue.place(("standing", 1), holder=both))
    placed(engine, venue.place(("standing", 2), holder=Holder(email)))
    refusal = refused(engine, venue.place(("standing", 2), holder=Holder(user_id="user-1")))
    assert refusal.details["current"] == 1
    same = Holder(EmailAddress("fan@EXAMPLE.com"))
    assert refused(engine, venue.place(("standing", 1), holder=same)).details["current"] == 2


def test_live_holds_are_limited(world: World, engine: Admission) -> None:
    venue = club(world, holder_holds_max=2)
    first = placed(engine, venue.place(("standing", 5)))
    placed(engine, venue.seats("Stalls A 1"))
    refusal = refused(engine, venue.place(("standing", 1)))
    assert refusal.details["policy"] == "holder_holds_max"
    assert (refusal.details["limit"], refusal.details["current"]) == (2, 2)
    assert placed(engine, venue.seats("Stalls A 1")).version == 1, "your own seat is not refused"
    converted(engine, venue.convert(first.id))
    placed(engine, venue.place(("standing", 1)))
    assert is_refused_by(ask(engine, venue.place(("standing", 1))), "holder_holds_max")


def test_carts_are_limited_apart_from_other_holds(world: World, engine: Admission) -> None:
    venue = club(world, holder_carts_max=1)
    placed(engine, venue.place(("standing", 1)))
    placed(engine, venue.fill("one", {"a": ("standing", 1)}))
    assert is_refused_by(ask(engine, venue.fill("two", {"a": ("standing", 1)})), "holder_carts_max")
    placed(engine, venue.place(("standing", 1)))
    changed(engine, venue.fill("one", {"a": ("standing", 3)}))
    emptied(engine, venue.empty("one"))
    placed(engine, venue.fill("two", {"a": ("standing", 1)}))
    assert is_refused_by(ask(engine, venue.fill("one", {"a": ("standing", 1)})), "holder_carts_max")


def test_a_cart_grows_only_up_to_the_limit(world: World, engine: Admission) -> None:
    venue = club(world, holder_units_max=4, holder_holds_max=2, holder_carts_max=1)
    placed(engine, venue.place(("standing", 1)))
    placed(engine, venue.fill("cart", {"a": ("standing", 2)}))
    before = world.holds(venue)
    outcome = ask(engine, venue.fill("cart", {"a": ("standing", 4)}))
    assert is_refused_by(outcome, "holder_units_max")
    assert world.holds(venue) == before
    changed(engine, venue.fill("cart", {"a": ("standing", 3)}))
    changed(engine, venue.fill("cart", {"a": ("standing", 1)}))
    changed(engine, venue.fill("cart", {"a": ("standing", 1), "b": ("seat", 2)}))


def test_what_exceeds_a_lowered_limit_may_shrink_or_change_but_not_grow(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    placed(engine, venue.fill("cart", {"a": ("standing", 5)}))
    world.set_policy(venue, a_plan(holder_units_max=3).policy)
    changed(engine, venue.fill("cart", {"a": ("standing", 4), "b": ("seat", 1)}))
    assert is_refused_by(
        ask(engine, venue.fill("cart", {"a": ("standing", 5), "b": ("seat", 1)})),
        "holder_units_max",
    )
    changed(engine, venue.fill("cart", {"a": ("standing", 4)}))


def test_a_cart_that_takes_over_a_seat_counts_it_once(world: World, engine: Admission) -> None:
    venue = club(world, holder_units_max=2, holder_holds_max=1, cooldown_seconds=300)
    placed(engine, venue.seats("Stalls A 1"))
    placed(engine, venue.fill("cart", {"a": venue.these("Stalls A 1", "Stalls A 2")}))
    changed(engine, venue.fill("cart", {"a": venue.these("Stalls A 1")}))
    changed(engine, venue.fill("cart", {"a": venue.these("Stalls A 1"), "b": ("standing", 1)}))


def test_a_hold_is_extended_a_limited_number_of_times(world: World, engine: Admission) -> None:
    venue = club(world, extensions_max=2)
    hold = placed(engine, venue.place(("standing", 1)))
    extended(engine, venue.extend(hold.id, 10, is_operator=True))
    started(engine, venue.check_out(hold.id))
    for count in (1, 2):
        assert extended(engine, venue.extend(hold.id, 10)).extensions == count
    refusal = refused(engine, venue.extend(hold.id, 10))
    assert refusal.code is RefusalCode.EXTENSION_LIMIT_REACHED
    assert refusal.details["limit"] == 2
    assert world.hold(venue, hold.id).extensions == 2
    extended(engine, venue.extend(hold.id, 10, is_operator=True))


def give_up(world: World, engine: Admission, venue: Venue, way: str) -> None:
    """Take a place and let it go."""
    if way == "emptied":
        placed(engine, venue.fill("cart", {"a": ("standing", 1)}))
        emptied(engine, venue.empty("cart"))
        return
    hold = placed(engine, venue.place(("standing", 1)))
    if way == "released":
        ask(engine, venue.release(hold.id))
        return
    world.let_pass(venue, 601)
    if way == "expired":
        ask(engine, venue.expire(hold.id))


@pytest.mark.parametrize("way", ["released", "emptied", "lapsed", "expired"])
def test_a_holder_who_gave_up_places_cools_down(world: World, engine: Admission, way: str) -> None:
    venue = club(world, cooldown_seconds=300)
    give_up(world, engine, venue, way)
    commands: list[Command] = [
        venue.place(("standing", 1)),
        venue.seats("Stalls A 1"),
        venue.fill("basket", {"a": ("standing", 1)}),
    ]
    for command in commands:
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.HOLDER_COOLDOWN
        seconds = refusal.details["retry_after_seconds"]
        assert seconds in range(280, 301)
        assert str(seconds) in refusal.message
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    world.let_pass(venue, 301)
    placed(engine, venue.place(("standing", 1)))


def test_an_expired_cart_is_not_renewed_during_the_cooldown(
    world: World, engine: Admission
) -> None:
    venue = club(world, cooldown_seconds=300)
    placed(engine, venue.fill("cart", {"a": ("standing", 1)}))
    world.let_pass(venue, 601)
    assert refused(engine, venue.renew("cart")).code is RefusalCode.HOLDER_COOLDOWN
    world.let_pass(venue, 300)
    placed(engine, venue.renew("cart"))


def test_a_live_cart_may_shrink_but_not_grow_during_the_cooldown(
    world: World, engine: Admission
) -> None:
    venue = club(world, cooldown_seconds=300)
    placed(engine, venue.fill("cart", {"a": ("standing", 2)}))
    give_up(world, engine, venue, "released")
    refusal = refused(engine, venue.fill("cart", {"a": ("standing", 3)}))
    assert refusal.code is RefusalCode.HOLDER_COOLDOWN
    changed(engine, venue.fill("cart", {"a": ("standing", 1), "b": ("seat", 1)}))
    changed(engine, venue.fill("cart", {"b": ("seat", 1)}))


def test_a_sale_and_a_blocked_seat_start_no_cooldown(world: World, engine: Admission) -> None:
    venue = club(world, cooldown_seconds=300)
    bought = placed(engine, venue.place(("standing", 1)))
    placed(engine, venue.seats("Stalls A 1"))
    converted(engine, venue.convert(bought.id))
    ask(engine, venue.block("Stalls A 1"))
    placed(engine, venue.seats("Stalls A 2"))


def test_a_late_payment_is_accepted_above_every_limit(world: World, engine: Admission) -> None:
    limits = {"holder_units_max": 2, "holder_holds_max": 1, "cooldown_seconds": 60}
    venue = club(world, late_payment_seconds=300, **limits)
    late = placed(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 700)
    placed(engine, venue.place(("standing", 2)))
    converted(engine, venue.convert(late.id))
    assert is_refused_by(ask(engine, venue.place(("standing", 1))), "holder_units_max")


def test_waiting_places_count_so_that_promotion_exceeds_no_limit(
    world: World, engine: Admission
) -> None:
    plan = replace(
        a_plan(waitlist=True, holder_units_max=4, holder_holds_max=3),
        pools={"floor": 4},
    )
    venue = world.build(plan)
    taken = placed(engine, venue.place(("standing", 4), holder=STRANGER))
    waits = waiting(engine, venue.place(("standing", 3)))
    assert is_refused_by(ask(engine, venue.place(("standing", 2))), "holder_units_max")
    placed(engine, venue.place(("seat", 1)))
    assert is_refused_by(ask(engine, venue.place(("seat", 1))), "holder_units_max")
    refusal = refused(engine, venue.place(("seat", 2)))
    assert "retry_after_seconds" not in refusal.details, "it may have been promoted by then"
    ask(engine, venue.release(taken.id))
    assert world.hold(venue, waits.id).is_active(world.now())
    assert refused(engine, venue.place(("seat", 1))).details["current"] == 4


def test_a_waiting_cart_grows_only_up_to_the_limit(world: World, engine: Admission) -> None:
    plan = replace(a_plan(waitlist=True, holder_units_max=3), pools={"floor": 4})
    venue = world.build(plan)
    placed(engine, venue.place(("standing", 3), holder=STRANGER))
    placed(engine, venue.place(("standing", 1), holder=Holder(user_id="last")))
    waiting(engine, venue.fill("cart", {"a": ("standing", 2)}))
    outcome = ask(engine, venue.fill("cart", {"a": ("standing", 4)}))
    assert is_refused_by(outcome, "holder_units_max")
    waiting(engine, venue.fill("cart", {"a": ("standing", 3)}))


def test_the_cooldown_stops_joining_but_not_a_promotion(world: World, engine: Admission) -> None:
    plan = replace(a_plan(waitlist=True, cooldown_seconds=300), pools={"floor": 4})
    venue = world.build(plan)
    taken = placed(engine, venue.place(("standing", 3), holder=STRANGER))
    mine = placed(engine, venue.place(("standing", 1)))
    waits = waiting(engine, venue.place(("standing", 2)))
    ask(engine, venue.release(mine.id))
    refusal = refused(engine, venue.place(("standing", 2)))
    assert refusal.code is RefusalCode.HOLDER_COOLDOWN
    ask(engine, venue.release(taken.id))
    assert world.hold(venue, waits.id).is_active(world.now())


def test_leaving_the_waitlist_starts_no_cooldown(world: World, engine: Admission) -> None:
    plan = replace(a_plan(waitlist=True, cooldown_seconds=300), pools={"floor": 4})
    venue = world.build(plan)
    placed(engine, venue.place(("standing", 4), holder=STRANGER))
    waits = waiting(engine, venue.place(("standing", 2)))
    ask(engine, venue.release(waits.id))
    waiting(engine, venue.place(("standing", 2)))


def test_commands_of_one_group_count(world: World) -> None:
    """Also those that end a hold, buy it, or use another session of the event."""
    plan = a_plan(holder_units_max=2)
    first = world.build(plan)
    second = world.build(plan, beside=first)
    mine = first.place(("standing", 1))
    outcomes = in_one_group(
        world.store,
        mine,
        second.place(("standing", 1)),
        first.place(("standing", 1)),
        second.place(("standing", 1)),
        first.place(("standing", 1), holder=STRANGER),
    )
    assert [isinstance(outcome, Placed) for outcome in outcomes] == [True, True, False, False, True]
    outcomes = in_one_group(
        world.store,
        first.release(mine.hold_id),
        second.place(("standing", 1)),
        first.place(("standing", 1)),
    )
    assert [isinstance(outcome, Placed) for outcome in outcomes] == [False, True, False]
    live = outcomes[1]
    assert isinstance(live, Placed)
    outcomes = in_one_group(
        world.store,
        first.place(("standing", 1)),
        second.convert(live.hold.id),
        first.place(("standing", 1)),
    )
    assert [is_refused_by(outcome, "holder_units_max") for outcome in outcomes] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("policy", "is_read"),
    [
        ({}, False),
        ({"extensions_max": 1}, False),
        ({"holder_units_max": 1}, True),
        ({"holder_holds_max": 1}, True),
        ({"holder_carts_max": 1}, True),
        ({"cooldown_seconds": 1}, True),
    ],
)
def test_a_holder_is_locked_and_read_only_where_a_limit_applies(
    world: World, policy: dict[str, int], is_read: bool
) -> None:
    command = club(world, **policy).place(("standing", 1))
    connection = world.store.connect()
    survey = connection.survey(command.needs(NOTHING_MORE))
    connection.close()
    footprint = GroupPlan(survey).footprint(command)
    assert bool(footprint.required_of(ResourceKind.HOLDER)) is is_read
    assert (footprint.holding is not None) is is_read


def test_of_rivals_only_the_first_is_locked_and_read(world: World) -> None:
    """Most of a stampede is refused before anything is counted."""
    venue = club(world, holder_units_max=1)
    rivals = [venue.seats("Stalls A 1", holder=Holder(user_id=f"user-{n}")) for n in range(5)]
    connection = world.store.connect()
    plan = GroupPlan(connection.survey(rivals[0].needs(NOTHING_MORE)))
    connection.close()
    footprints = [plan.footprint(rival) for rival in rivals]
    assert [len(each.required_of(ResourceKind.HOLDER)) for each in footprints] == [1, 0, 0, 0, 0]
    assert [each.holding is not None for each in footprints] == [True, *[False] * 4]


def test_rivals_for_a_free_seat_are_counted_nevertheless(world: World, engine: Admission) -> None:
    venue = club(world, holder_units_max=1)
    people = [Holder(user_id=name) for name in ("full", "full too", "new", "late")]
    for person in people[:2]:
        placed(engine, venue.place(("standing", 1), holder=person))
    rivals = [venue.seats("Stalls A 1", holder=person) for person in people]
    full, full_too, new, late = in_one_group(world.store, *rivals)
    assert is_refused_by(full, "holder_units_max")
    assert is_refused_by(full_too, "holder_units_max")
    assert isinstance(new, Placed)
    assert isinstance(late, Refusal)
    assert late.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_what_a_locked_holder_has_is_not_known(world: World) -> None:
    """It was read without the lock, so another command of the group must not count it."""
    command = club(world, holder_units_max=1).place(("standing", 1))
    first, second = world.store.connect(), world.store.connect()
    footprint = GroupPlan(first.survey(command.needs(NOTHING_MORE))).footprint(command)
    assert footprint.holding is not None
    wanted = Wanted(footprint.required, holdings=[footprint.holding])
    with first.group() as group, second.group() as other:
        assert footprint.holding.key in group.lock_and_read(wanted).holdings
        ledger = other.lock_and_read(wanted)
        assert set(footprint.required_of(ResourceKind.HOLDER)) <= ledger.skipped
        assert not ledger.holdings
    first.close()
    second.close()


def test_carts_are_counted_among_hundreds_of_other_holds(world: World) -> None:
    venue = world.build(replace(a_plan(holder_carts_max=2), pools={"floor": 1000}))
    singles = [venue.place(("standing", 1)) for _ in range(HOLDER_UNITS_MAX + 10)]
    carts = [venue.fill(f"cart-{number}", {"a": ("standing", 1)}) for number in range(3)]
    outcomes = in_one_group(world.store, *singles, *carts)
    assert all(isinstance(outcome, Placed) for outcome in outcomes[:-1])
    assert is_refused_by(outcomes[-1], "holder_carts_max")


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
def test_carts_of_other_sessions_are_counted_among_hundreds_of_other_holds(
    world: World, is_first: bool
) -> None:
    """Also before the holds of the session in question, the first of the event or the last."""
    event_id = EventId(uuid4())
    plan = replace(a_plan(holder_carts_max=2), pools={"floor": 1000}, event_id=event_id)
    one = world.build(plan)
    both = sorted((one, world.build(plan, beside=one)), key=lambda venue: venue.session_id)
    here, elsewhere = both if is_first else reversed(both)
    carts = [elsewhere.fill(f"cart-{number}", {"a": ("standing", 1)}) for number in range(2)]
    singles = [here.place(("standing", 1)) for _ in range(HOLDER_UNITS_MAX + 10)]
    outcomes = in_one_group(world.store, *singles, *carts)
    assert all(isinstance(outcome, Placed) for outcome in outcomes)
    (outcome,) = in_one_group(world.store, here.fill("cart-3", {"a": ("standing", 1)}))
    assert is_refused_by(outcome, "holder_carts_max")


def test_holders_with_too_many_to_count_are_refused(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hold of this session, or a place on its waitlist, may be among what was not read."""
    allowed = HoldPolicy(waitlist=True)
    venue = world.build(Plan({"floor": 2}, {"standing": ("floor",)}, allowed))
    placed(engine, venue.place(("standing", 2), holder=STRANGER))
    waiting(engine, venue.place(("standing", 1)))
    known = Ledger.holdings_for_session

    def in_part(*about: Any) -> Holdings | None:
        found = known(*about)
        return found and replace(found, is_complete=False, has_all_carts=False)

    monkeypatch.setattr(Ledger, "holdings_for_session", in_part)
    assert is_refused_by(ask(engine, venue.place(("standing", 1))), "waiting_places_max")
    strict = world.build(
        Plan({"floor": 9}, {"standing": ("floor",)}, HoldPolicy(one_active_hold=True))
    )
    assert is_refused_by(ask(engine, strict.place(("standing", 1))), "one_active_hold")
    slow = club(world, cooldown_seconds=60)
    in_event = Ledger.holdings_in_event

    def in_event_in_part(*about: Any) -> Holdings | None:
        found = in_event(*about)
        return found and replace(found, is_complete=False)

    monkeypatch.setattr(Ledger, "holdings_in_event", in_event_in_part)
    assert is_refused_by(ask(engine, slow.place(("standing", 1))), "cooldown_seconds")
    monkeypatch.undo()
    waiting(engine, venue.place(("standing", 1)))
    placed(engine, strict.place(("standing", 1)))
    placed(engine, slow.place(("standing", 1)))
