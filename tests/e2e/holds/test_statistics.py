"""Outcomes of holds: how many expire, change, are renewed, paid for or join the waitlist."""

from typing import Any

import pytest

from tests.e2e.answers import first_error, problem_of, seconds_between
from tests.e2e.cart_calls import Cart, item
from tests.e2e.owner import Owner
from tests.e2e.paying import completed, confirmed, ok, post, read
from tests.support.platform import Json, Platform, Sale

AGES = 601
NOTHING = {
    "holds": 0,
    "holders": 0,
    "reservations_per_minute": 0.0,
    "expired": 0,
    "converted": 0,
    "cancelled": 0,
    "renewed": 0,
    "changed": 0,
    "promoted": 0,
    "left_waitlist": 0,
    "checkouts": 0,
}


def window(platform: Platform, **query: Any) -> Json:
    stats = read(platform, "/api/stats", **query)
    shown = dict(stats["window"])
    assert stats["at"] > shown.pop("since")
    return shown


def person(platform: Platform, sale: Sale, name: str, quantity: int = 1) -> Json:
    return ok(platform.place(sale, quantity, customer_email=f"{name}@example.com"), 201)


def test_an_empty_window_has_no_rates(platform: Platform) -> None:
    assert window(platform) == NOTHING


def test_active_holds_are_not_counted_as_ended(platform: Platform) -> None:
    sale = platform.on_sale(10)
    for name in ("ada", "ada", "bob"):
        person(platform, sale, name)
    counted = window(platform, hours=1)
    assert (counted["holds"], counted["holders"]) == (3, 2)
    assert counted["holds_per_holder"] == 1.5
    assert counted.get("conversion_rate") is counted.get("expiration_rate") is None


def test_the_pace_is_measured_from_the_first_hold(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10)
    for name in ("ada", "bob", "eve"):
        person(platform, sale, name)
    # At least one minute counts, so a burst does not inflate the pace.
    assert window(platform, hours=1)["reservations_per_minute"] == 3.0
    owner.let_pass(platform.organization_id, 600)
    person(platform, sale, "late")
    for hours in (1, 24):
        assert window(platform, hours=hours)["reservations_per_minute"] == pytest.approx(0.4, 0.1)


def test_every_end_is_counted(unreaped: Platform, unreaped_owner: Owner) -> None:
    """One expires, one is released, one is paid without a checkout, one with it, and one checks out
    but does not pay."""
    sale = unreaped.on_sale(10)
    person(unreaped, sale, "late")
    unreaped_owner.let_pass(unreaped.organization_id, AGES)
    gone, direct, paid, undecided = (person(unreaped, sale, f"p{i}") for i in range(4))
    ok(post(unreaped, f"/api/holds/{gone['hold_id']}/release", {}))
    ok(confirmed(unreaped, direct))
    checkout, left = (
        ok(post(unreaped, "/api/checkouts", {"hold_ids": [hold["hold_id"]]}), 201)
        for hold in (paid, undecided)
    )
    assert left["holds"][0]["hold_id"] == undecided["hold_id"]
    ok(completed(unreaped, checkout), 201)
    ok(post(unreaped, f"/api/holds/{undecided['hold_id']}/release", {}))
    counted = window(unreaped)
    assert (counted["expired"], counted["converted"], counted["cancelled"]) == (1, 2, 2)
    assert (counted["expiration_rate"], counted["conversion_rate"]) == (0.2, 0.4)
    assert (counted["checkouts"], counted["hold_to_checkout_rate"]) == (3, 0.6)
    assert counted["abandonment_rate"] == 0.3333


def test_changed_and_renewed_carts_are_counted(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(10)
    changed, back, other, still = (Cart(unreaped, sale) for _ in range(4))
    changed.new(item(sale, 1))
    changed.filled(item(sale, 2))
    changed.filled(item(sale, 1))
    ok(changed.delete())
    changed.new(item(sale, 1))
    back.new(item(sale, 1))
    other.new(item(sale, 1))
    unreaped_owner.let_pass(unreaped.organization_id, AGES)
    ok(back.renew(), 201)
    other.new(item(sale, 3))
    still.new(item(sale, 1))
    still.filled(item(sale, 1))
    counted = window(unreaped)
    assert (counted["changed"], counted["renewed"]) == (1, 2)
    assert (counted["holds"], counted["holders"]) == (7, 4)


def test_promotions_from_the_waitlist_are_counted(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(1, hold_policy={"waitlist": True})
    hold = person(platform, sale, "first")
    for _ in range(2):
        ok(platform.place(sale), 202)
    owner.let_pass(platform.organization_id, 120)
    ok(post(platform, f"/api/holds/{hold['hold_id']}/release", {}))
    counted = window(platform)
    assert counted["promoted"] == 1
    assert 120 <= counted["average_wait_seconds"] < 180
    assert counted["changed"] == 0


def test_holds_that_only_waited_are_not_counted(unreaped: Platform, unreaped_owner: Owner) -> None:
    """One buyer holds everything. On the waitlist one leaves, one expires and rejoins, and one
    changes the cart."""
    policy = {"waitlist": True, "waiting_seconds": 60, "ttl_seconds": 3600}
    sale = unreaped.on_sale(3, hold_policy=policy)
    person(unreaped, sale, "first", 3)
    late, gone, changed = (Cart(unreaped, sale) for _ in range(3))
    late.filled(item(sale, 1), status=202)
    unreaped_owner.let_pass(unreaped.organization_id, 61)
    ok(late.renew(), 202)
    gone.filled(item(sale, 1), status=202)
    ok(gone.delete())
    changed.filled(item(sale, 2), status=202)
    changed.filled(item(sale, 1), status=202)
    counted = window(unreaped)
    assert (counted["holds"], counted["holders"]) == (1, 1)
    ends = ("expired", "converted", "cancelled", "renewed", "changed")
    assert {counted[each] for each in ends} == {0}
    assert counted.get("expiration_rate") is counted.get("conversion_rate") is None
    assert (counted["promoted"], counted["left_waitlist"]) == (0, 2)


def test_only_the_window_and_only_the_session_are_counted(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    sale, other = platform.on_sale(10), platform.on_sale(10)
    person(platform, sale, "long-ago")
    owner.let_pass(platform.organization_id, 2 * 3600)
    person(platform, sale, "ada")
    person(platform, other, "bob")
    theirs = neighbour.on_sale(10)
    person(neighbour, theirs, "eve")
    assert window(platform, hours=1)["holds"] == 2
    assert window(platform, hours=3)["holds"] == 3
    assert window(platform, hours=1, session_id=sale.session_id)["holds"] == 1
    assert window(platform, session_id=sale.session_id)["holds"] == 2
    foreign = platform.client.get("/api/stats", params={"session_id": theirs.session_id})
    problem_of(foreign, 400, "invalid_session")
    stats = read(platform, "/api/stats", hours=168)
    length = seconds_between(stats["window"]["since"], stats["at"])
    assert length == pytest.approx(168 * 3600, abs=5)


@pytest.mark.parametrize("hours", ["0", "169", "1.5", "day", ""])
def test_a_window_must_be_in_range(platform: Platform, hours: str) -> None:
    answer = platform.client.get("/api/stats", params={"hours": hours})
    assert first_error(answer) == ("hours", "invalid_value")
