"""A cart has at most one live hold, which matches the cart's items. Runs on every store."""

import pytest

from holdfast.domain.holds.hold import Hold
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    answer,
    changed,
    placed,
    refused,
    unchanged,
)
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Plan, Venue


def hall(world: World, total: int = 10) -> Venue:
    return world.build(
        Plan(
            {"house": total, "adults": total, "children": total},
            {"adult": ("adults", "house"), "child": ("children", "house")},
            HoldPolicy(quantity_max=8),
        )
    )


def held(world: World, venue: Venue) -> tuple[int, int, int]:
    """Units held in the house, by adults and by children."""
    adults, children, house = (
        world.pool(venue.pools[name]).held for name in ("adults", "children", "house")
    )
    assert world.lapse_units(venue.pools["house"]) == house
    return house, adults, children


def contents(hold: Hold) -> list[tuple[str, int, int]]:
    """The item, quantity and price of each line."""
    return [
        (line.item.id if line.item else "", line.quantity, line.unit_price_minor)
        for line in hold.lines
    ]


def live_holds(world: World, venue: Venue) -> list[Hold]:
    ids = [id_ for id_, seen in world.holds(venue).items() if seen.status in {"active", "waiting"}]
    return [world.hold(venue, id_) for id_ in ids]


def test_a_cart_gets_a_hold_for_all_its_items(world: World, engine: Admission) -> None:
    venue = hall(world)
    command = venue.fill("basket", {"a": ("adult", 2), "b": ("child", 1)})
    hold = placed(engine, command)
    assert (hold.id, hold.cart, hold.is_cart, hold.version) == (command.hold_id, "basket", True, 1)
    assert contents(hold) == [("a", 2, 4500), ("b", 1, 4500)]
    assert {line.item.group_id for line in hold.lines if line.item} == {command.group_id}
    assert world.hold(venue, hold.id) == hold
    assert held(world, venue) == (3, 2, 1)


def test_rapid_quantity_changes_leave_one_hold_with_the_last_quantity(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    commands = [venue.fill("basket", {"a": ("adult", quantity)}) for quantity in (2, 4, 3, 5)]
    futures = [engine.submit(command) for command in commands]
    for future in futures:
        future.result(60)
    (hold,) = live_holds(world, venue)
    assert contents(hold) == [("a", 5, 4500)]
    assert hold.version == 4
    assert held(world, venue) == (5, 5, 0)


@pytest.mark.parametrize(
    ("items", "units"),
    [
        ({"a": ("adult", 5), "b": ("child", 2)}, (7, 5, 2)),
        ({"a": ("adult", 1), "b": ("child", 2)}, (3, 1, 2)),
        ({"a": ("adult", 1), "b": ("child", 4)}, (5, 1, 4)),
        ({"b": ("child", 2)}, (2, 0, 2)),
        ({"b": ("child", 2), "a": ("adult", 3), "c": ("adult", 1)}, (6, 4, 2)),
        ({"x": ("adult", 3), "y": ("child", 2)}, (5, 3, 2)),
        ({"a": ("child", 3), "b": ("adult", 2)}, (5, 2, 3)),
    ],
    ids=["more", "less", "less and more", "without one", "with one more", "other ids", "swapped"],
)
def test_a_cart_changes_its_hold_in_place(
    world: World,
    engine: Admission,
    items: dict[str, tuple[str, int]],
    units: tuple[int, int, int],
) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 3), "b": ("child", 2)}))
    after = changed(engine, venue.fill("basket", items))
    assert (after.id, after.version) == (hold.id, 2)
    assert (after.expires_at, after.warn_at, after.held_at) == (
        hold.expires_at,
        hold.warn_at,
        hold.held_at,
    ), "a change does not restart the timer"
    found = sorted((item, quantity) for item, quantity, _ in contents(after))
    assert found == sorted((item, quantity) for item, (_, quantity) in items.items())
    assert world.hold(venue, hold.id) == after
    assert held(world, venue) == units
    assert live_holds(world, venue) == [after]


def test_kept_lines_keep_their_order_whatever_the_order_of_items(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    items = {"a": ("adult", 1), "b": ("child", 2), "c": ("adult", 3)}
    hold = placed(engine, venue.fill("basket", items))
    after = changed(engine, venue.fill("basket", {"c": items["c"], "a": items["a"]}))
    assert contents(after) == [("a", 1, 4500), ("c", 3, 4500)]
    assert world.hold(venue, hold.id) == after


def test_a_cart_can_exchange_its_own_places_when_sold_out(world: World, engine: Admission) -> None:
    venue = hall(world, total=5)
    placed(engine, venue.fill("basket", {"a": ("adult", 5)}))
    after = changed(engine, venue.fill("basket", {"a": ("adult", 2), "b": ("child", 3)}))
    assert contents(after) == [("a", 2, 4500), ("b", 3, 4500)]
    after = changed(engine, venue.fill("basket", {"other": ("adult", 5)}))
    assert contents(after) == [("other", 5, 4500)]
    assert held(world, venue) == (5, 5, 0)


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ({"a": ("adult", 4), "b": ("child", 1)}, RefusalCode.INSUFFICIENT_INVENTORY),
        ({"a": ("adult", 3), "b": ("child", 2)}, RefusalCode.INSUFFICIENT_INVENTORY),
        ({"a": ("adult", 9)}, RefusalCode.QUANTITY_ABOVE_MAXIMUM),
        ({"a": ("adult", 4), "b": ("adult", 5)}, RefusalCode.QUANTITY_ABOVE_MAXIMUM),
    ],
)
def test_a_refused_change_leaves_the_cart_unchanged(
    world: World, engine: Admission, items: dict[str, tuple[str, int]], code: RefusalCode
) -> None:
    venue = hall(world)
    placed(engine, venue.place(("child", 6), holder=STRANGER))
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2), "b": ("child", 1)}))
    placed(engine, venue.place(("adult", 1), holder=STRANGER))
    facts, audit = world.facts(venue), world.audit(venue)
    refusal = refused(engine, venue.fill("basket", items))
    assert refusal.code is code
    assert world.hold(venue, hold.id) == hold
    assert (world.facts(venue), world.audit(venue)) == (facts, audit)
    assert held(world, venue) == (10, 3, 7)


def test_sending_the_same_cart_again_changes_nothing(world: World, engine: Admission) -> None:
    venue = hall(world)
    items = {"a": ("adult", 2), "b": ("child", 1)}
    hold = placed(engine, venue.fill("basket", items))
    facts, audit = world.facts(venue), world.audit(venue)
    assert unchanged(engine, venue.fill("basket", items)) == hold
    assert unchanged(engine, venue.fill("basket", dict(reversed(items.items())))) == hold
    assert world.hold(venue, hold.id) == hold
    assert (world.facts(venue), world.audit(venue)) == (facts, audit)


def test_a_cart_sent_again_with_its_key_gets_the_first_answer(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    key = venue.key()
    first = answer(engine, venue.fill("basket", {"a": ("adult", 2)}, key=key))
    changed(engine, venue.fill("basket", {"a": ("adult", 3)}))
    again = answer(engine, venue.fill("basket", {"a": ("adult", 2)}, key=key))
    assert again.is_replay
    assert again.body == first.body
    (hold,) = live_holds(world, venue)
    assert contents(hold) == [("a", 3, 4500)], "the retry had no second effect"


def test_kept_units_keep_their_price_and_the_newest_are_dropped_first(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    world.set_price(venue, "adult", 6000)
    more = changed(engine, venue.fill("basket", {"a": ("adult", 4)}))
    assert contents(more) == [("a", 2, 4500), ("a", 2, 6000)]
    assert more.total.minor == 2 * 4500 + 2 * 6000
    world.set_price(venue, "adult", 7000)
    most = changed(engine, venue.fill("basket", {"a": ("adult", 5)}))
    assert contents(most) == [("a", 2, 4500), ("a", 2, 6000), ("a", 1, 7000)]
    less = changed(engine, venue.fill("basket", {"a": ("adult", 3)}))
    assert contents(less) == [("a", 2, 4500), ("a", 1, 6000)]
    assert world.hold(venue, less.id) == less
    least = changed(engine, venue.fill("basket", {"a": ("adult", 1)}))
    assert contents(least) == [("a", 1, 4500)]
    world.set_price(venue, "adult", 4500)
    joined = changed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    assert contents(joined) == [("a", 2, 4500)], "units of the same price share a line"


def test_a_custom_price_replaces_the_catalog_price(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.fill("basket", {"a": venue.some("adult", 2, price=1000)}))
    same = unchanged(engine, venue.fill("basket", {"a": ("adult", 2)}))
    assert contents(same) == [("a", 2, 1000)], "without a custom price nothing changes"
    after = changed(engine, venue.fill("basket", {"a": venue.some("adult", 2, price=900)}))
    assert contents(after) == [("a", 2, 900)]


def test_a_cart_gets_as_many_as_are_available(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.place(("adult", 7), holder=STRANGER))
    wish = {"a": venue.some("adult", 5, at_least=2)}
    hold = placed(engine, venue.fill("basket", wish))
    assert contents(hold) == [("a", 3, 4500)]
    facts = world.facts(venue)
    assert unchanged(engine, venue.fill("basket", wish)) == hold, "no more are available"
    assert world.facts(venue) == facts
    refusal = refused(engine, venue.fill("basket", {"a": venue.some("adult", 5, at_least=4)}))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert world.hold(venue, hold.id) == hold


def test_a_cart_that_would_get_nothing_is_refused(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.place(("adult", 8), holder=STRANGER))
    placed(engine, venue.place(("child", 2), holder=STRANGER))
    refusal = refused(engine, venue.fill("basket", {"a": venue.some("adult", 2, at_least=0)}))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert all(hold.holder == STRANGER for hold in live_holds(world, venue))


def test_a_change_leaves_one_fact_and_one_audit_row_with_the_difference(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    changed(engine, venue.fill("basket", {"a": ("adult", 3)}))
    assert world.facts(venue)[facts:] == [("hold.changed", hold.id, 2, None)]
    assert world.audit(venue)[audit:] == [
        ("hold.changed", hold.id, "test", "active", "active", None)
    ]
