"""Occupancy of an event, hold statistics and finding holds."""

from uuid import uuid4

import pytest

from tests.e2e.answers import moment, problem_of
from tests.e2e.halls import NamedHall, build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed
from tests.support.platform import Json, Platform


def occupancy(hall: NamedHall) -> Json:
    answer = hall.platform.client.get(f"/api/events/{hall.event_id}/occupancy")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def counts(seats: Json) -> tuple[int, ...]:
    return tuple(seats[name] for name in ("total", "available", "held", "sold", "blocked"))


def stats(platform: Platform, **query: str) -> Json:
    answer = platform.client.get("/api/stats", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def current_counts(answer: Json) -> Json:
    return {name: value for name, value in answer.items() if name not in {"at", "window"}}


class TestOccupancy:
    def test_seats_are_counted_by_event_session_and_block(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        hall = build_hall(
            unreaped,
            rows={"Stalls": {"A": 6}, "Box": {"A": 3}},
            blocks={"Box": {"capacity": 2}},
        )
        hall.hold("Stalls A 6")
        unreaped_owner.let_pass(unreaped.organization_id, 601)
        hall.hold("Stalls A 1", "Box A 1")
        assert confirmed(unreaped, hall.hold("Stalls A 2").json()).status_code == 200
        hall.block("Stalls A 3")
        floor = {"session_id": hall.session_id, "name": "Floor", "price": 1, "capacity": 8}
        floor_id = unreaped.made("/api/ticket-types", floor)["ticket_type_id"]
        hall.ask(ticket_type_id=floor_id, quantity=3)
        answer = occupancy(hall)
        moment(answer["at"])
        assert answer["event_id"] == hall.event_id
        assert answer["seats"] == {
            "total": 9,
            "available": 5,
            "held": 2,
            "sold": 1,
            "blocked": 1,
            "percent_available": 55.56,
            "percent_held": 22.22,
            "percent_sold": 11.11,
            "percent_blocked": 11.11,
        }
        (session,) = answer["sessions"]
        assert (session["session_id"], session["name"]) == (hall.session_id, "Friday")
        assert session["seats"] == answer["seats"]
        stalls, box = session["blocks"]
        assert (stalls["block_id"], stalls["name"]) == (hall.block_ids["Stalls"], "Stalls")
        assert (stalls.get("capacity"), box.get("capacity")) == (None, 2)
        assert counts(stalls["seats"]) == (6, 3, 1, 1, 1)
        assert counts(box["seats"]) == (3, 2, 1, 0, 0)
        (pool,) = session["pools"]
        assert {name: value for name, value in pool.items() if name != "pool_id"} == {
            "name": "Floor",
            "capacity": 8,
            "available": 5,
            "held": 3,
            "sold": 0,
            "percent_available": 62.5,
            "percent_held": 37.5,
            "percent_sold": 0.0,
        }

    def test_several_sessions_add_up(self, platform: Platform) -> None:
        hall = build_hall(platform, rows={"Stalls": {"A": 4}})
        second = platform.made("/api/sessions", {"event_id": hall.event_id, "name": "Saturday"})
        body = {"blocks": [{"name": "Stalls", "rows": ["A"], "seats_per_row": 6}]}
        platform.made(f"/api/sessions/{second['session_id']}/seats", body)
        hall.hold("Stalls A 1")
        answer = occupancy(hall)
        assert counts(answer["seats"]) == (10, 9, 1, 0, 0)
        assert [session["name"] for session in answer["sessions"]] == ["Friday", "Saturday"]
        assert [counts(session["seats"]) for session in answer["sessions"]] == [
            (4, 3, 1, 0, 0),
            (6, 6, 0, 0, 0),
        ]

    def test_expired_places_of_a_pool_are_available(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        sale = unreaped.on_sale(4)
        unreaped.place(sale, 3)
        unreaped_owner.let_pass(unreaped.organization_id, 601)
        answer = unreaped.client.get(f"/api/events/{sale.event_id}/occupancy").json()
        (session,) = answer["sessions"]
        (pool,) = session["pools"]
        assert (pool["available"], pool["held"]) == (4, 0)
        assert answer["seats"]["percent_available"] == 0.0, "there are no seats"

    def test_a_removed_block_capacity_is_not_listed_as_a_pool(self, platform: Platform) -> None:
        hall = build_hall(platform, rows={"Box": {"A": 3}}, blocks={"Box": {"capacity": 2}})
        path = f"/api/blocks/{hall.block_ids['Box']}"
        assert platform.client.patch(path, json={"capacity": None}).status_code == 200
        floor = {"session_id": hall.session_id, "name": "Floor", "price": 1, "capacity": 8}
        platform.made("/api/ticket-types", floor)
        (session,) = occupancy(hall)["sessions"]
        assert [pool["name"] for pool in session["pools"]] == ["Floor"]

    def test_an_event_without_sessions_is_empty(self, platform: Platform) -> None:
        event = platform.made("/api/events", {"name": "Play", "currency": "EUR"})
        answer = platform.client.get(f"/api/events/{event['event_id']}/occupancy").json()
        assert answer["sessions"] == []
        assert counts(answer["seats"]) == (0, 0, 0, 0, 0)

    def test_an_unknown_or_foreign_event_is_404(
        self, platform: Platform, neighbour: Platform
    ) -> None:
        sale = platform.on_sale(1)
        for client, event_id in (
            (platform.client, str(uuid4())),
            (platform.client, "x"),
            (neighbour.client, sale.event_id),
        ):
            answer = client.get(f"/api/events/{event_id}/occupancy")
            problem_of(answer, 404, "event_not_found")


class TestStats:
    def test_active_expired_and_expiring_holds_are_counted(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        assert current_counts(stats(unreaped)) == {
            "active_holds": 0,
            "expired_holds": 0,
            "total_held_tickets": 0,
            "total_held_seats": 0,
            "holds_expiring_soon": 0,
            "waiting_parties": 0,
            "expired_waiting_parties": 0,
        }
        hall, sale = build_hall(unreaped), unreaped.on_sale(10)
        for _ in range(2):
            assert unreaped.place(sale, 1).status_code == 201
        unreaped_owner.let_pass(unreaped.organization_id, 601)
        hall.best(3)
        unreaped_owner.let_pass(unreaped.organization_id, 301)
        hall.best(2)
        assert unreaped.place(sale, 3).status_code == 201
        released = unreaped.place(sale, 4).json()
        unreaped.client.post(f"/api/holds/{released['hold_id']}/release")
        found = stats(unreaped)
        moment(found["at"])
        assert current_counts(found) == {
            "active_holds": 3,
            "expired_holds": 2,
            "total_held_tickets": 8,
            "total_held_seats": 5,
            "holds_expiring_soon": 1,
            "waiting_parties": 0,
            "expired_waiting_parties": 0,
        }
        of_hall = stats(unreaped, session_id=hall.session_id)
        assert (of_hall["active_holds"], of_hall["expired_holds"]) == (2, 0)
        of_sale = stats(unreaped, session_id=sale.session_id)
        assert (of_sale["active_holds"], of_sale["expired_holds"]) == (1, 2)
        assert (of_sale["total_held_tickets"], of_sale["total_held_seats"]) == (3, 0)

    def test_parties_on_the_waitlist_are_not_counted_as_holds(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        sale = unreaped.on_sale(1, hold_policy={"waitlist": True, "waiting_seconds": 700})
        assert unreaped.place(sale, 1).status_code == 201
        for _ in range(2):
            assert unreaped.place(sale, 1).status_code == 202
        names = ("active_holds", "expired_holds", "waiting_parties", "expired_waiting_parties")

        def counted() -> tuple[int, ...]:
            found = stats(unreaped, session_id=sale.session_id)
            return tuple(found[name] for name in names)

        assert counted() == (1, 0, 2, 0)
        unreaped_owner.let_pass(unreaped.organization_id, 650)
        assert counted() == (0, 1, 2, 0)
        unreaped_owner.let_pass(unreaped.organization_id, 100)
        assert counted() == (0, 1, 0, 2)

    def test_only_own_holds_are_counted(self, platform: Platform, neighbour: Platform) -> None:
        neighbour.place(neighbour.on_sale(1))
        assert stats(platform)["active_holds"] == 0

    def test_an_invalid_session_is_named(self, platform: Platform) -> None:
        answer = platform.client.get("/api/stats", params={"session_id": "x"})
        problem = problem_of(answer, 400, "validation_error")
        assert problem["errors"][0]["field"] == "session_id"


def listed(platform: Platform, **filters: str) -> list[str]:
    answer = platform.client.get("/api/holds", params={"limit": 100, **filters})
    assert answer.status_code == 200, answer.text
    return [hold["hold_id"] for hold in answer.json()["data"]]


class TestFindingHolds:
    def test_holds_are_found_by_user_id_and_reference_in_any_case(self, platform: Platform) -> None:
        sale = platform.on_sale(10)
        own = platform.place(sale, user_id="ann").json()
        platform.place(sale, user_id="bob")
        assert listed(platform, user_id="ann") == [own["hold_id"]]
        assert listed(platform, user_id="Ann") == []
        assert listed(platform, reference=own["reference"].lower()) == [own["hold_id"]]
        assert listed(platform, reference=own["reference"], user_id="bob") == []
        assert listed(platform, reference="NOBODY") == []

    def test_a_foreign_reference_finds_nothing(
        self, platform: Platform, neighbour: Platform
    ) -> None:
        hold = platform.place(platform.on_sale(1)).json()
        assert listed(neighbour, reference=hold["reference"]) == []

    def test_expired_holds_can_be_listed(self, unreaped: Platform, unreaped_owner: Owner) -> None:
        sale, other = unreaped.on_sale(10), unreaped.on_sale(10)
        lapsed = [unreaped.place(sale).json()["hold_id"] for _ in range(2)]
        elsewhere = unreaped.place(other).json()["hold_id"]
        ended = unreaped.place(sale).json()["hold_id"]
        unreaped.client.post(f"/api/holds/{ended}/release")
        unreaped_owner.let_pass(unreaped.organization_id, 601)
        unreaped.place(sale)
        assert listed(unreaped, lapsed="true") == [elsewhere, *reversed(lapsed)]
        assert listed(unreaped, lapsed="true", session_id=sale.session_id) == lapsed[::-1]
        assert listed(unreaped, lapsed="true", order="expiry")[-1] == elsewhere
        assert len(listed(unreaped, lapsed="false")) == 5

    def test_holds_are_sorted_by_expiry_with_minutes_remaining(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        sale = unreaped.on_sale(100)
        lasting = {"session_id": sale.session_id, "name": "Slow", "price": 1, "capacity": 100}
        slow = unreaped.made("/api/ticket-types", lasting | {"hold_policy": {"ttl_seconds": 1200}})[
            "ticket_type_id"
        ]
        unreaped.place(sale)
        unreaped_owner.let_pass(unreaped.organization_id, 601)
        late = unreaped.place(sale, ticket_type_id=slow).json()["hold_id"]
        soon = unreaped.place(sale).json()["hold_id"]
        unreaped_owner.let_pass(unreaped.organization_id, 30)
        path, params = "/api/holds", {"order": "expiry"}
        found = unreaped.client.get(path, params=params).json()["data"]
        assert [hold["hold_id"] for hold in found] == [soon, late], "the expired hold is left out"
        assert [hold["minutes_remaining"] for hold in found] == [9, 19]
        assert listed(unreaped, order="expiry", status="active") == [soon, late]
        assert listed(unreaped, order="expiry", session_id=str(uuid4())) == []
        assert listed(unreaped)[0] == soon, "newest first by default"

    def test_pages_sorted_by_expiry_neither_skip_nor_repeat_a_hold(
        self, platform: Platform
    ) -> None:
        """Most holds expire in the same second."""
        sale = platform.on_sale(100)
        there = {platform.place(sale).json()["hold_id"] for _ in range(25)}
        seen: list[Json] = []
        params: Json = {"order": "expiry", "limit": 10}
        while True:
            page = platform.client.get("/api/holds", params=params).json()
            seen += page["data"]
            if not page["has_more"]:
                break
            params["cursor"] = page["next_cursor"]
        assert len(seen) == 25
        assert {hold["hold_id"] for hold in seen} == there
        keys = [(hold["expires_at"], hold["hold_id"]) for hold in seen]
        assert keys == sorted(keys)

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({"lapsed": "maybe"}, "lapsed"),
            ({"lapsed": "true", "status": "active"}, "status"),
            ({"order": "price"}, "order"),
            ({"order": "expiry", "status": "cancelled"}, "status"),
            ({"user_id": ""}, "user_id"),
            ({"reference": ""}, "reference"),
        ],
    )
    def test_an_invalid_filter_is_named(self, platform: Platform, query: Json, field: str) -> None:
        answer = platform.client.get("/api/holds", params=query)
        assert answer.status_code == 400, answer.text
        assert answer.json()["errors"][0]["field"] == field
