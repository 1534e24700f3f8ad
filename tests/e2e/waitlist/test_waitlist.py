"""The waitlist serves parties in order, in the transaction that frees a place."""

from functools import partial
from typing import Any

import pytest

from tests.e2e.answers import problem_of, seconds_between
from tests.e2e.cart_calls import Cart, in_parallel, item
from tests.e2e.owner import Owner
from tests.e2e.paying import hold_now, ok, read
from tests.support.patience import wait_until
from tests.support.platform import Hall, Json, Platform, Sale

AGES = 601
POLICY = {"waitlist": True}


def sold_out(platform: Platform, capacity: int = 2, **policy: object) -> tuple[Sale, Json]:
    """A sale whose tickets are all in one hold."""
    sale = platform.on_sale(capacity, hold_policy=POLICY | policy)
    return sale, ok(platform.place(sale, capacity), 201)


def waiting(platform: Platform, sale: Sale, quantity: int = 1, **more: Any) -> Json:
    return ok(platform.place(sale, quantity, **more), 202)


def released(platform: Platform, hold: Json) -> Json:
    return ok(platform.client.post(f"/api/holds/{hold['hold_id']}/release"))


def is_promoted(platform: Platform, hold: Json) -> bool:
    return bool(hold_now(platform, hold)["status"] == "active")


def pool_of(platform: Platform, sale: Sale) -> str:
    ticket_type = read(platform, f"/api/ticket-types/{sale.ticket_type_id}")
    return str(ticket_type["pool_ids"][0])


class TestJoining:
    def test_a_buyer_who_finds_nothing_left_joins_with_a_position(
        self, platform: Platform, owner: Owner
    ) -> None:
        sale, _ = sold_out(platform)
        first, second = waiting(platform, sale), waiting(platform, sale, 2)
        assert (first["status"], first["position"]) == ("waiting", 1)
        assert (second["status"], second["position"]) == ("waiting", 2)
        assert (first.get("held_at"), first.get("estimated_wait_seconds")) == (None, None)
        assert (first["total"], second["total"]) == (4500, 9000)
        lasts = seconds_between(first["created_at"], first["expires_at"])
        assert 24 * 3600 <= lasts < 24 * 3600 + 1
        assert [kind for kind, _ in owner.facts(first["hold_id"])] == ["hold.waiting"]
        assert platform.available(sale) == [0]
        owner.assert_counters_add_up(platform.organization_id)

    def test_a_waiting_hold_can_be_read_and_listed(self, platform: Platform) -> None:
        sale, _ = sold_out(platform)
        first, second = waiting(platform, sale), waiting(platform, sale)
        assert hold_now(platform, second)["position"] == 2
        listed = read(platform, "/api/holds", status="waiting")["data"]
        assert [each["hold_id"] for each in listed] == [second["hold_id"], first["hold_id"]]
        assert {each["status"] for each in listed} == {"waiting"}
        assert {each.get("position") for each in listed} == {None}

    def test_joining_is_refused_without_the_policy(self, platform: Platform) -> None:
        sale = platform.on_sale(1)
        ok(platform.place(sale), 201)
        problem_of(platform.place(sale), 409, "insufficient_inventory")

    def test_nobody_joins_for_more_than_the_capacity(self, platform: Platform) -> None:
        sale, _ = sold_out(platform, 2)
        problem_of(platform.place(sale, 3), 409, "insufficient_inventory")

    def test_nobody_joins_for_specific_seats(self, platform: Platform) -> None:
        hall = platform.hall(1, 2, hold_policy=POLICY)
        body = {"session_id": hall.session_id, "seat_ids": [hall.seat_ids[0]]}
        ok(platform.client.post("/api/holds", json=body | {"user_id": "one"}), 201)
        again = platform.client.post("/api/holds", json=body | {"user_id": "two"})
        problem_of(again, 409, "seat_held_by_another_user")

    def test_the_policy_limits_the_entries_of_a_person(self, platform: Platform) -> None:
        sale, _ = sold_out(platform, 1, waiting_places_max=2)
        email = "often@example.com"
        for _ in range(2):
            waiting(platform, sale, customer_email=email)
        problem = problem_of(
            platform.place(sale, customer_email=email), 409, "waiting_places_exceeded"
        )
        assert problem["maximum"] == 2
        assert waiting(platform, sale)["position"] == 3

    def test_a_newcomer_cannot_overtake(self, platform: Platform) -> None:
        """The free place is kept for a party of two."""
        sale = platform.on_sale(3, hold_policy=POLICY)
        ok(platform.place(sale, 2), 201)
        first = waiting(platform, sale, 2)
        assert platform.available(sale) == [1]
        assert waiting(platform, sale, 1)["position"] == 2
        assert hold_now(platform, first)["position"] == 1

    def test_a_retried_join_gets_the_first_answer(self, platform: Platform) -> None:
        sale, hold = sold_out(platform)
        more: Json = {"customer_email": "again@example.com", "key": "join-1"}
        first = platform.place(sale, **more)
        assert (first.status_code, first.json()["position"]) == (202, 1)
        released(platform, hold)
        again = platform.place(sale, **more)
        assert (again.status_code, again.content) == (202, first.content)
        assert again.headers["idempotent-replayed"] == "true"
        assert is_promoted(platform, first.json())


class TestLeaving:
    def test_the_others_move_up_when_someone_leaves(self, platform: Platform, owner: Owner) -> None:
        sale, hold = sold_out(platform, 1)
        first, second = waiting(platform, sale), waiting(platform, sale)
        assert released(platform, first)["status"] == "cancelled"
        assert hold_now(platform, second)["position"] == 1
        released(platform, hold)
        assert is_promoted(platform, second)
        kinds = [kind for kind, _ in owner.facts(first["hold_id"])]
        assert kinds == ["hold.waiting", "hold.cancelled"]

    def test_a_waitlist_entry_expires(self, platform: Platform, owner: Owner) -> None:
        sale, _ = sold_out(platform, 1, waiting_seconds=300, ttl_seconds=3600)
        hold = waiting(platform, sale)
        owner.let_pass(platform.organization_id, 301)
        assert hold_now(platform, hold)["status"] == "expired"
        owner.wait_for_status(hold["hold_id"], "expired")
        assert waiting(platform, sale)["position"] == 1

    def test_a_waiting_hold_can_be_neither_extended_nor_paid(self, platform: Platform) -> None:
        sale, _ = sold_out(platform)
        path = f"/api/holds/{waiting(platform, sale)['hold_id']}"
        for action, body in (("extend", {"minutes": 5}), ("confirm", {})):
            answer = platform.client.post(f"{path}/{action}", json=body)
            problem = problem_of(answer, 409, "invalid_hold_state")
            assert problem["current_status"] == "waiting"


class TestPromotion:
    def test_a_released_place_goes_to_the_first_on_the_waitlist(
        self, platform: Platform, owner: Owner
    ) -> None:
        sale, hold = sold_out(platform)
        first, second, third = (waiting(platform, sale) for _ in range(3))
        released(platform, hold)
        served = hold_now(platform, first)
        assert (served["status"], served.get("position")) == ("active", None)
        assert served.get("held_at") is not None
        assert 600 <= seconds_between(served["held_at"], served["expires_at"]) < 601
        assert is_promoted(platform, second)
        assert hold_now(platform, third)["position"] == 1
        facts = owner.facts(first["hold_id"])
        assert [kind for kind, _ in facts] == ["hold.waiting", "hold.promoted"]
        assert facts[1][1]["expires_at"] == served["expires_at"]
        assert platform.available(sale) == [0]
        owner.assert_counters_add_up(platform.organization_id)

    def test_expired_places_go_to_the_next_party(self, platform: Platform, owner: Owner) -> None:
        """Including those of a promotion that nobody takes up."""
        sale, _ = sold_out(platform, 1)
        first, second = waiting(platform, sale), waiting(platform, sale)
        for lucky in (first, second):
            owner.let_pass(platform.organization_id, AGES)
            wait_until(partial(is_promoted, platform, lucky), "the next is promoted")
        assert owner.status(first["hold_id"]) == "expired"

    def test_shrinking_a_cart_promotes_the_next(self, platform: Platform) -> None:
        sale = platform.on_sale(3, hold_policy=POLICY)
        cart = Cart(platform, sale)
        cart.new(item(sale, 3))
        hold = waiting(platform, sale, 2)
        cart.filled(item(sale, 2))
        assert hold_now(platform, hold)["position"] == 1
        cart.filled(item(sale, 1))
        assert is_promoted(platform, hold)

    def test_adding_capacity_promotes_the_next(self, platform: Platform) -> None:
        sale, _ = sold_out(platform, 2)
        hold = waiting(platform, sale, 2)
        answer = platform.client.patch(
            f"/api/pools/{pool_of(platform, sale)}", json={"capacity": 4}
        )
        assert ok(answer)["capacity"] == 4
        wait_until(lambda: is_promoted(platform, hold), "the larger pool has room")

    def test_unblocking_a_seat_promotes_the_next(self, platform: Platform) -> None:
        hall = platform.hall(1, 2, hold_policy=POLICY)
        seats = f"/api/sessions/{hall.session_id}/seats"
        blocking = {"seat_ids": list(hall.seat_ids), "reason": "Camera"}
        ok(platform.client.post(f"{seats}/block", json=blocking))
        hold = ok(platform.client.post("/api/holds", json=_best(hall, 2)), 202)
        assert hold["seat_ids"] == []
        assert [line.get("seat") for line in hold["lines"]] == [None]
        ok(platform.client.post(f"{seats}/unblock", json=blocking))
        served = hold_now(platform, hold)
        assert (served["status"], served["quantity"]) == ("active", 2)
        assert set(served["seat_ids"]) == set(hall.seat_ids)

    def test_a_hold_cancelled_by_an_operator_promotes_the_next(self, platform: Platform) -> None:
        """Blocking one seat cancels its hold, which frees the other seat."""
        hall = platform.hall(1, 2, hold_policy=POLICY)
        held = ok(platform.client.post("/api/holds", json=_best(hall, 2)), 201)
        hold = ok(platform.client.post("/api/holds", json=_best(hall, 1)), 202)
        blocking = {"seat_ids": held["seat_ids"][:1], "reason": "Camera"}
        path = f"/api/sessions/{hall.session_id}/seats/block"
        ok(platform.client.post(path, json=blocking))
        assert hold_now(platform, hold)["seat_ids"] == held["seat_ids"][1:]

    def test_a_party_is_promoted_as_a_whole_or_not_at_all(self, platform: Platform) -> None:
        sale = platform.on_sale(4, hold_policy=POLICY)
        one, three = ok(platform.place(sale, 1), 201), ok(platform.place(sale, 3), 201)
        party, single = waiting(platform, sale, 4), waiting(platform, sale, 1)
        released(platform, three)
        assert not is_promoted(platform, party)
        assert not is_promoted(platform, single)
        released(platform, one)
        assert is_promoted(platform, party)
        assert not is_promoted(platform, single)

    def test_the_policy_limits_how_often_a_party_is_overtaken(self, platform: Platform) -> None:
        sale = platform.on_sale(4, hold_policy=POLICY | {"waiting_passes_max": 1})
        ok(platform.place(sale, 2), 201)
        other = ok(platform.place(sale, 2), 201)
        party = waiting(platform, sale, 4)
        first, second = waiting(platform, sale, 1), waiting(platform, sale, 1)
        released(platform, other)
        assert is_promoted(platform, first)
        assert not is_promoted(platform, second)
        assert hold_now(platform, party)["position"] == 1

    def test_the_estimate_appears_once_the_waitlist_has_moved(
        self, platform: Platform, owner: Owner
    ) -> None:
        sale, hold = sold_out(platform, 3)
        line = [waiting(platform, sale) for _ in range(5)]
        owner.let_pass(platform.organization_id, 300)
        released(platform, hold)
        assert all(is_promoted(platform, each) for each in line[:3])
        last = hold_now(platform, line[4])
        assert last["position"] == 2
        assert 200 <= last["estimated_wait_seconds"] <= 230
        newcomer = waiting(platform, sale)
        assert (newcomer.get("position"), newcomer.get("estimated_wait_seconds")) == (3, None)
        shown = hold_now(platform, newcomer)["estimated_wait_seconds"]
        assert shown > last["estimated_wait_seconds"]

    def test_a_burst_gives_no_estimate(self, platform: Platform, owner: Owner) -> None:
        sale, hold = sold_out(platform, 3)
        line = [waiting(platform, sale) for _ in range(4)]
        released(platform, hold)
        assert is_promoted(platform, line[2])
        assert hold_now(platform, line[3]).get("estimated_wait_seconds") is None
        owner.let_pass(platform.organization_id, 60)
        assert 20 <= hold_now(platform, line[3])["estimated_wait_seconds"] <= 30

    def test_two_freed_places_promote_two_parties(self, platform: Platform, owner: Owner) -> None:
        sale = platform.on_sale(2, hold_policy=POLICY)
        holds = [ok(platform.place(sale), 201) for _ in range(2)]
        line = [waiting(platform, sale) for _ in range(3)]
        paths = [f"/api/holds/{hold['hold_id']}/release" for hold in holds]
        in_parallel([partial(platform.client.post, path) for path in paths])
        assert [is_promoted(platform, each) for each in line] == [True, True, False]
        owner.assert_counters_add_up(platform.organization_id)

    def test_a_cancelled_event_clears_the_waitlist(self, platform: Platform, owner: Owner) -> None:
        sale, _ = sold_out(platform)
        hold = waiting(platform, sale)
        path = f"/api/events/{sale.event_id}"
        ok(platform.client.patch(path, json={"status": "cancelled"}))
        owner.wait_for_status(hold["hold_id"], "cancelled")
        assert owner.facts(hold["hold_id"])[-1][0] == "hold.cancelled"


class TestCartsOnTheWaitlist:
    def test_a_cart_joins_and_is_promoted(self, platform: Platform) -> None:
        sale, hold = sold_out(platform)
        cart = Cart(platform, sale)
        joined = cart.filled(item(sale, 2), status=202)
        assert (joined["status"], joined["position"], joined["can_renew"]) == ("waiting", 1, False)
        assert cart.now()["position"] == 1
        again = cart.filled(item(sale, 2), status=202)
        assert (again["hold_id"], again["version"]) == (joined["hold_id"], joined["version"])
        assert again["position"] == 1
        assert ok(cart.renew(), 202)["position"] == 1
        released(platform, hold)
        assert (cart.now()["status"], cart.now()["quantity"]) == ("active", 2)

    def test_a_smaller_request_keeps_its_position_and_a_larger_one_loses_it(
        self, platform: Platform
    ) -> None:
        sale, _ = sold_out(platform, 4)
        cart = Cart(platform, sale)
        first = cart.filled(item(sale, 2), status=202)
        second = waiting(platform, sale)
        less = cart.filled(item(sale, 1), status=202)
        assert (less["hold_id"], less["position"]) == (first["hold_id"], 1)
        more = cart.filled(item(sale, 3), status=202)
        assert (more["hold_id"], more["position"]) == (first["hold_id"], 2)
        assert hold_now(platform, second)["position"] == 1

    @pytest.mark.parametrize("by", ["delete", "put"])
    def test_emptying_a_cart_leaves_the_waitlist(self, platform: Platform, by: str) -> None:
        sale, _ = sold_out(platform)
        cart = Cart(platform, sale)
        hold = cart.filled(item(sale, 1), status=202)
        answer = cart.delete() if by == "delete" else cart.put()
        assert ok(answer)["released_hold_id"] == hold["hold_id"]
        assert waiting(platform, sale)["position"] == 1

    def test_a_renewal_may_join(self, unreaped: Platform, unreaped_owner: Owner) -> None:
        sale = unreaped.on_sale(2, hold_policy=POLICY)
        cart = Cart(unreaped, sale)
        cart.new(item(sale, 2))
        unreaped_owner.let_pass(unreaped.organization_id, AGES)
        ok(unreaped.place(sale, 1), 201)
        renewed = ok(cart.renew(), 202)
        assert (renewed["status"], renewed["position"]) == ("waiting", 1)

    def test_one_cart_gets_the_last_ticket_and_the_other_joins(self, platform: Platform) -> None:
        sale = platform.on_sale(1, hold_policy=POLICY)
        carts = [Cart(platform, sale), Cart(platform, sale)]
        answers = in_parallel([partial(cart.put, item(sale, 1)) for cart in carts])
        assert sorted(answer.status_code for answer in answers) == [201, 202]


def _best(hall: Hall, quantity: int) -> Json:
    return {
        "session_id": hall.session_id,
        "ticket_type_id": hall.ticket_type_id,
        "quantity": quantity,
        "customer_email": "best@example.com",
    }
