"""Cart ownership, cart endings, and their facts and audit rows, on every store."""

from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from tests.contract.asking import (
    ask,
    changed,
    converted,
    emptied,
    placed,
    refused,
    started,
    unchanged,
    waiting,
)
from tests.contract.carts.test_carts import contents, hall, held, live_holds
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT


def test_nobody_can_change_the_cart_of_another_person(world: World, engine: Admission) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    for command in (
        venue.fill("basket", {"a": ("adult", 3)}, holder=STRANGER),
        venue.empty("basket", STRANGER),
        venue.renew("basket", holder=STRANGER),
    ):
        assert refused(engine, command).code is RefusalCode.CART_OF_ANOTHER_HOLDER
    assert world.hold(venue, hold.id) == hold
    world.let_pass(venue, 601)
    refusal = refused(engine, venue.renew("basket", holder=STRANGER))
    assert refusal.code is RefusalCode.CART_OF_ANOTHER_HOLDER
    placed(engine, venue.renew("basket", holder=BUYER))
    assert emptied(engine, venue.empty("basket", BUYER)) is not None
    placed(engine, venue.fill("basket", {"a": ("adult", 3)}, holder=STRANGER))


def test_an_email_given_later_replaces_the_holders_email(world: World, engine: Admission) -> None:
    venue = hall(world)
    first, second = EmailAddress("first@example.com"), EmailAddress("second@example.com")
    items = {"a": ("adult", 2)}
    hold = placed(engine, venue.fill("basket", items, holder=Holder(user_id="u1")))
    named = changed(engine, venue.fill("basket", items, holder=Holder(first, "u1")))
    assert named == replace(
        hold, holder=Holder(first, "u1"), version=2, updated_at=named.updated_at
    )
    assert world.hold(venue, hold.id) == named
    assert held(world, venue) == (2, 2, 0)
    # Leaving the address out keeps it; only a different one replaces it.
    assert unchanged(engine, venue.fill("basket", items, holder=Holder(user_id="u1"))) == named
    assert unchanged(engine, venue.fill("basket", items, holder=Holder(first, "u1"))) == named
    more = venue.fill("basket", {"a": ("adult", 3)}, holder=Holder(second, "u1"))
    assert changed(engine, more).holder == Holder(second, "u1")
    assert world.hold(venue, hold.id).holder == Holder(second, "u1")


def test_a_waiting_or_renewed_cart_accepts_a_new_email(world: World, engine: Admission) -> None:
    policy = HoldPolicy(waitlist=True, ttl_seconds=60)
    venue = world.build(Plan({"floor": 1}, {"standing": ("floor",)}, policy))
    items = {"a": ("standing", 1)}
    user, named = Holder(user_id="u1"), Holder(EmailAddress("me@example.com"), "u1")
    taken = placed(engine, venue.place(("standing", 1), holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", items, holder=user))
    updated = waiting(engine, venue.fill("basket", items, holder=named))
    assert (updated.id, updated.holder, updated.waiting) == (hold.id, named, hold.waiting)
    ask(engine, venue.release(taken.id))
    assert world.hold(venue, hold.id).holder == named
    world.let_pass(venue, 62)
    other = replace(named, email=EmailAddress("other@example.com"))
    renewed = placed(engine, venue.renew("basket", holder=other))
    assert world.hold(venue, renewed.id).holder == other


def test_a_cart_belongs_to_one_session_at_a_time(world: World, engine: Admission) -> None:
    venue = hall(world)
    other = world.build(Plan({"floor": 5}, {"standing": ("floor",)}), beside=venue)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    refusal = refused(engine, other.fill("basket", {"a": ("standing", 1)}))
    assert refusal.code is RefusalCode.CART_OF_ANOTHER_SESSION
    assert refusal.details["session_id"] == str(venue.session_id)
    assert world.hold(venue, hold.id) == hold
    emptied(engine, venue.empty("basket"))
    placed(engine, other.fill("basket", {"a": ("standing", 1)}))


def test_a_waiting_cart_can_take_a_seat_instead_under_the_one_hold_rule(
    world: World, engine: Admission
) -> None:
    policy = HoldPolicy(waitlist=True, one_active_hold=True)
    seats = Hall({"Stalls": {"A": 2}, "Balcony": {"B": 1}}, {"seat": ()})
    venue = world.build(Plan({}, {}, policy, seats))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", {"a": venue.some("seat", 2, block="Stalls")}))
    instead = placed(engine, venue.fill("basket", {"a": venue.these("Balcony B 1")}))
    assert instead in live_holds(world, venue)
    assert world.hold(venue, hold.id).status is HoldStatus.CANCELLED
    refusal = refused(engine, venue.fill("other", {"a": venue.some("seat", 1)}))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS


def test_two_organizations_can_use_the_same_cart_id(world: World, engine: Admission) -> None:
    one, other = hall(world), hall(world)
    placed(engine, one.fill("basket", {"a": ("adult", 2)}))
    placed(engine, other.fill("basket", {"a": ("adult", 3)}, holder=STRANGER))
    assert (held(world, one)[0], held(world, other)[0]) == (2, 3)


def test_emptying_a_cart_releases_its_hold_and_can_be_repeated(
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
def test_a_cart_can_shrink_after_the_sale_but_not_grow(
    world: World, engine: Admission, by: str
) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 3), "b": ("child", 1)}))
    if by == "the end of the sale":
        world.end_sale(venue)
    else:
        world.set_status(venue, EventStatus.CANCELLED)
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


def test_a_cart_changed_during_checkout_refuses_the_old_total(
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
    assert new.id != hold.id, "a converted hold leaves its cart"


def test_the_hold_of_a_cart_can_be_released_like_any_other(world: World, engine: Admission) -> None:
    venue = hall(world)
    hold = placed(engine, venue.fill("basket", {"a": ("adult", 2)}))
    ask(engine, venue.release(hold.id))
    assert emptied(engine, venue.empty("basket")) is None
    assert placed(engine, venue.fill("basket", {"a": ("adult", 2)})).id != hold.id


def test_audit_rows_show_what_a_cart_had_and_the_call_that_changed_it(database_url: str) -> None:
    world = PostgresWorld(database_url)
    venue = hall(world)
    engine = Admission(world.store, PATIENT)
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
