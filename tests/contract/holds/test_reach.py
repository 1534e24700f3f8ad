"""What a holder token reaches, on every store: for it, other holds do not exist."""

from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain.access.reach import Reach
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import CartEmptied, Waiting
from holdfast.domain.ids import EventId, HoldId, SessionId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, placed, refused
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Plan, Venue

OUTSIDE = [
    Reach(STRANGER),
    Reach(BUYER, event_id=EventId(uuid4())),
    Reach(BUYER, session_id=SessionId(uuid4())),
]
each_reach = pytest.mark.parametrize(
    "reach", OUTSIDE, ids=["another holder", "another event", "another session"]
)
CART = "cart of a buyer"


def venue_of(world: World) -> Venue:
    return world.build(Plan({"floor": 10}, {"standing": ("floor",)}))


def about_hold(venue: Venue, hold_id: HoldId) -> dict[str, Command]:
    return {
        "release": venue.release(hold_id),
        "extend": venue.extend(hold_id, 60, holder=None),
        "check out": venue.check_out(hold_id, holder=None),
        "convert": venue.convert(hold_id),
    }


def within(command: Command, reach: Reach) -> Command:
    return replace(command, reach=reach)  # type: ignore[type-var]


@each_reach
@pytest.mark.parametrize("name", ["release", "extend", "check out", "convert"])
def test_a_hold_out_of_reach_looks_unknown(
    world: World, engine: Admission, reach: Reach, name: str
) -> None:
    venue = venue_of(world)
    hold = placed(engine, venue.place(("standing", 2)))
    there = refused(engine, within(about_hold(venue, hold.id)[name], reach))
    nowhere = refused(engine, within(about_hold(venue, HoldId(uuid4()))[name], reach))
    assert there == nowhere
    assert world.hold(venue, hold.id) == hold


@pytest.mark.parametrize("name", ["release", "extend", "check out", "convert"])
def test_a_hold_within_reach_is_changed(world: World, engine: Admission, name: str) -> None:
    """The control."""
    venue = venue_of(world)
    hold = placed(engine, venue.place(("standing", 2)))
    reach = Reach(BUYER, session_id=venue.session_id)
    outcome = ask(engine, within(about_hold(venue, hold.id)[name], reach))
    assert not isinstance(outcome, Refusal), outcome
    assert world.hold(venue, hold.id) != hold


@each_reach
def test_a_cart_out_of_reach_looks_empty(world: World, engine: Admission, reach: Reach) -> None:
    venue = venue_of(world)
    ask(engine, venue.fill(CART, {"item": ("standing", 2)}))
    emptied = ask(engine, within(venue.empty(CART), reach))
    assert isinstance(emptied, CartEmptied)
    assert emptied.hold is None
    renewed = refused(engine, within(venue.renew(CART), reach))
    assert renewed == refused(engine, within(venue.renew("no such cart"), reach))
    assert world.pool(venue.pools["floor"]).held == 2


@pytest.mark.parametrize("reach", OUTSIDE[1:], ids=["another event", "another session"])
def test_a_session_out_of_reach_looks_unknown(
    world: World, engine: Admission, reach: Reach
) -> None:
    venue = venue_of(world)
    for command in (venue.place(("standing", 2)), venue.fill(CART, {"item": ("standing", 2)})):
        refusal = refused(engine, within(command, reach))
        assert refusal.code is RefusalCode.INVALID_SESSION
    assert world.pool(venue.pools["floor"]).held == 0


def test_a_token_limits_what_its_holder_has_in_the_event(world: World, engine: Admission) -> None:
    """Held, waited for and bought, with or without the token."""
    plan = Plan({"floor": 10}, {"standing": ("floor",)}, HoldPolicy(waitlist=True))
    venue = world.build(plan)
    other = world.build(plan, beside=venue)
    reach = Reach(BUYER, quantity_max=4)
    first = placed(engine, within(venue.place(("standing", 2)), reach))
    ask(engine, venue.convert(first.id))
    ask(engine, within(other.fill(CART, {"item": ("standing", 1)}), reach))
    for command in (
        venue.place(("standing", 2)),
        other.place(("standing", 2)),
        other.fill(CART, {"item": ("standing", 3)}),
        other.fill("another cart", {"item": ("standing", 2)}),
    ):
        refusal = refused(engine, within(command, reach))
        assert refusal.details["policy"] == "holder_units_max"
        assert (refusal.details["limit"], refusal.details["current"]) == (4, 3)
    ask(engine, within(other.fill(CART, {"item": ("standing", 2)}), reach))
    assert world.pool(other.pools["floor"]).held == 2
    placed(engine, venue.place(("standing", 8), holder=STRANGER))
    assert isinstance(ask(engine, within(venue.place(("standing", 1)), reach)), Refusal)
    more = Reach(BUYER, quantity_max=5)
    assert isinstance(ask(engine, within(venue.place(("standing", 1)), more)), Waiting)
    assert isinstance(ask(engine, within(venue.place(("standing", 1)), more)), Refusal)
    assert isinstance(ask(engine, venue.place(("standing", 1))), Waiting), "a key has no limit"


def test_the_lower_of_the_limits_of_token_and_policy_applies(
    world: World, engine: Admission
) -> None:
    policy = HoldPolicy(holder_units_max=3)
    venue = world.build(Plan({"floor": 10}, {"standing": ("floor",)}, policy))
    for token_max, applies in ((2, 2), (8, 3)):
        command = within(venue.place(("standing", 4)), Reach(BUYER, quantity_max=token_max))
        assert refused(engine, command).details["limit"] == applies


def test_an_expired_cart_is_renewed_within_the_limit_of_the_token(
    world: World, engine: Admission
) -> None:
    venue = venue_of(world)
    ask(engine, venue.fill(CART, {"item": ("standing", 3)}))
    world.let_pass(venue, 601)
    refusal = refused(engine, within(venue.renew(CART), Reach(BUYER, quantity_max=2)))
    assert refusal.details["limit"] == 2
    placed(engine, within(venue.renew(CART), Reach(BUYER, quantity_max=3)))
