"""Blocks: what they sell and their capacity, and availability of seated ticket types."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest

from tests.e2e.answers import moment, problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed
from tests.support.platform import Hall, Json, Platform


def made_type(platform: Platform, session_id: str, name: str, **more: object) -> str:
    body = {"session_id": session_id, "name": name, "price": 1000, "is_seated": True}
    return str(platform.made("/api/ticket-types", body | more)["ticket_type_id"])


def offered(platform: Platform, session_id: str) -> dict[str, tuple[int, int, int, int]]:
    answer = platform.client.get(f"/api/sessions/{session_id}/availability").json()
    return {
        each["name"]: (each["capacity"], each["held"], each["sold"], each["available"])
        for each in answer["ticket_types"]
    }


def hold(platform: Platform, hall: Hall, *seats: int, **more: object) -> httpx.Response:
    body = {
        "session_id": hall.session_id,
        "seat_ids": [hall.seat_ids[seat] for seat in seats],
        "user_id": uuid4().hex,
    }
    return platform.client.post("/api/holds", json=body | more)


def pools(platform: Platform, session_id: str) -> list[tuple[str, int, int]]:
    listed = platform.client.get("/api/pools", params={"session_id": session_id}).json()["data"]
    return [(pool["name"], pool["capacity"], pool["held"]) for pool in listed]


def change(platform: Platform, hall: Hall, **body: object) -> httpx.Response:
    return platform.client.patch(f"/api/blocks/{hall.block_id}", json=body)


def test_a_block_is_created_read_and_changed(platform: Platform) -> None:
    session_id = platform.on_sale().session_id
    adult, child = (made_type(platform, session_id, name) for name in ("Adult", "Child"))
    sold_here = [{"ticket_type_id": child, "price": 700}, {"ticket_type_id": adult, "price": 0}]
    body = {"session_id": session_id, "name": "Stalls", "ticket_types": sold_here, "capacity": 9}
    block = platform.made("/api/blocks", body)
    assert block == {
        "block_id": block["block_id"],
        "session_id": session_id,
        "name": "Stalls",
        "rank": 0,
        "capacity": 9,
        "seat_count": 0,
        "ticket_types": sold_here,
        "created_at": block["created_at"],
        "updated_at": block["created_at"],
    }
    path = f"/api/blocks/{block['block_id']}"
    assert platform.client.get(path).json() == block
    assert pools(platform, session_id) == [("Stalls", 9, 0)]
    wanted = {"name": "Parterre", "rank": 5, "capacity": 12, "ticket_types": sold_here[1:]}
    changed = platform.client.patch(path, json=wanted).json()
    assert moment(changed["updated_at"]) > moment(block["updated_at"])
    assert changed == block | wanted | {"updated_at": changed["updated_at"]}
    assert platform.client.get(path).json() == changed
    assert pools(platform, session_id) == [("Parterre", 12, 0)]
    cleared = platform.client.patch(path, json={"capacity": None, "ticket_types": []}).json()
    assert (cleared.get("capacity"), cleared["ticket_types"]) == (None, [])
    assert (cleared["name"], cleared["rank"]) == ("Parterre", 5)


def test_a_new_block_ranks_last_by_default(platform: Platform) -> None:
    session_id = platform.on_sale().session_id
    ranks = []
    for name, more in (("A", {}), ("B", {"rank": 7}), ("C", {}), ("D", {"rank": 0})):
        block: Json = {"session_id": session_id, "name": name} | more
        ranks.append(platform.made("/api/blocks", block)["rank"])
    assert ranks == [0, 7, 8, 0]


def test_blocks_are_listed_newest_first_by_session_and_paged(
    platform: Platform, neighbour: Platform
) -> None:
    one, other = platform.hall(2, 3), platform.on_sale()
    names = [f"Block {number}" for number in range(3)]
    for name in names:
        platform.made("/api/blocks", {"session_id": one.session_id, "name": name})
    platform.made("/api/blocks", {"session_id": other.session_id, "name": "Elsewhere"})
    query: Json = {"session_id": one.session_id, "limit": 2}
    first = platform.client.get("/api/blocks", params=query).json()
    rest = platform.client.get(
        "/api/blocks", params=query | {"cursor": first["next_cursor"]}
    ).json()
    listed = first["data"] + rest["data"]
    assert [each["name"] for each in listed] == [*reversed(names), "Stalls"]
    assert [each["seat_count"] for each in listed] == [0, 0, 0, 6]
    assert (first["has_more"], rest["has_more"], rest.get("next_cursor")) == (True, False, None)
    assert len(platform.client.get("/api/blocks").json()["data"]) == 5
    assert neighbour.client.get("/api/blocks", params=query).json()["data"] == []


def test_a_block_name_is_unique_within_a_session(platform: Platform, owner: Owner) -> None:
    hall = platform.hall(1, 2)
    other = {"session_id": hall.session_id, "name": "Balcony"}
    balcony = platform.made("/api/blocks", other)
    before = owner.everything(platform.organization_id)
    again = platform.client.post("/api/blocks", json=other | {"name": "Stalls", "capacity": 1})
    problem_of(again, 409, "duplicate_block")
    renamed = platform.client.patch(f"/api/blocks/{balcony['block_id']}", json={"name": "Stalls"})
    problem_of(renamed, 409, "duplicate_block")
    assert owner.everything(platform.organization_id) == before
    assert change(platform, hall, name="Stalls").status_code == 200
    elsewhere = {"session_id": platform.on_sale().session_id, "name": "Stalls"}
    platform.made("/api/blocks", elsewhere)


def test_only_seated_ticket_types_of_the_session_are_sold_in_a_block(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    hall, standing = platform.hall(1, 2), platform.on_sale(5)
    own_standing = {"session_id": hall.session_id, "name": "Floor", "price": 1, "capacity": 5}
    wrong = [
        standing.ticket_type_id,
        platform.made("/api/ticket-types", own_standing)["ticket_type_id"],
        platform.hall(1, 1).ticket_type_id,
        neighbour.hall(1, 1).ticket_type_id,
        str(uuid4()),
    ]
    before = owner.everything(platform.organization_id)
    for ticket_type_id in wrong:
        sold_here = [
            {"ticket_type_id": hall.ticket_type_id, "price": 1},
            {"ticket_type_id": ticket_type_id, "price": 1},
        ]
        body: Json = {"session_id": hall.session_id, "name": "x", "ticket_types": sold_here}
        problem_of(platform.client.post("/api/blocks", json=body), 400, "invalid_ticket_type")
        problem_of(change(platform, hall, ticket_types=sold_here), 400, "invalid_ticket_type")
        layout = {"name": "x", "rows": ["A"], "seats_per_row": 1, "ticket_types": sold_here}
        imported = platform.client.post(
            f"/api/sessions/{hall.session_id}/seats",
            json={"blocks": [{**layout, "ticket_types": [], "name": "y"}, layout]},
        )
        problem_of(imported, 400, "invalid_ticket_type")
    assert owner.everything(platform.organization_id) == before


def test_a_block_sells_its_ticket_types_at_its_own_prices(platform: Platform) -> None:
    hall = platform.hall(1, 4)
    child = made_type(platform, hall.session_id, "Child")
    assert hold(platform, hall, 0).json()["total"] == 4500
    sold_here = [{"ticket_type_id": child, "price": 700}]
    assert change(platform, hall, ticket_types=sold_here).status_code == 200
    placed = hold(platform, hall, 1).json()
    assert (placed["ticket_type_id"], placed["total"]) == (child, 700)
    refused = hold(platform, hall, 2, ticket_type_id=hall.ticket_type_id)
    problem_of(refused, 400, "invalid_ticket_type")
    assert offered(platform, hall.session_id) == {
        "Seat": (0, 0, 0, 0),
        "Child": (4, 2, 0, 2),
    }


def test_a_capacity_below_the_seat_count_is_enforced(platform: Platform, owner: Owner) -> None:
    hall = platform.hall(1, 5, capacity=2)
    assert offered(platform, hall.session_id) == {"Seat": (5, 0, 0, 2)}
    first = hold(platform, hall, 0, 1).json()
    problem_of(hold(platform, hall, 2), 409, "block_at_capacity")
    problem = problem_of(change(platform, hall, capacity=1), 409, "capacity_in_use")
    assert problem["in_use"] == 2
    assert offered(platform, hall.session_id) == {"Seat": (5, 2, 0, 0)}
    assert change(platform, hall, capacity=3).json()["capacity"] == 3
    assert hold(platform, hall, 2).status_code == 201
    problem_of(hold(platform, hall, 3), 409, "block_at_capacity")
    platform.client.post(f"/api/holds/{first['hold_id']}/release")
    assert offered(platform, hall.session_id) == {"Seat": (5, 1, 0, 2)}
    owner.assert_counters_add_up(platform.organization_id)


def test_a_capacity_can_be_removed_while_seats_are_held(platform: Platform, owner: Owner) -> None:
    hall = platform.hall(1, 3, capacity=1)
    held = hold(platform, hall, 0).json()
    assert change(platform, hall, capacity=None).json().get("capacity") is None
    assert hold(platform, hall, 1).status_code == 201
    assert pools(platform, hall.session_id) == [("Stalls", 1, 1)]
    platform.client.post(f"/api/holds/{held['hold_id']}/release")
    assert pools(platform, hall.session_id) == [("Stalls", 1, 0)]
    assert offered(platform, hall.session_id) == {"Seat": (3, 1, 0, 2)}
    owner.assert_counters_add_up(platform.organization_id)


def test_a_first_capacity_needs_a_block_without_held_seats(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    hall = unreaped.hall(1, 4)
    held = hold(unreaped, hall, 0, 1).json()
    problem = problem_of(change(unreaped, hall, capacity=3), 409, "capacity_in_use")
    assert problem["in_use"] == 2
    # The expired hold is not reaped yet, and it counts toward no capacity.
    unreaped_owner.let_pass(unreaped.organization_id, 601)
    problem_of(change(unreaped, hall, capacity=3), 409, "capacity_in_use")
    kept = hold(unreaped, hall, 0, 1).json()
    assert kept["hold_id"] != held["hold_id"]
    unreaped.client.post(f"/api/holds/{kept['hold_id']}/release")
    assert change(unreaped, hall, capacity=3).json()["capacity"] == 3
    assert pools(unreaped, hall.session_id) == [("Stalls", 3, 0)]


def test_a_sold_seat_prevents_a_first_capacity(platform: Platform) -> None:
    hall = platform.hall(1, 4)
    assert confirmed(platform, hold(platform, hall, 0).json()).status_code == 200
    problem = problem_of(change(platform, hall, capacity=3), 409, "capacity_in_use")
    assert problem["in_use"] == 1


def test_single_seat_gaps_are_refused_as_soon_as_the_policy_says_so(platform: Platform) -> None:
    hall = platform.hall(3, 5)
    assert hold(platform, hall, 1).status_code == 201
    policy = {"hold_policy": {"refuse_orphans": True}}
    assert platform.client.patch(f"/api/events/{hall.event_id}", json=policy).status_code == 200
    problem = problem_of(hold(platform, hall, 6), 409, "orphan_seat")
    assert "orphan_seats" in problem
    assert hold(platform, hall, 5).status_code == 201
    policy = {"hold_policy": {"refuse_orphans": False}}
    path = f"/api/ticket-types/{hall.ticket_type_id}"
    assert platform.client.patch(path, json=policy).status_code == 200
    assert hold(platform, hall, 11).status_code == 201


def test_best_available_skips_a_block_that_is_no_longer_sold(platform: Platform) -> None:
    """Even when the search began with the old catalog."""
    hall = platform.hall(1, 4)
    body: Json = {"session_id": hall.session_id, "ticket_type_id": hall.ticket_type_id}
    found = platform.client.post("/api/holds", json=body | {"quantity": 1, "user_id": "a"})
    assert found.status_code == 201
    other = made_type(platform, hall.session_id, "Child")
    change(platform, hall, ticket_types=[{"ticket_type_id": other, "price": 1}])
    none = platform.client.post("/api/holds", json=body | {"quantity": 1, "user_id": "b"})
    problem_of(none, 409, "no_available_seats")


def test_availability_distinguishes_held_sold_blocked_and_expired_seats(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    hall = unreaped.hall(2, 5)
    seats = f"/api/sessions/{hall.session_id}/seats"
    assert hold(unreaped, hall, 0, 1).status_code == 201
    unreaped_owner.let_pass(unreaped.organization_id, 601)
    assert offered(unreaped, hall.session_id) == {"Seat": (10, 0, 0, 10)}
    assert hold(unreaped, hall, 2, 3).status_code == 201
    assert confirmed(unreaped, hold(unreaped, hall, 4).json()).status_code == 200
    assert offered(unreaped, hall.session_id) == {"Seat": (10, 2, 1, 7)}
    blocked = {"seat_ids": [hall.seat_ids[4], hall.seat_ids[9]], "reason": "Camera"}
    assert unreaped.client.post(f"{seats}/block", json=blocked).status_code == 200
    assert offered(unreaped, hall.session_id) == {"Seat": (10, 2, 1, 6)}


def test_a_seated_ticket_type_offers_no_more_than_its_quota(platform: Platform) -> None:
    hall = platform.hall(1, 6)
    made_type(platform, hall.session_id, "Student", capacity=2)
    assert offered(platform, hall.session_id) == {"Seat": (6, 0, 0, 6), "Student": (6, 0, 0, 2)}
    hold(platform, hall, 0, 1, 2, 3, 4)
    assert offered(platform, hall.session_id) == {"Seat": (6, 5, 0, 1), "Student": (6, 5, 0, 1)}


def test_availability_sums_over_the_blocks_that_sell_a_ticket_type(platform: Platform) -> None:
    session_id = platform.on_sale().session_id
    adult, child = (made_type(platform, session_id, name) for name in ("Adult", "Child"))
    only_adults = [{"ticket_type_id": adult, "price": 1}]
    layouts = [
        {"name": "Stalls", "rows": ["A"], "seats_per_row": 4, "capacity": 3},
        {"name": "Balcony", "rows": ["A"], "seats_per_row": 5, "ticket_types": only_adults},
    ]
    platform.made(f"/api/sessions/{session_id}/seats", {"blocks": layouts})
    assert offered(platform, session_id) == {"Adult": (9, 0, 0, 8), "Child": (4, 0, 0, 3)}
    body = {"session_id": session_id, "ticket_type_id": child, "quantity": 1, "user_id": "u"}
    assert platform.client.post("/api/holds", json=body).status_code == 201
    assert offered(platform, session_id) == {"Adult": (9, 1, 0, 7), "Child": (4, 1, 0, 2)}


def test_seats_and_general_admission_are_offered_together(platform: Platform) -> None:
    hall = platform.hall(1, 3)
    standing = {"session_id": hall.session_id, "name": "Floor", "price": 1, "capacity": 7}
    platform.made("/api/ticket-types", standing)
    assert offered(platform, hall.session_id) == {"Seat": (3, 0, 0, 3), "Floor": (7, 0, 0, 7)}


def test_whether_a_ticket_type_is_seated_cannot_change(platform: Platform) -> None:
    hall = platform.hall(1, 1)
    path = f"/api/ticket-types/{hall.ticket_type_id}"
    read = platform.client.get(path).json()
    assert (read["is_seated"], read["pool_ids"]) == (True, [])
    problem_of(platform.client.patch(path, json={"is_seated": False}), 400, "validation_error")
    assert platform.client.patch(path, json={"price": 5}).json()["price"] == 5


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_foreign_and_unknown_blocks_are_not_found(
    platform: Platform, neighbour: Platform, method: str
) -> None:
    foreign = neighbour.hall(1, 1).block_id
    body = {"name": "x"} if method == "PATCH" else None
    for block_id in (foreign, str(uuid4()), "x"):
        answer = platform.client.request(method, f"/api/blocks/{block_id}", json=body)
        problem_of(answer, 404, "block_not_found")
    assert neighbour.client.get(f"/api/blocks/{foreign}").json()["name"] == "Stalls"


def test_a_foreign_session_gets_no_block(platform: Platform, neighbour: Platform) -> None:
    for session_id in (neighbour.on_sale().session_id, str(uuid4())):
        body = {"session_id": session_id, "name": "Stalls"}
        problem_of(platform.client.post("/api/blocks", json=body), 400, "invalid_session")


def test_a_repeated_request_creates_one_block(platform: Platform, owner: Owner) -> None:
    body = {"session_id": platform.on_sale().session_id, "name": "Stalls", "capacity": 3}
    headers = {"Idempotency-Key": uuid4().hex}
    first = platform.client.post("/api/blocks", json=body, headers=headers)
    before = owner.everything(platform.organization_id)
    again = platform.client.post("/api/blocks", json=body, headers=headers)
    assert (again.status_code, again.content) == (201, first.content)
    assert owner.everything(platform.organization_id) == before


def test_a_capacity_changed_during_a_rush_is_never_exceeded(
    platform: Platform, owner: Owner
) -> None:
    hall = platform.hall(10, 20, capacity=100)

    def rush(first: int) -> list[int]:
        return [hold(platform, hall, first + step).status_code for step in range(0, 200, 8)]

    with ThreadPoolExecutor(8) as crowd:
        rushing = [crowd.submit(rush, number) for number in range(8)]
        for capacity in (120, 130, 150):
            assert change(platform, hall, capacity=capacity).status_code == 200
        statuses = [status for future in rushing for status in future.result()]
    assert set(statuses) <= {201, 409}
    assert statuses.count(201) <= 150
    assert pools(platform, hall.session_id) == [("Stalls", 150, statuses.count(201))]
    owner.assert_counters_add_up(platform.organization_id)
