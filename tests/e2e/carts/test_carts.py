"""A cart always has exactly the hold it shows."""

from uuid import uuid4

import pytest

from tests.e2e.answers import problem_of, seconds_between
from tests.e2e.cart_calls import Cart, assert_held, item, quantities, seats
from tests.e2e.owner import Owner
from tests.e2e.paying import ok
from tests.support.platform import Platform

AGES = 601


class TestFilling:
    def test_a_new_cart_gets_a_hold_with_its_items(self, platform: Platform) -> None:
        sale = platform.on_sale(10, 10)
        cart = Cart(platform, sale)
        hold = cart.new(item(sale, 2), item(sale, 1, 2), notes="Gift", source="scanner")
        assert (hold["status"], hold["cart_token"]) == ("active", cart.name)
        assert (hold["notes"], hold["source"], hold["can_renew"]) == ("Gift", "scanner", False)
        assert (hold.get("position"), hold.get("estimated_wait_seconds")) == (None, None)
        assert quantities(hold) == {"item-1": 2, "item-2": 1}
        (group_id,) = {line["group_id"] for line in hold["lines"]}
        assert group_id is not None
        assert (hold["quantity"], hold["total"]) == (3, 3 * 4500)
        shown = cart.now()
        assert shown["hold_id"] == hold["hold_id"]
        assert shown["lines"] == hold["lines"]
        assert_held(platform, cart, 2, 1)

    def test_changing_the_quantity_keeps_the_hold_and_its_expiry(
        self, platform: Platform, owner: Owner
    ) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        first = cart.new(item(sale, 2))
        for quantity in (4, 3, 5):
            hold = cart.filled(item(sale, quantity))
            assert (hold["hold_id"], hold["quantity"]) == (first["hold_id"], quantity)
            assert hold["expires_at"] == first["expires_at"]
            assert_held(platform, cart, quantity)
        assert [each["hold_id"] for each in cart.holds("active")] == [first["hold_id"]]
        assert cart.holds("expired") == cart.holds("cancelled") == []
        kinds = [kind for kind, _ in owner.facts(first["hold_id"])]
        assert kinds == ["hold.created"] + 3 * ["hold.changed"]
        owner.assert_counters_add_up(platform.organization_id)

    def test_an_added_item_has_another_group_than_a_kept_one(self, platform: Platform) -> None:
        sale = platform.on_sale(10, 10)
        cart = Cart(platform, sale)
        (before,) = cart.new(item(sale, 2))["lines"]
        kept, added = cart.filled(item(sale, 2), item(sale, 1, 2))["lines"]
        assert kept == before
        assert added["group_id"] != before["group_id"]

    def test_repeating_the_same_cart_changes_nothing(
        self, platform: Platform, owner: Owner
    ) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        first = cart.new(item(sale, 2))
        again = cart.put(item(sale, 2))
        assert ok(again)["version"] == first["version"] == 1
        assert again.headers["idempotent-replayed"] == "true"
        assert len(owner.facts(first["hold_id"])) == 1

    def test_a_refused_increase_leaves_the_hold_unchanged(self, platform: Platform) -> None:
        sale = platform.on_sale(5, 5)
        cart = Cart(platform, sale)
        first = cart.new(item(sale, 3), item(sale, 1, 2))
        problem = problem_of(
            cart.put(item(sale, 1), item(sale, 6, 2)), 409, "insufficient_inventory"
        )
        assert problem["available_quantity"] == 4
        assert cart.now()["version"] == first["version"]
        assert_held(platform, cart, 3, 1)

    def test_a_refused_change_is_in_the_audit(self, platform: Platform, owner: Owner) -> None:
        sale = platform.on_sale(2)
        cart = Cart(platform, sale)
        problem_of(cart.put(item(sale, 3)), 409, "insufficient_inventory")
        attempts = owner.failed_attempts(platform.organization_id)
        assert attempts == [("cart.fill_failed", "insufficient_inventory")]

    def test_a_decrease_succeeds_when_everything_is_sold_out(self, platform: Platform) -> None:
        sale = platform.on_sale(4)
        cart = Cart(platform, sale)
        cart.new(item(sale, 4))
        assert cart.filled(item(sale, 1))["quantity"] == 1
        assert_held(platform, cart, 1)

    def test_a_cart_can_take_as_many_as_are_left(self, platform: Platform) -> None:
        sale = platform.on_sale(5)
        ok(platform.place(sale, 2), 201)
        cart = Cart(platform, sale)
        assert cart.new(item(sale, 4, at_least=2))["quantity"] == 3
        short = Cart(platform, sale)
        problem_of(short.put(item(sale, 4, at_least=1)), 409, "insufficient_inventory")
        problem_of(short.get(), 404, "hold_not_found")

    def test_kept_items_keep_their_price_and_new_ones_get_todays(self, platform: Platform) -> None:
        sale = platform.on_sale(10, 10)
        cart = Cart(platform, sale)
        cart.new(item(sale, 2), item(sale, 1, 2))
        for ticket_type_id in sale.ticket_type_ids:
            ok(platform.client.patch(f"/api/ticket-types/{ticket_type_id}", json={"price": 9900}))
        hold = cart.filled(item(sale, 3), item(sale, 1, 2))
        prices = sorted((line["unit_price"], line["quantity"]) for line in hold["lines"])
        assert prices == [(4500, 1), (4500, 2), (9900, 1)]
        less = cart.filled(item(sale, 1))
        assert [(line["unit_price"], line["quantity"]) for line in less["lines"]] == [(4500, 1)]

    def test_seats_are_held_and_freed_with_the_cart(self, platform: Platform, owner: Owner) -> None:
        hall = platform.hall(2, 4)
        one, two, three, four = hall.row(0)
        cart = Cart(platform, hall)
        first = cart.new(seats(one, two))
        hold = cart.filled(seats(two, three))
        assert hold["hold_id"] == first["hold_id"]
        assert set(hold["seat_ids"]) == {two, three}
        ok(
            platform.client.post(
                f"/api/events/{hall.event_id}/seats/{one}/reserve", json={"user_id": "quick"}
            ),
            201,
        )
        problem_of(cart.put(seats(two, three, one, four)), 409, "seat_held_by_another_user")
        assert set(cart.now()["seat_ids"]) == {two, three}
        released = [
            payload for kind, payload in owner.facts(first["hold_id"]) if kind == "seat.released"
        ]
        assert [(each["seat_id"], each["reason"]) for each in released] == [(one, "user_released")]

    def test_a_cart_can_hold_the_best_seats_together(self, platform: Platform) -> None:
        hall = platform.hall(2, 4)
        ok(
            platform.client.post(
                f"/api/events/{hall.event_id}/seats/{hall.row(0)[1]}/reserve",
                json={"user_id": "early"},
            ),
            201,
        )
        asked = {"cart_item_id": "a", "ticket_type_id": hall.ticket_type_id, "quantity": 4}
        hold = Cart(platform, hall).new(asked | {"together": True})
        assert hold["adjacent"] is True
        assert set(hold["seat_ids"]) == set(hall.row(1))
        short = Cart(platform, hall).put(asked | {"quantity": 3, "together": True})
        assert problem_of(short, 409, "insufficient_inventory")["available_quantity"] == 2

    def test_cart_names_are_taken_literally(self, platform: Platform) -> None:
        sale = platform.on_sale(100)
        names = [*("a", "A", "a/b", "a b", "ä", "100%", "a?b", "x" * 255), str(uuid4()).upper()]
        holds = [Cart(platform, sale, name).new(item(sale, 1)) for name in names]
        assert [hold["cart_token"] for hold in holds] == names
        assert len({hold["hold_id"] for hold in holds}) == len(names)
        for name, hold in zip(names, holds, strict=True):
            assert Cart(platform, sale, name).now()["hold_id"] == hold["hold_id"]


class TestEmptying:
    def test_removing_all_items_releases_the_hold(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        hold = cart.new(item(sale, 2))
        empty = ok(platform.client.put(cart.path, json={"items": []}))
        assert empty == {
            "cart_token": cart.name,
            "status": "empty",
            "released_hold_id": hold["hold_id"],
        }
        assert_held(platform, cart, 0)
        assert cart.now()["status"] == "cancelled"
        assert cart.now()["can_renew"] is False

    def test_emptying_an_empty_or_unknown_cart_succeeds(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        nothing = {"cart_token": cart.name, "status": "empty"}
        assert ok(cart.delete()) == ok(cart.put()) == nothing
        hold = cart.new(item(sale, 2))
        assert ok(cart.delete())["released_hold_id"] == hold["hold_id"]
        assert ok(cart.delete()) == nothing

    def test_a_cart_without_items_holds_nothing(self, platform: Platform, owner: Owner) -> None:
        cart = Cart(platform, platform.on_sale(10))
        before = owner.everything(platform.organization_id)
        ok(cart.put())
        problem_of(cart.get(), 404, "hold_not_found")
        problem_of(cart.renew(), 400, "empty_cart")
        assert owner.everything(platform.organization_id) == before

    def test_an_emptied_cart_can_be_filled_again(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        first = cart.new(item(sale, 2))
        ok(cart.delete())
        second = cart.new(item(sale, 3))
        assert second["hold_id"] != first["hold_id"]
        assert cart.now()["hold_id"] == second["hold_id"]


class TestRenewing:
    @pytest.mark.parametrize("is_written_down", [True, False])
    def test_renewing_an_expired_cart_gives_it_a_new_hold(
        self, unreaped: Platform, unreaped_owner: Owner, is_written_down: bool
    ) -> None:
        sale = unreaped.on_sale(2)
        cart = Cart(unreaped, sale)
        first = cart.new(item(sale, 2))
        unreaped_owner.let_pass(unreaped.organization_id, AGES)
        if is_written_down:  # another buyer takes the places and releases them again
            other = ok(unreaped.place(sale, 2), 201)
            ok(unreaped.client.post(f"/api/holds/{other['hold_id']}/release"))
        shown = cart.now()
        assert (shown["status"], shown["can_renew"]) == ("expired", True)
        fresh = ok(cart.renew(), 201)
        assert fresh["hold_id"] != first["hold_id"]
        assert quantities(fresh) == {"item-1": 2}
        assert 600 <= seconds_between(fresh["created_at"], fresh["expires_at"]) < 601
        assert cart.now()["hold_id"] == fresh["hold_id"]
        assert_held(unreaped, cart, 2)

    def test_filling_an_expired_cart_gives_it_a_new_hold(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        sale = unreaped.on_sale(2)
        cart = Cart(unreaped, sale)
        first = cart.new(item(sale, 2))
        unreaped_owner.let_pass(unreaped.organization_id, AGES)
        assert cart.new(item(sale, 2))["hold_id"] != first["hold_id"]
        assert_held(unreaped, cart, 2)

    def test_renewing_a_live_hold_changes_nothing(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        first = cart.new(item(sale, 2))
        again = ok(cart.renew())
        assert (again["hold_id"], again["version"]) == (first["hold_id"], 1)
        assert again["expires_at"] == first["expires_at"]

    def test_a_renewal_is_refused_when_others_took_the_places(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        sale = unreaped.on_sale(2)
        cart = Cart(unreaped, sale)
        cart.new(item(sale, 2))
        unreaped_owner.let_pass(unreaped.organization_id, AGES)
        ok(unreaped.place(sale, 1), 201)
        problem_of(cart.renew(), 409, "insufficient_inventory")
        assert cart.now()["can_renew"] is True

    def test_a_released_or_paid_cart_is_not_renewed(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        released_cart, paid_cart = Cart(platform, sale), Cart(platform, sale)
        released_cart.new(item(sale, 2))
        ok(released_cart.delete())
        problem_of(released_cart.renew(), 400, "empty_cart")
        hold = paid_cart.new(item(sale, 2))
        ok(platform.client.post(f"/api/holds/{hold['hold_id']}/confirm", json={}))
        problem_of(paid_cart.renew(), 400, "empty_cart")


class TestStrangers:
    def test_nobody_changes_another_persons_cart(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale)
        cart.new(item(sale, 2))
        stranger = Cart(platform, sale, cart.name)
        for answer in (
            stranger.put(item(sale, 1)),
            stranger.put(),
            stranger.renew(customer_email=stranger.customer_email),
        ):
            problem_of(answer, 409, "cart_of_another_holder")
        assert_held(platform, cart, 2)
        assert ok(cart.renew(customer_email=cart.customer_email))["quantity"] == 2

    def test_an_email_address_may_be_added_later_but_notes_stay_those_of_the_first_call(
        self, platform: Platform
    ) -> None:
        sale = platform.on_sale(10)
        cart = Cart(platform, sale, customer_email=f"later-{uuid4().hex[:8]}@example.com")
        cart.new(item(sale, 1), customer_email=None, user_id="user-1", notes="Gift")
        assert cart.holds("active") == []
        hold = cart.filled(item(sale, 1), user_id="user-1", notes="Another")
        assert (hold["version"], hold["notes"]) == (2, "Gift")
        assert [each["hold_id"] for each in cart.holds("active")] == [hold["hold_id"]]

    def test_a_cart_holds_places_of_one_session_at_a_time(self, platform: Platform) -> None:
        friday, saturday = platform.on_sale(10), platform.on_sale(10)
        cart = Cart(platform, friday)
        cart.new(item(friday, 2))
        there = Cart(platform, saturday, cart.name, cart.customer_email)
        problem = problem_of(there.put(item(saturday, 1)), 409, "cart_of_another_session")
        assert problem["session_id"] == friday.session_id
        nowhere = cart.put(item(friday, 1), session_id=str(uuid4()))
        problem_of(nowhere, 409, "cart_of_another_session")
        ok(cart.delete())
        problem_of(cart.put(item(friday, 1), session_id=str(uuid4())), 400, "invalid_session")
        assert there.new(item(saturday, 1))["session_id"] == saturday.session_id

    def test_two_organizations_may_use_the_same_cart_name(
        self, platform: Platform, neighbour: Platform
    ) -> None:
        sale, theirs = platform.on_sale(10), neighbour.on_sale(10)
        cart = Cart(platform, sale)
        cart.new(item(sale, 2))
        there = Cart(neighbour, theirs, cart.name)
        problem_of(there.get(), 404, "hold_not_found")
        problem_of(there.renew(), 400, "empty_cart")
        assert ok(there.delete()).get("released_hold_id") is None
        there.new(item(theirs, 1))
        problem_of(there.put(item(sale, 1)), 400, "invalid_ticket_type")
        assert cart.now()["quantity"] == 2
