"""Setting up the catalog, and changing it during a sale."""

from uuid import UUID, uuid4

import pytest

from tests.e2e.answers import moment, problem_of
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform, Sale

NO_POLICY: Json = {}


def pool_of(platform: Platform, sale: Sale) -> str:
    (pool_id,) = platform.client.get(f"/api/ticket-types/{sale.ticket_type_id}").json()["pool_ids"]
    return str(pool_id)


def counters(platform: Platform, pool_id: str) -> tuple[int, int, int]:
    pool = platform.client.get(f"/api/pools/{pool_id}").json()
    return pool["capacity"], pool["held"], pool["available"]


def test_an_event_is_created_read_and_changed(platform: Platform) -> None:
    body: Json = {"name": "Gala", "currency": "EUR", "hold_policy": {"ttl_seconds": 300}}
    event = platform.made("/api/events", body)
    UUID(event["event_id"])
    assert event == {
        "event_id": event["event_id"],
        "name": "Gala",
        "currency": "EUR",
        "status": "published",
        "hold_policy": NO_POLICY | {"ttl_seconds": 300},
        "created_at": event["created_at"],
        "updated_at": event["created_at"],
    }
    path = f"/api/events/{event['event_id']}"
    assert platform.client.get(path).json() == event
    changed = platform.client.patch(path, json={"name": "Great gala"})
    assert changed.status_code == 200
    after = changed.json()
    assert moment(after["updated_at"]) > moment(event["updated_at"])
    assert after == event | {"name": "Great gala", "updated_at": after["updated_at"]}
    assert platform.client.get(path).json() == after


def test_a_session_is_created_read_and_changed(platform: Platform) -> None:
    event_id = platform.on_sale().event_id
    body = {"event_id": event_id, "name": "Friday", "starts_at": "2030-06-21T21:30:00+02:00"}
    session = platform.made("/api/sessions", body)
    assert session == {
        "session_id": session["session_id"],
        "event_id": event_id,
        "name": "Friday",
        "status": "scheduled",
        "starts_at": "2030-06-21T19:30:00Z",
        "created_at": session["created_at"],
        "updated_at": session["created_at"],
    }
    path = f"/api/sessions/{session['session_id']}"
    assert platform.client.get(path).json() == session
    moved = platform.client.patch(path, json={"starts_at": "2030-06-22T19:30:00Z"}).json()
    assert (moved["name"], moved["starts_at"]) == ("Friday", "2030-06-22T19:30:00Z")
    renamed = platform.client.patch(path, json={"name": "Saturday"}).json()
    assert (renamed["name"], renamed["starts_at"]) == ("Saturday", "2030-06-22T19:30:00Z")
    assert platform.client.get(path).json() == renamed


def test_a_pool_is_created_read_and_changed(platform: Platform) -> None:
    session_id = platform.on_sale().session_id
    pool = platform.made("/api/pools", {"session_id": session_id, "name": "Floor", "capacity": 100})
    counts = {"capacity": 100, "held": 0, "sold": 0, "available": 100}
    assert pool == {"pool_id": pool["pool_id"], "session_id": session_id, "name": "Floor", **counts}
    path = f"/api/pools/{pool['pool_id']}"
    assert platform.client.get(path).json() == pool
    changed = platform.client.patch(path, json={"name": "Ground floor", "capacity": 90}).json()
    assert changed == pool | {"name": "Ground floor", "capacity": 90, "available": 90}
    assert platform.client.get(path).json() == changed


def test_a_ticket_type_is_created_read_and_changed(platform: Platform) -> None:
    session_id = platform.on_sale().session_id
    body = {"session_id": session_id, "name": "Adult", "price": 4500, "capacity": 50}
    made = platform.made("/api/ticket-types", body)
    (pool_id,) = made["pool_ids"]
    assert made == {
        "ticket_type_id": made["ticket_type_id"],
        "session_id": session_id,
        "name": "Adult",
        "price": 4500,
        "currency": "EUR",
        "is_seated": False,
        "pool_ids": [pool_id],
        "hold_policy": NO_POLICY,
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
    }
    own_pool = platform.client.get(f"/api/pools/{pool_id}").json()
    assert (own_pool["name"], own_pool["capacity"]) == ("Adult", 50)
    path = f"/api/ticket-types/{made['ticket_type_id']}"
    assert platform.client.get(path).json() == made
    change = {"name": "Grown-up", "price": 0, "hold_policy": {"quantity_max": 4}}
    changed = platform.client.patch(path, json=change).json()
    assert (changed["name"], changed["price"]) == ("Grown-up", 0)
    assert changed["hold_policy"] == NO_POLICY | {"quantity_max": 4}
    assert platform.client.get(path).json() == changed


def test_a_ticket_type_needs_a_pool(platform: Platform) -> None:
    body = {"session_id": platform.on_sale().session_id, "name": "Adult", "price": 4500}
    problem_of(platform.client.post("/api/ticket-types", json=body), 400, "validation_error")
    for pool_ids in ([], [str(uuid4())] * 2):
        answer = platform.client.post("/api/ticket-types", json=body | {"pool_ids": pool_ids})
        problem_of(answer, 400, "validation_error")


@pytest.mark.parametrize("kind", ["events", "sessions", "pools", "ticket-types"])
def test_lists_are_newest_first_and_paged(platform: Platform, kind: str) -> None:
    first = platform.on_sale(1)
    bodies: dict[str, Json] = {
        "events": {"currency": "EUR"},
        "sessions": {"event_id": first.event_id},
        "pools": {"session_id": first.session_id, "capacity": 1},
        "ticket-types": {"session_id": first.session_id, "price": 1, "capacity": 1},
    }
    path, own_id = f"/api/{kind}", kind.removesuffix("s").replace("-", "_") + "_id"
    (oldest,) = platform.client.get(path).json()["data"]
    made = [oldest[own_id]]
    made += [platform.made(path, bodies[kind] | {"name": f"No. {n}"})[own_id] for n in range(4)]
    seen: list[str] = []
    parameters: Json = {"limit": 2}
    while True:
        page = platform.client.get(path, params=parameters).json()
        seen += [each[own_id] for each in page["data"]]
        if not page["has_more"]:
            break
        parameters["cursor"] = page["next_cursor"]
    assert page.get("next_cursor") is None
    assert seen == made[::-1]


def test_sessions_pools_and_ticket_types_are_listed_by_parent(
    platform: Platform, neighbour: Platform
) -> None:
    one, other = platform.on_sale(1, 1), platform.on_sale(1)
    foreign = neighbour.on_sale(1)

    def ids(path: str, **filters: str) -> set[str]:
        own_id = path.removeprefix("/api/").removesuffix("s").replace("-", "_") + "_id"
        return {each[own_id] for each in platform.client.get(path, params=filters).json()["data"]}

    assert ids("/api/sessions", event_id=one.event_id) == {one.session_id}
    assert ids("/api/sessions") == {one.session_id, other.session_id}
    assert ids("/api/ticket-types", session_id=one.session_id) == set(one.ticket_type_ids)
    assert ids("/api/pools", session_id=other.session_id) == {pool_of(platform, other)}
    assert len(ids("/api/pools")) == 3
    for path, name, value in (
        ("/api/sessions", "event_id", foreign.event_id),
        ("/api/pools", "session_id", foreign.session_id),
        ("/api/ticket-types", "session_id", foreign.session_id),
    ):
        assert ids(path, **{name: value}) == set()


def everything_to_make(sale: Sale) -> dict[str, Json]:
    return {
        "/api/events": {"name": "Gala", "currency": "EUR"},
        "/api/sessions": {"name": "Gala", "event_id": sale.event_id},
        "/api/pools": {"name": "Gala", "session_id": sale.session_id, "capacity": 5},
        "/api/ticket-types": {
            "name": "Gala",
            "session_id": sale.session_id,
            "price": 5,
            "capacity": 5,
        },
    }


def test_a_repeated_creation_creates_one(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale()
    for path, body in everything_to_make(sale).items():
        headers = {"Idempotency-Key": uuid4().hex}
        first = platform.client.post(path, json=body, headers=headers)
        before = owner.everything(platform.organization_id)
        again = platform.client.post(path, json=body, headers=headers)
        assert (again.status_code, again.content) == (201, first.content)
        assert again.headers["idempotent-replayed"] == "true"
        other = platform.client.post(path, json=body | {"name": "Ball"}, headers=headers)
        problem_of(other, 422, "idempotency_key_reused")
        assert owner.everything(platform.organization_id) == before


def test_a_repeated_change_applies_once(platform: Platform) -> None:
    sale = platform.on_sale(5)
    path = f"/api/ticket-types/{sale.ticket_type_id}"
    headers = {"Idempotency-Key": uuid4().hex}
    first = platform.client.patch(path, json={"price": 700}, headers=headers)
    assert platform.client.patch(path, json={"price": 900}).json()["price"] == 900
    again = platform.client.patch(path, json={"price": 700}, headers=headers)
    assert again.content == first.content
    assert platform.client.get(path).json()["price"] == 900
    elsewhere = platform.client.patch(
        f"/api/pools/{pool_of(platform, sale)}", json={"capacity": 9}, headers=headers
    )
    problem_of(elsewhere, 422, "idempotency_key_reused")


def test_a_pool_cannot_shrink_below_its_held_places(platform: Platform) -> None:
    sale = platform.on_sale(10)
    pool_id = pool_of(platform, sale)
    hold = platform.place(sale, 6).json()
    path = f"/api/pools/{pool_id}"
    problem = problem_of(platform.client.patch(path, json={"capacity": 5}), 409, "capacity_in_use")
    assert problem["in_use"] == 6
    assert problem["message"] == "6 place(s) are held or sold; the total cannot be lower"
    assert counters(platform, pool_id) == (10, 6, 4)
    assert platform.client.patch(path, json={"capacity": 6}).status_code == 200
    assert counters(platform, pool_id) == (6, 6, 0)
    problem_of(platform.place(sale), 409, "insufficient_inventory")
    platform.client.post(f"/api/holds/{hold['hold_id']}/release")
    assert platform.client.patch(path, json={"capacity": 0}).status_code == 200
    assert counters(platform, pool_id) == (0, 0, 0)


def test_enlarging_a_pool_frees_places_at_once(platform: Platform) -> None:
    sale = platform.on_sale(1)
    assert platform.place(sale).status_code == 201
    problem_of(platform.place(sale), 409, "insufficient_inventory")
    platform.client.patch(f"/api/pools/{pool_of(platform, sale)}", json={"capacity": 3})
    assert platform.place(sale, 2).status_code == 201
    problem_of(platform.place(sale), 409, "insufficient_inventory")


def test_a_new_price_applies_to_new_holds_only(platform: Platform) -> None:
    sale = platform.on_sale(10, price=4500)
    before = platform.place(sale, 2).json()
    path = f"/api/ticket-types/{sale.ticket_type_id}"
    assert platform.client.patch(path, json={"price": 5000}).json()["price"] == 5000
    assert platform.place(sale, 2).json()["total"] == 10_000
    kept = platform.client.get(f"/api/holds/{before['hold_id']}").json()
    assert (kept["total"], kept["lines"]) == (9000, before["lines"])


def test_a_new_policy_applies_to_new_holds_only(platform: Platform) -> None:
    sale = platform.on_sale(10)
    before = platform.place(sale, 5).json()
    policy = {"hold_policy": {"ttl_seconds": 60, "quantity_max": 2}}
    assert platform.client.patch(f"/api/events/{sale.event_id}", json=policy).status_code == 200
    problem_of(platform.place(sale, 3), 400, "quantity_above_maximum")
    assert platform.place(sale, 2).json()["expires_in_seconds"] == 60
    kept = platform.client.get(f"/api/holds/{before['hold_id']}").json()
    assert kept["expires_at"] == before["expires_at"]
    path = f"/api/ticket-types/{sale.ticket_type_id}"
    platform.client.patch(path, json={"hold_policy": {"quantity_max": 3}})
    assert platform.place(sale, 3).json()["expires_in_seconds"] == 60
    reset = platform.client.patch(path, json={"hold_policy": {"quantity_max": None}}).json()
    assert reset["hold_policy"] == NO_POLICY
    problem_of(platform.place(sale, 3), 400, "quantity_above_maximum")


def test_released_places_return_to_their_own_pool(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(5)
    old = pool_of(platform, sale)
    body = {"session_id": sale.session_id, "name": "New hall", "capacity": 7}
    new = platform.made("/api/pools", body)["pool_id"]
    hold = platform.place(sale, 3).json()
    path = f"/api/ticket-types/{sale.ticket_type_id}"
    assert platform.client.patch(path, json={"pool_ids": [new]}).json()["pool_ids"] == [new]
    assert platform.available(sale) == [7]
    assert platform.place(sale, 4).status_code == 201
    assert (counters(platform, old), counters(platform, new)) == ((5, 3, 2), (7, 4, 3))
    platform.client.post(f"/api/holds/{hold['hold_id']}/release")
    assert (counters(platform, old), counters(platform, new)) == ((5, 0, 5), (7, 4, 3))
    owner.assert_counters_add_up(platform.organization_id)


def test_expired_places_count_as_free_in_a_pool(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(5)
    unreaped.place(sale, 3)
    unreaped_owner.let_pass(unreaped.organization_id, 601)
    assert counters(unreaped, pool_of(unreaped, sale)) == (5, 0, 5)
    assert unreaped_owner.counters(unreaped.organization_id) == [(5, 3, 0)]


def test_an_empty_change_is_refused(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(5)
    before = owner.everything(platform.organization_id)
    for path in (
        f"/api/events/{sale.event_id}",
        f"/api/sessions/{sale.session_id}",
        f"/api/pools/{pool_of(platform, sale)}",
        f"/api/ticket-types/{sale.ticket_type_id}",
    ):
        unchanged = platform.client.get(path).json()
        for nothing in ({}, {"name": None}, {"nmae": "Gala"}):
            problem_of(platform.client.patch(path, json=nothing), 400, "validation_error")
        assert platform.client.get(path).json() == unchanged
    empty_policy = platform.client.patch(f"/api/events/{sale.event_id}", json={"hold_policy": {}})
    problem_of(empty_policy, 400, "validation_error")
    assert owner.everything(platform.organization_id) == before


@pytest.mark.parametrize("name", ["", " ", "\u3000", "x" * 201])
def test_a_blank_or_overlong_name_is_refused(platform: Platform, name: str) -> None:
    body = {"name": name, "currency": "EUR"}
    problem_of(platform.client.post("/api/events", json=body), 400, "validation_error")


@pytest.mark.parametrize("name", ["x" * 200, "Größe 🎟", "שלום", "'; DROP TABLE hold; --"])
def test_a_name_may_be_in_any_script(platform: Platform, name: str) -> None:
    event = platform.made("/api/events", {"name": name, "currency": "EUR"})
    assert platform.client.get(f"/api/events/{event['event_id']}").json()["name"] == name


@pytest.mark.parametrize("owned_by_another", [True, False])
def test_foreign_and_unknown_ids_get_the_same_refusal(
    platform: Platform, neighbour: Platform, owner: Owner, owned_by_another: bool
) -> None:
    mine, other = platform.on_sale(5), neighbour.on_sale(5)
    event_id, session_id, pool_id = other.event_id, other.session_id, pool_of(neighbour, other)
    if not owned_by_another:
        event_id, session_id, pool_id = (str(uuid4()) for _ in range(3))
    before = owner.everything(platform.organization_id)
    made = everything_to_make(mine)
    ticket_type = made["/api/ticket-types"]
    for path, body, error, message in (
        ("/api/sessions", {"name": "x", "event_id": event_id}, "invalid_event", "Event not found"),
        (
            "/api/pools",
            made["/api/pools"] | {"session_id": session_id},
            "invalid_session",
            "Session not found",
        ),
        (
            "/api/ticket-types",
            ticket_type | {"session_id": session_id},
            "invalid_session",
            "Session not found",
        ),
        (
            "/api/ticket-types",
            ticket_type | {"pool_ids": [pool_id]},
            "invalid_pool",
            "Pool not found in this session",
        ),
    ):
        problem = problem_of(platform.client.post(path, json=body), 400, error)
        assert problem["message"] == message
    changed = platform.client.patch(
        f"/api/ticket-types/{mine.ticket_type_id}", json={"pool_ids": [pool_id]}
    )
    problem_of(changed, 400, "invalid_pool")
    assert owner.everything(platform.organization_id) == before


def test_a_ticket_type_cannot_use_a_pool_of_another_session(platform: Platform) -> None:
    one, other = platform.on_sale(5), platform.on_sale(5)
    body = {"name": "x", "price": 1, "session_id": one.session_id}
    answer = platform.client.post(
        "/api/ticket-types", json=body | {"pool_ids": [pool_of(platform, other)]}
    )
    problem_of(answer, 400, "invalid_pool")


def test_a_ticket_type_of_another_session_cannot_be_held(platform: Platform) -> None:
    one, other = platform.on_sale(5), platform.on_sale(5)
    answer = platform.place(one, ticket_type_id=other.ticket_type_id)
    problem_of(answer, 400, "invalid_ticket_type")
    assert (platform.available(one), platform.available(other)) == ([5], [5])
