"""Starting a checkout extends all its holds once, or none. Runs on every store."""

from datetime import timedelta
from types import ModuleType
from uuid import uuid4

import pytest

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.orders import convert_holds, order, start_checkout
from holdfast.domain.orders.order import HOLDS_PER_CHECKOUT_MAX
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, converted, extended, placed, refused, started
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue, empty_venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 4})


def theatre(world: World, policy: HoldPolicy | None = None, beside: Venue | None = None) -> Venue:
    plan = Plan({"floor": 10}, {"standing": ("floor",)}, policy or HoldPolicy(), hall=HALL)
    return world.build(plan, beside)


def two_holds(engine: Admission, venue: Venue) -> tuple[Hold, Hold]:
    """A hold of a seat and a hold of two standing tickets."""
    seat = placed(engine, venue.seats("Stalls A 1"))
    return seat, placed(engine, venue.place(("standing", 2)))


def test_checkout_extends_every_hold_by_its_policy(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seat, standing = two_holds(engine, venue)
    checkout = started(engine, venue.check_out(seat.id, standing.id))
    assert [hold.id for hold in checkout.holds] == [seat.id, standing.id]
    for before, after in zip((seat, standing), checkout.holds, strict=True):
        assert after.expires_at == before.expires_at + timedelta(seconds=300)
        assert after.checkout_id == checkout.checkout_id
        assert world.hold(venue, before.id) == after
    assert checkout.expires_at == min(hold.expires_at for hold in checkout.holds)
    assert world.held_until(venue)["Stalls A 1"] == checkout.holds[0].expires_at
    assert world.lapse(venue.pools["floor"]) == {checkout.holds[1].expires_at: 2}
    kept = world.checkout(venue, checkout.checkout_id)
    assert kept is not None
    assert kept.hold_ids == (seat.id, standing.id)


def test_a_checkout_publishes_one_fact_per_hold(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seat, standing = two_holds(engine, venue)
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    started(engine, venue.check_out(seat.id, standing.id))
    assert world.facts(venue)[facts:] == [
        ("hold.extended", seat.id, 2, None),
        ("hold.extended", standing.id, 2, None),
    ]
    assert [row[:2] for row in world.audit(venue)[audit:]] == [
        ("hold.extended", seat.id),
        ("hold.extended", standing.id),
    ]


def test_a_repeated_checkout_returns_the_first_and_changes_nothing(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    seat, standing = two_holds(engine, venue)
    first = started(engine, venue.check_out(seat.id, standing.id))
    facts = world.facts(venue)
    again = started(engine, venue.check_out(standing.id, seat.id))
    assert (first.is_repeat, again.is_repeat) == (False, True)
    assert again.checkout_id == first.checkout_id
    assert set(again.holds) == set(first.holds)
    assert world.facts(venue) == facts


def test_two_clicks_in_one_group_share_one_checkout(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seat, standing = two_holds(engine, venue)
    command = venue.check_out(seat.id, standing.id)
    for future in [engine.submit(command) for _ in range(5)]:
        future.result(60)
    assert {world.holds(venue)[hold.id].version for hold in (seat, standing)} == {2}


def test_a_checkout_with_more_holds_extends_no_hold_twice(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seat, standing = two_holds(engine, venue)
    alone = started(engine, venue.check_out(seat.id))
    both = started(engine, venue.check_out(seat.id, standing.id))
    assert both.checkout_id != alone.checkout_id
    assert both.holds[0].expires_at == alone.holds[0].expires_at
    assert both.holds[1].expires_at == standing.expires_at + timedelta(seconds=300)
    assert {hold.checkout_id for hold in both.holds} == {both.checkout_id}
    assert [fact[:3] for fact in world.facts(venue)[3:]] == [
        ("hold.extended", seat.id, 2),
        ("hold.changed", seat.id, 3),
        ("hold.extended", standing.id, 2),
    ]
    back = started(engine, venue.check_out(seat.id))
    assert back.checkout_id == alone.checkout_id
    assert world.checkout(venue, alone.checkout_id) is not None


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        (HoldPolicy(600, checkout_extension_seconds=0), 0),
        (HoldPolicy(600, checkout_extension_seconds=10), 10),
        (HoldPolicy(600, lifetime_max_seconds=700), 100),
        (HoldPolicy(600, lifetime_max_seconds=600), 0),
    ],
)
def test_checkout_extends_only_as_far_as_the_policy_allows(
    world: World, engine: Admission, policy: HoldPolicy, seconds: int
) -> None:
    venue = theatre(world, policy)
    hold = placed(engine, venue.place(("standing", 2)))
    checkout = started(engine, venue.check_out(hold.id))
    (after,) = checkout.holds
    assert after.expires_at == hold.expires_at + timedelta(seconds=seconds)
    assert after.checkout_id == checkout.checkout_id
    fact = world.facts(venue)[-1]
    assert fact.type == ("hold.extended" if seconds else "hold.changed")


def test_an_extended_hold_never_exceeds_its_maximum_lifetime_in_checkout(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 2)))
    extended(engine, venue.extend(hold.id, 500))
    (after,) = started(engine, venue.check_out(hold.id)).holds
    assert after.expires_at == hold.expires_at + timedelta(seconds=600)


def test_a_checkout_with_an_expired_hold_leaves_the_others_unchanged(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    lapsed = placed(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 300)
    live = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 301)
    command = venue.check_out(live.id, lapsed.id)
    for _ in range(2):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.EXPIRED_BEFORE_CHECKOUT
        assert refusal.details == {"lapsed_hold_ids": [str(lapsed.id)]}
        ask(engine, venue.expire(lapsed.id))
    assert world.holds(venue)[live.id].version == 1
    assert world.checkout(venue, command.checkout_id) is None


def test_ended_holds_cannot_be_checked_out(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seat, standing = two_holds(engine, venue)
    ask(engine, venue.release(standing.id))
    refusal = refused(engine, venue.check_out(seat.id, standing.id))
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    ask(engine, venue.convert(seat.id))
    refusal = refused(engine, venue.check_out(seat.id))
    assert refusal.details == {"current_status": "converted"}


def test_a_checkout_with_another_persons_hold_is_not_found(world: World, engine: Admission) -> None:
    venue = theatre(world)
    mine, _ = two_holds(engine, venue)
    theirs = placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    unknown = HoldId(uuid4())
    for other in (theirs.id, unknown):
        refusal = refused(engine, venue.check_out(mine.id, other))
        assert refusal.code is RefusalCode.HOLD_NOT_FOUND
    refusal = refused(engine, venue.check_out(mine.id, theirs.id, holder=None))
    assert refusal.code is RefusalCode.DIFFERENT_HOLDERS
    assert world.holds(venue)[mine.id].version == 1


def test_a_checkout_can_span_sessions_but_not_currencies(world: World, engine: Admission) -> None:
    venue = theatre(world)
    evening = theatre(world, beside=venue)
    abroad = world.build(
        Plan({"floor": 10}, {"standing": ("floor",)}, currency="CHF"), beside=venue
    )
    holds = [placed(engine, each.place(("standing", 1))) for each in (venue, evening, abroad)]
    refusal = refused(engine, venue.check_out(*(hold.id for hold in holds)))
    assert refusal.code is RefusalCode.DIFFERENT_CURRENCIES
    checkout = started(engine, venue.check_out(*(hold.id for hold in holds[:2])))
    assert len(checkout.holds) == 2


def test_one_key_starts_one_checkout(world: World, engine: Admission) -> None:
    venue = theatre(world)
    seat, _ = two_holds(engine, venue)
    key = venue.key()
    first = answer(engine, venue.check_out(seat.id, key=key))
    again = answer(engine, venue.check_out(seat.id, key=key))
    assert again.is_replay
    assert again.body == first.body


def test_a_checkout_without_holds_is_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    assert refused(engine, venue.check_out()).code is RefusalCode.EMPTY_CART


def test_a_checkout_has_a_maximum_of_distinct_holds() -> None:
    venue = empty_venue(Plan({}, {}))
    hold_id = HoldId(uuid4())
    many = [HoldId(uuid4()) for _ in range(HOLDS_PER_CHECKOUT_MAX + 1)]
    for hold_ids in ([hold_id, hold_id], many):
        with pytest.raises(InvalidValue):
            venue.check_out(*hold_ids)
        with pytest.raises(InvalidValue):
            venue.convert(*hold_ids)
    venue.check_out(*many[1:])
    with pytest.raises(InvalidValue):
        venue.convert()


PLANNING = (start_checkout, convert_holds)


@pytest.mark.parametrize("modules", [(order,), PLANNING], ids=["decided", "planned"])
def test_a_checkout_too_large_for_an_order_is_refused(
    world: World,
    engine: Admission,
    monkeypatch: pytest.MonkeyPatch,
    modules: tuple[ModuleType, ...],
) -> None:
    """Planning refuses it; if its survey was stale, the decision does."""
    venue = theatre(world)
    holds = [placed(engine, venue.seats(seat)) for seat in ("Stalls A 1", "Stalls A 3")]
    ids = [hold.id for hold in holds]
    for module in modules:
        monkeypatch.setattr(module, "SEATS_PER_ORDER_MAX", 1)
    for command in (venue.check_out(*ids), venue.convert(*ids)):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.TOO_MANY_TICKETS
        assert not refusal.code.is_retryable
    assert [world.hold(venue, hold.id) for hold in holds] == holds


def test_an_order_can_have_as_many_seats_as_the_limit(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    venue = theatre(world)
    holds = [placed(engine, venue.seats(seat)) for seat in ("Stalls A 1", "Stalls A 3")]
    ids = [hold.id for hold in holds]
    for module in (order, *PLANNING):
        monkeypatch.setattr(module, "SEATS_PER_ORDER_MAX", 2)
    checkout_id = started(engine, venue.check_out(*ids)).checkout_id
    done = converted(engine, venue.convert(*ids, checkout_id=checkout_id))
    assert len(done.order.tickets) == 2
