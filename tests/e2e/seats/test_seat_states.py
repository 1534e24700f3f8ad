"""Seats over HTTP: read, blocked, unblocked."""

from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.answers import first_error, moment, placed, problem_of
from tests.e2e.halls import NamedHall, build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed
from tests.support.platform import Json, Platform, new_platform, sent


@pytest.fixture
def hall(platform: Platform) -> NamedHall:
    return build_hall(platform)


class TestOneSeat:
    def test_a_free_seat_shows_all_its_fields(self, platform: Platform) -> None:
        hall = build_hall(
            platform,
            rows={"Stalls": {"A": 2}},
            blocks={
                "Stalls": {
                    "accessible": ["A1"],
                    "companion": ["A2"],
                    "restricted_view": ["A2"],
                    "origin": {"x": 10.5, "y": 3},
                }
            },
        )
        assert hall.read("Stalls A 1") == {
            "seat_id": hall.seat_ids["Stalls A 1"],
            "event_id": hall.event_id,
            "session_id": hall.session_id,
            "block_id": hall.block_ids["Stalls"],
            "block_name": "Stalls",
            "row": "A",
            "seat_number": "1",
            "status": "available",
            "version": 1,
            "accessible": True,
            "companion": False,
            "restricted_view": False,
            "x": 10.5,
            "y": 3,
        }
        assert '"y":3' in platform.client.get(hall.seat_path("Stalls A 1")).text, (
            "the same as in the map"
        )
        second = hall.read("Stalls A 2")
        assert (second["accessible"], second["companion"]) == (False, True)
        assert second["restricted_view"] is True

    def test_a_held_seat_reveals_its_hold_only_to_its_holder(self, hall: NamedHall) -> None:
        hold = placed(hall.hold("Stalls A 1", customer_email="ann@example.com"))
        own = hall.read("Stalls A 1", customer_email="Ann@Example.com")
        assert own["hold_id"] == hold["hold_id"]
        assert own["held_until"] == hold["expires_at"]
        assert own["held_until_unix"] == int(moment(hold["expires_at"]).timestamp())
        assert 595 <= own["expires_in_seconds"] <= 600
        assert own["locked_at"] == hold["held_at"]
        assert (own["status"], own["version"]) == ("held", 2)
        for other in ({}, {"customer_email": "bob@example.com"}, {"user_id": "ann"}):
            seen = hall.read("Stalls A 1", **other)
            assert seen.get("hold_id") is None
            assert seen | {"hold_id": own["hold_id"], "expires_in_seconds": 1} == own | {
                "expires_in_seconds": 1
            }

    def test_an_expired_seat_is_available_before_it_is_reaped(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        hall = build_hall(unreaped)
        placed(hall.hold("Stalls A 1", customer_email="ann@example.com"))
        unreaped_owner.let_pass(unreaped.organization_id, 601)
        seen = hall.read("Stalls A 1", customer_email="ann@example.com")
        assert (seen["status"], seen.get("hold_id")) == ("available", None)
        assert (seen.get("held_until"), seen.get("locked_at")) == (None, None)
        rows = unreaped_owner.rows(
            "SELECT status FROM seat WHERE id = %s", hall.seat_ids["Stalls A 1"]
        )
        assert rows == [("held",)]

    def test_an_unknown_seat_is_404(self, hall: NamedHall, neighbour: Platform) -> None:
        read = hall.platform.client.get
        seat_id = hall.seat_ids["Stalls A 1"]
        problem_of(read(f"/api/events/{uuid4()}/seats/{seat_id}"), 404, "event_not_found")
        problem_of(read(f"/api/events/x/seats/{seat_id}"), 404, "event_not_found")
        problem_of(read(f"/api/events/{hall.event_id}/seats/{uuid4()}"), 404, "seat_not_found")
        problem_of(read(f"/api/events/{hall.event_id}/seats/x"), 404, "seat_not_found")
        foreign = neighbour.client.get(hall.seat_path("Stalls A 1"))
        problem_of(foreign, 404, "event_not_found")
        other = build_hall(hall.platform)
        problem_of(read(f"/api/events/{other.event_id}/seats/{seat_id}"), 404, "seat_not_found")
        wrong = read(hall.seat_path("Stalls A 1"), **sent(customer_email="ann"))
        problem_of(wrong, 400, "invalid_email")


class TestBlocking:
    def test_blocked_seats_cannot_be_held_until_they_are_unblocked(
        self, hall: NamedHall, owner: Owner
    ) -> None:
        answer = hall.block("Stalls A 1", "Stalls A 2")
        assert answer.status_code == 200
        assert answer.json() == {
            "session_id": hall.session_id,
            "blocked_seat_ids": hall.seats("Stalls A 1", "Stalls A 2"),
            "unchanged_seat_ids": [],
            "ended_hold_ids": [],
        }
        assert hall.status("Stalls A 1") == "blocked"
        assert hall.read("Stalls A 1")["blocked_reason"] == "Camera"
        shown = hall.platform.buyer().get(hall.seat_path("Stalls A 1")).json()
        assert (shown["status"], "blocked_reason" in shown) == ("blocked", False)
        again = hall.block("Stalls A 2", "Stalls A 3").json()
        assert again["blocked_seat_ids"] == hall.seats("Stalls A 3")
        assert again["unchanged_seat_ids"] == hall.seats("Stalls A 2")
        back = hall.unblock("Stalls A 1", "Stalls A 4")
        assert back.json() == {
            "session_id": hall.session_id,
            "unblocked_seat_ids": hall.seats("Stalls A 1"),
            "unchanged_seat_ids": hall.seats("Stalls A 4"),
        }
        assert hall.read("Stalls A 1").get("blocked_reason") is None
        placed(hall.hold("Stalls A 1"))
        facts = owner.rows(
            "SELECT type, count(*) FROM outbox WHERE organization_id = %s AND hold_id IS NULL"
            " AND seat_id IS NOT NULL GROUP BY type ORDER BY type",
            hall.platform.organization_id,
        )
        assert facts == [("seat.blocked", 3), ("seat.unblocked", 1)]
        reasons = owner.rows(
            "SELECT action, new ->> 'reason' FROM audit WHERE seat_id = %s ORDER BY seq",
            hall.seat_ids["Stalls A 1"],
        )
        assert reasons == [
            ("seat.blocked", "Camera"),
            ("seat.unblocked", "Camera gone"),
            ("seat_reserved", None),
        ]

    def test_blocking_a_held_seat_ends_its_hold(self, hall: NamedHall, owner: Owner) -> None:
        hold = placed(hall.hold("Stalls A 1", "Stalls A 2"))
        answer = hall.block("Stalls A 1").json()
        assert answer["ended_hold_ids"] == [hold["hold_id"]]
        after = hall.platform.client.get(f"/api/holds/{hold['hold_id']}").json()
        assert after["status"] == "cancelled"
        assert hall.status("Stalls A 1") == "blocked"
        assert hall.status("Stalls A 2") == "available"
        assert ("hold.cancelled", 1) in owner.rows(
            "SELECT type, count(*) FROM outbox WHERE hold_id = %s GROUP BY type", hold["hold_id"]
        )

    def test_unblocking_never_frees_a_sold_seat(self, hall: NamedHall) -> None:
        hold = placed(hall.hold("Stalls A 1"))
        assert confirmed(hall.platform, hold).status_code == 200
        assert hall.block("Stalls A 1").json()["blocked_seat_ids"] == hall.seats("Stalls A 1")
        assert hall.unblock("Stalls A 1").json()["unblocked_seat_ids"] == hall.seats("Stalls A 1")
        assert hall.status("Stalls A 1") == "sold"

    def test_an_unknown_seat_changes_nothing_and_is_audited(
        self, hall: NamedHall, owner: Owner
    ) -> None:
        path = f"/api/sessions/{hall.session_id}/seats/block"
        body = {"seat_ids": [hall.seat_ids["Stalls A 1"], str(uuid4())], "reason": "Camera"}
        problem_of(hall.platform.client.post(path, json=body), 400, "invalid_seat")
        assert hall.status("Stalls A 1") == "available"
        assert owner.failed_attempts(hall.platform.organization_id) == [
            ("seat.block_failed", "invalid_seat")
        ]

    def test_an_unknown_or_foreign_session_is_404(
        self, hall: NamedHall, neighbour: Platform
    ) -> None:
        body = {"seat_ids": hall.seats("Stalls A 1"), "reason": "Camera"}
        for client, session_id in (
            (hall.platform.client, str(uuid4())),
            (hall.platform.client, "x"),
            (neighbour.client, hall.session_id),
        ):
            answer = client.post(f"/api/sessions/{session_id}/seats/block", json=body)
            problem_of(answer, 404, "session_not_found")
        assert hall.status("Stalls A 1") == "available"

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"seat_ids": []}, "seat_ids"),
            ({"seat_ids": [str(uuid4()) for _ in range(1001)]}, "seat_ids"),
            ({"seat_ids": ["0198f1c0-aa10-7d00-9c2e-4b1f0e7a0009"] * 2}, "seat_ids[1]"),
            ({"reason": ""}, "reason"),
            ({"reason": "  "}, "reason"),
            ({"reason": "r" * 201}, "reason"),
            ({"reason": None}, "reason"),
        ],
    )
    @pytest.mark.parametrize("verb", ["block", "unblock"])
    def test_errors_name_the_invalid_field(
        self, hall: NamedHall, verb: str, change: Json, field: str
    ) -> None:
        body: Json = {"seat_ids": hall.seats("Stalls A 1"), "reason": "Camera"} | change
        path = f"/api/sessions/{hall.session_id}/seats/{verb}"
        answer = hall.platform.client.post(path, json=body)
        assert first_error(answer)[0] == field
        assert hall.status("Stalls A 1") == "available"

    def test_a_thousand_seats_can_be_blocked_in_one_call(self, platform: Platform) -> None:
        large = platform.hall(25, 40)
        path = f"/api/sessions/{large.session_id}/seats/block"
        body: dict[str, Any] = {"seat_ids": list(large.seat_ids), "reason": "Refurbishment"}
        key = {"Idempotency-Key": uuid4().hex}
        answer = platform.client.post(path, json=body, headers=key)
        assert answer.status_code == 200, answer.text
        assert answer.json()["blocked_seat_ids"] == list(large.seat_ids)
        again = platform.client.post(path, json=body, headers=key)
        assert again.content == answer.content
        assert again.headers["idempotent-replayed"] == "true"

    def test_a_key_for_holds_cannot_block_seats(self, hall: NamedHall, owner: Owner) -> None:
        stranger = new_platform(hall.platform.base_url, owner.database_url, ("holds:write",))
        path = f"/api/sessions/{hall.session_id}/seats/block"
        body = {"seat_ids": hall.seats("Stalls A 1"), "reason": "Camera"}
        problem_of(stranger.client.post(path, json=body), 403, "insufficient_scope")
