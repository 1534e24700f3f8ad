"""A cart has at most one live hold, and that is what the cart says: on every store alike."""

from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusals import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    answer,
    ask,
    changed,
    converted,
    emptied,
    placed,
    refused,
    started,
    unchanged,
)
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Plan, Venue
from tests.contract.worlds import PostgresWorld


def hall(world: World, total: int = 10) -> Venue:
    return world.build(
        Plan(
            {"house": total, "adults": total, "children": total},
            {"adult": ("adults", "house"), "child": ("children", "house")},
            HoldPolicy(quantity_max=8),
        )
    )


def held(world: World, venue: Venue) -> tuple[int, int, int]:
    """Of the house, by adults, by children."""
    adults, children, house = (
        world.pool(venue.pools[name]).held for name in ("adults", "children", "house")
    )
    assert world.lapse_units(venue.pools["house"]) == house
    return house, adults, children


def contents(hold: Hold) -> list[tuple[str, int, int]]:
    """Item, quantity and price of each line."""
    return [
        (line.item.id if line.item else "", line.quantity, line.unit_price_minor)
        for line in hold.lines
    ]


def live_holds(world: World, venue: Venue) -> list[Hold]:
    ids = [id_ for id_, seen in world.holds(venue).items() if seen.status in {"active", "waiting"}]
    return [world.hold(venue, id_) for id_ in ids]


def test_a_cart_gets_a_hold_of_all_that_it_says(world: World, engine: Admission) -> None:
    venue = hall(world)
    command = venue.fill("basket", {"a": ("adult", 2), "b": ("child", 1)})
    hold = placed(engine, command)
    assert (hold.id, hold.cart, hold.is_cart, hold.version) == (command.hold_id, "basket", True, 1)
    assert contents(hold) == [("a", 2, 4500), ("b", 1, 4500)]
    assert {line.item.group_id for line in hold.lines if line.item} == {command.group_id}
    assert world.hold(venue, hold.id) == hold
    assert held(world, venue) == (3, 2, 1)


def test_quantities_that_change_quickly_leave_one_hold_of_the_last(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    commands = [venue.fill("basket", {"a": ("adult", quantity)}) for quantity in (2, 4, 3, 5)]
    futures = [engine.submit(command) for command in commands]
    for future in futures:
        future.result(10)
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
    ), "the clock is not set back by a change"
    said = sorted((item, quantity) for item, quantity, _ in contents(after))
    assert said == sorted((item, quantity) for item, (_, quantity) in items.items())
    assert world.hold(venue, hold.id) == after
    assert held(world, venue) == units
    assert live_holds(world, venue) == [after]


def test_lines_that_stay_keep_their_order_whatever_the_cart_says_first(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    items = {"a": ("adult", 1), "b": ("child", 2), "c": ("adult", 3)}
    hold = placed(engine, venue.fill("basket", items))
    after = changed(engine, venue.fill("basket", {"c": items["c"], "a": items["a"]}))
    assert contents(after) == [("a", 1, 4500), ("c", 3, 4500)]
    assert world.hold(venue, hold.id) == after


def test_a_full_house_does_not_keep_a_cart_from_changing_what_it_has(
    world: World, engine: Admission
) -> None:
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
def test_a_change_that_is_refused_leaves_everything_as_it_was(
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


def test_the_same_cart_again_changes_nothing(world: World, engine: Admission) -> None:
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


def test_what_stays_keeps_its_price_and_the_newest_is_given_up_first(
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
    assert contents(joined) == [("a", 2, 4500)], "what costs the same is one line"


def test_a_price_that_the_platform_names_is_what_it_says(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.fill("basket", {"a": venue.some("adult", 2, price=1000)}))
    same = unchanged(engine, venue.fill("basket", {"a": ("adult", 2)}))
    assert contents(same) == [("a", 2, 1000)], "who names none leaves it as it was"
    after = changed(engine, venue.fill("basket", {"a": venue.some("adult", 2, price=900)}))
    assert contents(after) == [("a", 2, 900)]


def test_as_many_as_there_are(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.place(("adult", 7), holder=STRANGER))
    wish = {"a": venue.some("adult", 5, at_least=2)}
    hold = placed(engine, venue.fill("basket", wish))
    assert contents(hold) == [("a", 3, 4500)]
    facts = world.facts(venue)
    assert unchanged(engine, venue.fill("basket", wish)) == hold, "there are no more of them"
    assert world.facts(venue) == facts
    refusal = refused(engine, venue.fill("basket", {"a": venue.some("adult", 5, at_least=4)}))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert world.hold(venue, hold.id) == hold


def test_as_many_as_there_are_is_never_nothing(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.place(("adult", 8), holder=STRANGER))
    placed(engine, venue.place(("child", 2), holder=STRANGER))
    refusal = refused(engine, venue.fill("basket", {"a": venue.some("adult", 2, at_least=0)}))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert live_holds(world, venue) == [
        hold for hold in live_holds(world, venue) if hold.holder == STRANGER
    ]


def test_a_change_is_told_and_audited_once_with_what_changed(
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


def test_the_cart_of_another_person_is_left_alone(world: World, engine: Admission) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    for command in (
        venue.fill("basket", {"a": ("adult", 3)}, holder=STRANGER),
        venue.empty("basket", STRANGER),
        venue.renew("basket", holder=STRANGER),
    ):
        assert refused(engine, command).code is RefusalCode.CART_OF_ANOTHER_HOLDER
    assert world.hold(venue, hold.id) == hold
    assert emptied(engine, venue.empty("basket", BUYER)) is not None
    placed(engine, venue.fill("basket", {"a": ("adult", 3)}, holder=STRANGER))


def test_a_cart_is_of_one_session_at_a_time(world: World, engine: Admission) -> None:
    venue = hall(world)
    other = world.build(Plan({"floor": 5}, {"standing": ("floor",)}), beside=venue)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    refusal = refused(engine, other.fill("basket", {"a": ("standing", 1)}))
    assert refusal.code is RefusalCode.CART_OF_ANOTHER_SESSION
    assert refusal.details["session_id"] == str(venue.session_id)
    assert world.hold(venue, hold.id) == hold
    emptied(engine, venue.empty("basket"))
    placed(engine, other.fill("basket", {"a": ("standing", 1)}))


def test_two_carts_of_one_name_in_two_organizations_are_two(
    world: World, engine: Admission
) -> None:
    one, other = hall(world), hall(world)
    placed(engine, one.fill("basket", {"a": ("adult", 2)}))
    placed(engine, other.fill("basket", {"a": ("adult", 3)}, holder=STRANGER))
    assert (held(world, one)[0], held(world, other)[0]) == (2, 3)


def test_an_empty_cart_lets_go_of_its_hold_and_emptying_it_twice_is_no_error(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    assert emptied(engine, venue.empty("basket")) is None
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    released = emptied(engine, venue.empty("basket"))
    assert released is not None
    assert (released.id, released.status, released.version) == (hold.id, HoldStatus.CANCELLED, 2)
    assert emptied(engine, venue.empty("basket")) is None
    assert held(world, venue) == (0, 0, 0)
    assert [fact.type for fact in world.facts(venue)] == ["hold.created", "hold.cancelled"]
    new = placed(engine, venue.fill("basket", {"a": ("adult", 1)}))
    assert new.id != hold.id
    assert live_holds(world, venue) == [new]


@pytest.mark.parametrize("by", ["the end of the sale", "a cancelled event"])
def test_less_is_always_possible_and_more_is_not(world: World, engine: Admission, by: str) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 3), "b": ("child", 1)}))
    world.end_sale(venue) if by == "the end of the sale" else world.cancel_event(venue)
    expected = (
        RefusalCode.EVENT_SALES_CLOSED
        if by == "the end of the sale"
        else RefusalCode.EVENT_UNAVAILABLE
    )
    refusal = refused(engine, venue.fill("basket", {"a": ("adult", 2), "b": ("child", 2)}))
    assert refusal.code is expected
    assert world.hold(venue, hold.id) == hold
    after = changed(engine, venue.fill("basket", {"a": ("adult", 1)}))
    assert contents(after) == [("a", 1, 4500)]


def test_a_cart_that_changed_in_checkout_is_not_paid_for_with_the_old_total(
    world: World, engine: Admission
) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    checkout = started(engine, venue.check_out(hold.id))
    total = checkout.holds[0].total.minor
    after = changed(engine, venue.fill("basket", {"a": ("adult", 3)}))
    assert after.checkout_id == checkout.checkout_id
    assert after.expires_at == checkout.holds[0].expires_at
    command = venue.convert(hold.id, checkout_id=checkout.checkout_id, total_minor=total)
    refusal = refused(engine, command)
    assert refusal.code is RefusalCode.AMOUNT_CHANGED
    assert world.hold(venue, hold.id) == after
    order = converted(engine, replace(command, total_minor=after.total.minor)).order
    assert len(order.tickets) == 3
    assert world.pool(venue.pools["house"]).sold == 3
    new = placed(engine, venue.fill("basket", {"a": ("adult", 1)}))
    assert new.id != hold.id, "what is paid is no longer the cart's"


def test_a_hold_of_a_cart_is_released_like_any_other(world: World, engine: Admission) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    ask(engine, venue.release(hold.id))
    assert emptied(engine, venue.empty("basket")) is None
    assert placed(engine, venue.fill("basket", {"a": ("adult", 2)})).id != hold.id


def test_the_rows_tell_what_a_cart_had_and_with_which_call(database_url: str) -> None:
    world = PostgresWorld(database_url)
    venue = hall(world)
    engine = Admission(world.store)
    engine.start()
    first = venue.fill("basket", {"a": ("adult", 2), "b": ("child", 1)})
    hold = placed(engine, first)
    world.set_price(venue, "adult", 6000)
    second = venue.fill("basket", {"a": ("adult", 3)})
    changed(engine, second)
    third = venue.fill("basket", {"a": ("adult", 1)})
    changed(engine, third)
    with world.connected() as connection:
        rows = connection.execute(
            "SELECT cart_item_id, quantity, unit_price_minor, group_id, added_version,"
            " removed_version FROM hold_line WHERE hold_id = %s ORDER BY position",
            [hold.id],
        ).fetchall()
    engine.stop()
    world.close()
    one, two, three = (UUID(str(command.group_id)) for command in (first, second, third))
    assert rows == [
        ("a", 2, 4500, one, 1, 3),
        ("b", 1, 4500, one, 1, 2),
        ("a", 1, 6000, two, 2, 3),
        ("a", 1, 4500, three, 3, None),
    ]
