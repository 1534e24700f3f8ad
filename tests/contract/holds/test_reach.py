"""What a holder token reaches, on every store: for it, other holds do not exist."""

from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain.access.reach import Reach
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import CartEmptied
from holdfast.domain.ids import EventId, HoldId, SessionId
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
