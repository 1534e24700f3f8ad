"""Renewing an expired cart: a new hold for the same items, if they are available."""

import pytest

from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    answer,
    ask,
    converted,
    emptied,
    placed,
    refused,
    unchanged,
    waiting,
)
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

ITEMS = {"a": ("standing", 3), "b": ("standing", 2)}


def theatre(world: World, policy: HoldPolicy | None = None) -> Venue:
    hall = Hall({"Stalls": {"A": 6}}, {"seat": ()})
    return world.build(Plan({"floor": 10}, {"standing": ("floor",)}, policy or HoldPolicy(), hall))


def items_of(hold: Hold) -> dict[str, int]:
    return {line.item.id: line.quantity for line in hold.lines if line.item}


@pytest.mark.parametrize("is_reaped", [False, True])
def test_an_expired_cart_can_be_renewed(world: World, engine: Admission, is_reaped: bool) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", ITEMS))
    world.let_pass(venue, 601)
    if is_reaped:
        ask(engine, venue.expire(hold.id))
    command = venue.renew("basket")
    new = placed(engine, command)
    assert (new.id, new.version, new.cart) == (command.hold_id, 1, "basket")
    assert items_of(new) == {"a": 3, "b": 2}
    assert 599 <= (new.expires_at - new.created_at).total_seconds() <= 601
    assert {line.item.group_id for line in new.lines if line.item} == {command.group_id}
    assert world.hold(venue, hold.id).status is HoldStatus.EXPIRED
    assert world.pool(venue.pools["floor"]).held == 5
    assert [fact.type for fact in world.facts(venue)] == [
        "hold.created",
        "hold.expired",
        "hold.created",
    ]


def test_filling_an_expired_cart_creates_a_new_hold(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"a": ("standing", 8)}))
    world.let_pass(venue, 601)
    new = placed(engine, venue.fill("basket", {"a": ("standing", 9)}))
    assert new.id != hold.id
    assert world.hold(venue, hold.id).status is HoldStatus.EXPIRED
    assert world.pool(venue.pools["floor"]).held == 9


def test_renewing_twice_returns_the_first_renewal(world: World, engine: Admission) -> None:
    venue = theatre(world)
    live = placed(engine, venue.fill("basket", ITEMS))
    assert unchanged(engine, venue.renew("basket")) == live, "it has not expired"
    world.let_pass(venue, 601)
    key = venue.key()
    first = answer(engine, venue.renew("basket", key=key))
    again = answer(engine, venue.renew("basket", key=key))
    assert (again.is_replay, again.body) == (True, first.body)
    new = unchanged(engine, venue.renew("basket"))
    assert new.id != live.id
    assert world.pool(venue.pools["floor"]).held == 5


def test_a_paid_emptied_or_unknown_cart_cannot_be_renewed(world: World, engine: Admission) -> None:
    venue = theatre(world)
    paid = placed(engine, venue.fill("paid", ITEMS))
    converted(engine, venue.convert(paid.id))
    placed(engine, venue.fill("emptied", ITEMS))
    emptied(engine, venue.empty("emptied"))
    world.let_pass(venue, 601)
    for cart in ("paid", "emptied", "never filled"):
        assert refused(engine, venue.renew(cart)).code is RefusalCode.EMPTY_CART


@pytest.mark.parametrize("is_reaped", [False, True])
def test_a_renewal_that_finds_too_few_is_refused_and_leaves_no_hold(
    world: World, engine: Admission, is_reaped: bool
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", ITEMS))
    world.let_pass(venue, 601)
    if is_reaped:
        ask(engine, venue.expire(hold.id))
    placed(engine, venue.place(("standing", 6), holder=STRANGER))
    refusal = refused(engine, venue.renew("basket"))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert refusal.details == {"available_quantity": 4}
    assert world.hold(venue, hold.id).status is HoldStatus.EXPIRED
    assert world.pool(venue.pools["floor"]).held == 6
    placed(engine, venue.fill("basket", {"a": ("standing", 4)}))


def test_a_renewed_cart_gets_the_current_price(world: World, engine: Admission) -> None:
    venue = theatre(world)
    placed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    world.set_price(venue, "standing", 6000)
    ask(engine, venue.fill("basket", {"a": ("standing", 3)}))
    world.let_pass(venue, 601)
    new = placed(engine, venue.renew("basket"))
    assert [(line.quantity, line.unit_price_minor) for line in new.lines] == [(3, 6000)]


@pytest.mark.parametrize("is_best_available", [False, True])
def test_a_renewal_asks_for_the_same_seats(
    world: World, engine: Admission, is_best_available: bool
) -> None:
    venue = theatre(world)
    wish = ("seat", 2) if is_best_available else venue.these("Stalls A 3", "Stalls A 4")
    hold = placed(engine, venue.fill("basket", {"a": wish}))
    world.let_pass(venue, 601)
    new = placed(engine, venue.renew("basket"))
    assert venue.names_of(new) == venue.names_of(hold)
    assert new.id != hold.id
    world.let_pass(venue, 601)
    placed(engine, venue.seats(venue.names_of(hold)[0], holder=STRANGER))
    refusal = refused(engine, venue.renew("basket"))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_a_renewal_can_join_the_waitlist(world: World, engine: Admission) -> None:
    venue = theatre(world, HoldPolicy(waitlist=True))
    hold = placed(engine, venue.fill("basket", {"a": ("standing", 10)}))
    first = waiting(engine, venue.place(("standing", 4), holder=STRANGER))
    world.let_pass(venue, 601)
    new = waiting(engine, venue.renew("basket"))
    assert world.hold(venue, hold.id).status is HoldStatus.EXPIRED
    assert world.hold(venue, first.id).status is HoldStatus.ACTIVE, "the waitlist comes first"
    assert (new.cart, items_of(new), world.position(new)) == ("basket", {"a": 10}, 1)
    ask(engine, venue.release(first.id))
    active = world.hold(venue, new.id)
    assert active.status is HoldStatus.ACTIVE
    assert unchanged(engine, venue.renew("basket")) == active


def test_a_cart_that_expired_on_the_waitlist_renews_to_the_end_of_it(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(3600, waitlist=True, waiting_seconds=300))
    placed(engine, venue.place(("standing", 10), holder=STRANGER))
    gone = waiting(engine, venue.fill("basket", ITEMS))
    world.let_pass(venue, 301)
    new = waiting(engine, venue.renew("basket"))
    assert new.id != gone.id
    assert world.hold(venue, gone.id).status is HoldStatus.EXPIRED
    assert items_of(new) == {"a": 3, "b": 2}
    assert world.position(new) == 1
