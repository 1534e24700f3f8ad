"""Seats over HTTP: specific seats, or the best available."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.e2e.answers import first_error, placed, problem_of
from tests.e2e.halls import NamedHall, build_hall, new_email
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform


@pytest.fixture
def hall(platform: Platform) -> NamedHall:
    return build_hall(platform)


class TestHoldingNamedSeats:
    def test_each_seat_is_a_line_with_its_place(self, hall: NamedHall) -> None:
        hold = placed(hall.hold("Stalls A 2", "Stalls A 1"))
        first, second = hold["lines"]
        assert first == {
            "ticket_type_id": hall.ticket_type_id,
            "quantity": 1,
            "unit_price": 4500,
            "subtotal": 4500,
            "seat": {
                "seat_id": hall.seat_ids["Stalls A 2"],
                "block_id": hall.block_ids["Stalls"],
                "block_name": "Stalls",
                "row": "A",
                "seat_number": "2",
            },
        }
        assert second["seat"]["seat_number"] == "1"
        assert hold["seat_ids"] == hall.seats("Stalls A 2", "Stalls A 1")
        assert (hold["quantity"], hold["total"]) == (2, 9000)
        assert hold["adjacent"] is True
        assert hold["minutes_remaining"] == 10

    def test_a_hold_of_one_seat_shows_its_ticket_type(self, hall: NamedHall) -> None:
        hold = placed(hall.hold("Stalls A 2"))
        assert (hold["ticket_type_id"], hold["quantity"]) == (hall.ticket_type_id, 1)
        assert hold["adjacent"] is True

    def test_separate_seats_are_not_adjacent(self, hall: NamedHall) -> None:
        assert placed(hall.hold("Stalls A 1", "Stalls A 3"))["adjacent"] is False
        assert placed(hall.hold("Stalls A 2", "Stalls B 2"))["adjacent"] is False

    def test_the_platform_may_set_price_source_cart_and_notes(self, hall: NamedHall) -> None:
        hold = placed(
            hall.hold(
                "Stalls A 1",
                ticket_type_id=hall.ticket_type_id,
                unit_price=100,
                source="scanner",
                cart_token="cart-1",
                notes="Regular guest",
            )
        )
        assert hold["total"] == 100
        read = hall.platform.client.get(f"/api/holds/{hold['hold_id']}").json()
        for answer in (hold, read):
            assert (answer["source"], answer["cart_token"]) == ("scanner", "cart-1")
            assert answer["notes"] == "Regular guest"
        plain = placed(hall.hold("Stalls A 2"))
        assert (plain["source"], plain.get("cart_token"), plain.get("notes")) == ("web", None, None)

    def test_released_seats_are_free_at_once(self, hall: NamedHall) -> None:
        hold = placed(hall.hold("Stalls A 1", "Stalls A 2"))
        hall.platform.client.post(f"/api/holds/{hold['hold_id']}/release")
        assert hall.status("Stalls A 1") == hall.status("Stalls A 2") == "available"
        placed(hall.hold("Stalls A 1", "Stalls A 2"))

    def test_holding_your_own_seats_again_returns_the_existing_hold(self, hall: NamedHall) -> None:
        holder = {"user_id": "ann"}
        hold = placed(hall.hold("Stalls A 1", "Stalls A 2", **holder, customer_email=None))
        again = hall.hold("Stalls A 1", "Stalls A 2", **holder, customer_email=None)
        assert again.status_code == 200
        assert again.json()["hold_id"] == hold["hold_id"]

    def test_every_contested_seat_is_named_and_nothing_is_held(self, hall: NamedHall) -> None:
        placed(hall.hold("Stalls A 2", customer_email="secret-ann@example.com"))
        assert hall.block("Stalls A 4").status_code == 200
        answer = hall.hold("Stalls A 1", "Stalls A 2", "Stalls A 3", "Stalls A 4")
        problem = problem_of(answer, 409, "seat_not_available")
        contested = problem["contested_seats"]
        assert hall.names([each["seat_id"] for each in contested]) == ["Stalls A 2", "Stalls A 4"]
        assert [each["status"] for each in contested] == ["held", "blocked"]
        assert 590 <= contested[0]["expires_in"] <= 600
        assert contested[1].get("expires_in") is None
        assert problem["current_status"] == "blocked"
        assert "alternative" not in problem
        assert "secret-ann" not in answer.text
        assert hall.status("Stalls A 1") == hall.status("Stalls A 3") == "available"

    def test_an_alternative_is_offered_on_request_and_can_be_held(self, hall: NamedHall) -> None:
        placed(hall.hold("Stalls A 3"))
        answer = hall.hold("Stalls A 3", "Stalls A 4", offer_alternative=True)
        problem = problem_of(answer, 409, "seat_held_by_another_user")
        offer = problem["alternative"]
        assert offer["adjacent"] is True
        assert [each["seat_id"] for each in offer["seats"]] == offer["seat_ids"]
        held = placed(hall.ask(seat_ids=offer["seat_ids"]))
        assert held["adjacent"] is True

    def test_no_alternative_is_offered_when_no_seats_are_left(self, platform: Platform) -> None:
        hall = build_hall(platform, rows={"Box": {"A": 2}})
        placed(hall.hold("Box A 1"))
        answer = hall.hold("Box A 1", "Box A 2", offer_alternative=True)
        assert problem_of(answer, 409, "seat_held_by_another_user").get("alternative") is None

    def test_a_seat_of_another_session_is_invalid(self, hall: NamedHall) -> None:
        other = build_hall(hall.platform)
        for seat_id in (other.seat_ids["Stalls A 1"], str(uuid4())):
            answer = hall.ask(seat_ids=[hall.seat_ids["Stalls A 1"], seat_id])
            problem = problem_of(answer, 400, "invalid_seat")
            assert problem["message"] == "Seat not found in this session"
        assert hall.status("Stalls A 1") == "available"

    def test_a_policy_may_forbid_leaving_a_single_seat(self, platform: Platform) -> None:
        hall = build_hall(platform, ticket_type={"hold_policy": {"refuse_orphans": True}})
        answer = hall.hold("Stalls A 2", "Stalls A 3")
        problem = problem_of(answer, 409, "orphan_seat")
        assert hall.names(problem["orphan_seats"]) == ["Stalls A 1"]
        placed(hall.hold("Stalls A 1", "Stalls A 2"))

    def test_two_hundred_concurrent_clicks_on_one_seat_have_one_winner(
        self, hall: NamedHall, owner: Owner
    ) -> None:
        with ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(lambda _: hall.reserve("Stalls B 1"), range(200)))
        statuses = [answer.status_code for answer in answers]
        assert sorted(statuses) == [201] + [409] * 199
        held = owner.rows(
            "SELECT count(*) FROM hold WHERE organization_id = %s", hall.platform.organization_id
        )
        assert held == [(1,)]


class TestBestAvailable:
    def test_the_best_seats_are_together(self, hall: NamedHall) -> None:
        hold = placed(hall.best(4))
        assert hold["adjacent"] is True
        assert (hold["quantity"], hold.get("ticket_type_id")) == (4, None)
        assert len(set(hold["seat_ids"])) == 4
        assert {line["seat"]["row"] for line in hold["lines"]} == {"A"}

    def test_a_block_can_be_named(self, platform: Platform) -> None:
        rows = {"Stalls": {"A": 4}, "Balcony": {"A": 4}}
        hall = build_hall(platform, rows=rows)
        hold = placed(hall.best(2, block_id=hall.block_ids["Balcony"]))
        assert {line["seat"]["block_name"] for line in hold["lines"]} == {"Balcony"}
        answer = hall.best(3, block_id=hall.block_ids["Balcony"])
        problem = problem_of(answer, 409, "insufficient_inventory")
        assert problem["available_quantity"] == 2
        problem_of(hall.best(1, block_id=str(uuid4())), 400, "invalid_block")

    def test_accessible_seats_are_found_on_request(self, platform: Platform) -> None:
        hall = build_hall(
            platform,
            rows={"Stalls": {"A": 6}},
            blocks={"Stalls": {"accessible": ["A6"], "companion": ["A5"]}},
        )
        hold = placed(hall.best(2, accessible=1))
        assert sorted(hall.names(hold["seat_ids"])) == ["Stalls A 5", "Stalls A 6"]

    def test_too_few_seats_report_requested_and_available_numbers(self, hall: NamedHall) -> None:
        placed(hall.best(9))
        problem = problem_of(hall.best(10), 409, "insufficient_inventory")
        assert problem["message"] == "Not enough seats available. Requested: 10, Available: 3"
        assert (problem["requested_quantity"], problem["available_quantity"]) == (10, 3)

    def test_a_sold_out_hall_says_so(self, platform: Platform) -> None:
        hall = build_hall(platform, rows={"Box": {"A": 2}})
        placed(hall.best(2))
        problem = problem_of(hall.best(1), 409, "no_available_seats")
        assert problem["available_quantity"] == 0

    def test_expired_seats_are_available_again(self, hall: NamedHall, owner: Owner) -> None:
        placed(hall.best(12))
        owner.let_pass(hall.platform.organization_id, 601)
        assert placed(hall.best(12))["quantity"] == 12


class TestMixedHolds:
    def test_seats_and_general_admission_are_held_together_or_not_at_all(
        self, hall: NamedHall
    ) -> None:
        floor = hall.platform.made(
            "/api/ticket-types",
            {"session_id": hall.session_id, "name": "Floor", "price": 1000, "capacity": 3},
        )["ticket_type_id"]
        lines: list[Json] = [
            {"seat_ids": hall.seats("Stalls A 1", "Stalls A 2")},
            {"ticket_type_id": floor, "quantity": 2},
            {"ticket_type_id": hall.ticket_type_id, "quantity": 2, "unit_price": 500},
        ]
        hold = placed(hall.ask(lines=lines))
        assert (hold["quantity"], hold["total"]) == (6, 12_000)
        assert [line.get("seat") is None for line in hold["lines"]] == [
            False,
            False,
            True,
            False,
            False,
        ]
        assert len(hold["seat_ids"]) == 4
        lines[0] = {"seat_ids": hall.seats("Stalls B 1")}
        problem_of(hall.ask(lines=lines[:2]), 409, "insufficient_inventory")
        assert hall.status("Stalls B 1") == "available"


class TestInvalidRequests:
    @pytest.mark.parametrize(
        ("change", "field", "code"),
        [
            ({"seat_ids": []}, "seat_ids", "invalid_value"),
            ({"seat_ids": "A1"}, "seat_ids", "invalid_value"),
            ({"seat_ids": ["A1"]}, "seat_ids[0]", "invalid_value"),
            ({"seat_ids": [str(uuid4())] * 2}, "seat_ids[1]", "duplicate"),
            (
                {"seat_ids": [str(uuid4()) for _ in range(251)]},
                "seat_ids",
                "invalid_value",
            ),
            ({"seat_ids": [str(uuid4())], "quantity": 1}, "quantity", "conflicting_fields"),
            ({"seat_ids": [str(uuid4())], "accessible": 1}, "accessible", "conflicting_fields"),
            (
                {"seat_ids": [str(uuid4())], "block_id": str(uuid4())},
                "block_id",
                "conflicting_fields",
            ),
            (
                {"seat_ids": [str(uuid4())], "lines": [{"seat_ids": [str(uuid4())]}]},
                "lines",
                "conflicting_fields",
            ),
            (
                {"ticket_type_id": str(uuid4()), "quantity": 2, "accessible": 3},
                "accessible",
                "invalid_value",
            ),
            (
                {"ticket_type_id": str(uuid4()), "quantity": 2, "accessible": -1},
                "accessible",
                "invalid_value",
            ),
            (
                {"ticket_type_id": str(uuid4()), "quantity": 2, "at_least": 3},
                "at_least",
                "invalid_value",
            ),
            (
                {"lines": [{"seat_ids": [str(uuid4())], "together": True}]},
                "lines[0].together",
                "conflicting_fields",
            ),
            ({"quantity": 2}, "ticket_type_id", "required"),
            ({"lines": [{"quantity": 2}]}, "lines[0].ticket_type_id", "required"),
            (
                {"lines": [{"seat_ids": [str(uuid4())], "quantity": 2}]},
                "lines[0].quantity",
                "conflicting_fields",
            ),
            ({"seat_ids": [str(uuid4())], "source": "fax"}, "source", "invalid_value"),
            ({"seat_ids": [str(uuid4())], "cart_token": ""}, "cart_token", "invalid_value"),
            ({"seat_ids": [str(uuid4())], "notes": "n" * 1001}, "notes", "invalid_value"),
            (
                {"seat_ids": [str(uuid4())], "offer_alternative": "yes"},
                "offer_alternative",
                "invalid_value",
            ),
        ],
    )
    def test_errors_name_the_invalid_field(
        self, platform: Platform, change: Json, field: str, code: str
    ) -> None:
        body = {"session_id": str(uuid4()), "customer_email": "a@example.com"} | change
        assert first_error(platform.client.post("/api/holds", json=body)) == (field, code)

    def test_duplicate_or_too_many_seats_are_refused(self, platform: Platform) -> None:
        seat_id = str(uuid4())
        body: Json = {
            "session_id": str(uuid4()),
            "customer_email": "a@example.com",
            "lines": [{"seat_ids": [str(uuid4()), seat_id]}, {"seat_ids": [seat_id]}],
        }
        answer = platform.client.post("/api/holds", json=body)
        assert first_error(answer) == ("lines[1].seat_ids[0]", "duplicate")
        body["lines"] = [{"seat_ids": [str(uuid4()) for _ in range(126)]} for _ in range(2)]
        answer = platform.client.post("/api/holds", json=body)
        problem_of(answer, 400, "invalid_lines")
        assert first_error(answer) == ("lines", "invalid_lines")

    def test_general_admission_has_no_blocks_or_accessible_places(self, hall: NamedHall) -> None:
        sale = hall.platform.on_sale(5)
        accessible = hall.platform.place(sale, 2, accessible=1)
        problem = problem_of(accessible, 400, "invalid_ticket_type")
        assert problem["message"] == "This ticket type has no seats"
        elsewhere = hall.platform.place(sale, 2, block_id=hall.block_ids["Stalls"])
        problem_of(elsewhere, 400, "invalid_block")
        assert hall.platform.available(sale) == [5]

    def test_the_longest_notes_are_kept(self, hall: NamedHall) -> None:
        hold = placed(hall.hold("Stalls A 1", cart_token="c" * 255, notes="n" * 1000))
        assert (len(hold["cart_token"]), len(hold["notes"])) == (255, 1000)


class TestOneActiveHold:
    def test_a_second_hold_is_refused_and_names_the_first(self, platform: Platform) -> None:
        hall = build_hall(platform, event={"hold_policy": {"one_active_hold": True}})
        first = placed(hall.hold("Stalls A 1", customer_email="ann@example.com"))
        answer = hall.hold("Stalls A 2", customer_email="ANN@example.com")
        problem = problem_of(answer, 409, "active_hold_exists")
        assert problem["message"] == "You already have an active hold for this session"
        assert problem["hold_id"] == first["hold_id"]
        assert 590 <= problem["expires_in"] <= 600
        placed(hall.hold("Stalls A 2", customer_email="bob@example.com"))
        again = hall.hold("Stalls A 1", customer_email="ann@example.com")
        assert again.json()["hold_id"] == first["hold_id"], (
            "reserving your own seat is no second hold"
        )
        platform.client.post(f"/api/holds/{first['hold_id']}/release")
        placed(hall.hold("Stalls A 3", customer_email="ann@example.com"))


def test_a_holder_with_the_same_email_but_another_user_id_is_someone_else(hall: NamedHall) -> None:
    email = new_email()
    placed(hall.hold("Stalls A 1", customer_email=email, user_id="one"))
    answer = hall.hold("Stalls A 1", customer_email=email, user_id="two")
    problem_of(answer, 409, "seat_held_by_another_user")


def test_best_available_finds_seats_that_were_imported_later(platform: Platform) -> None:
    hall = build_hall(platform, rows={"Stalls": {"A": 4}})
    placed(hall.best(1))
    row = {"name": "Stalls", "rows": ["B"], "seats_per_row": 8}
    platform.made(f"/api/sessions/{hall.session_id}/seats", {"blocks": [row]})
    for _ in range(3):
        placed(hall.best(3))
    problem = problem_of(hall.best(3), 409, "insufficient_inventory")
    assert problem["available_quantity"] == 2
    placed(hall.best(2))


def test_a_seat_row_locked_elsewhere_is_refused_clearly(hall: NamedHall, owner: Owner) -> None:
    locked = hall.seat_ids["Stalls A 1"]
    with owner.locked_seat(locked):
        for answer in (hall.hold("Stalls A 1", "Stalls A 2"), hall.reserve("Stalls A 1")):
            problem = problem_of(answer, 409, "lock_not_available")
            assert problem["message"] == "Seat unavailable, please try another"
            assert problem["seat_ids"] == [locked]
        assert locked not in placed(hall.best(6))["seat_ids"]
        placed(hall.reserve("Stalls A 2"))
    expected = ("seat_reserve_failed", "lock_not_available")
    assert set(owner.failed_attempts(hall.platform.organization_id)) == {expected}
    placed(hall.hold("Stalls A 1"))
