"""Access: keys, scopes and isolation between organizations."""

import re
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any
from uuid import uuid4

import httpx
import pytest

from holdfast.domain.access.scopes import ALL_SCOPES, Scope
from holdfast.domain.access.tokens import TOKEN_SCOPES
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.services.access.authentication import REMEMBERED_SECONDS
from tests.e2e.answers import problem_of, without
from tests.e2e.owner import Owner
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, new_platform, sent
from tests.support.servers import RunningServer

each_route = pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if not route.is_public],
    ids=lambda route: f"{route.method} {route.path}",
)
each_scoped_route = pytest.mark.parametrize(
    ("route", "scope"),
    [(route, route.scope) for route in ROUTES if route.scope is not None],
    ids=lambda each: f"{each.method} {each.path}" if isinstance(each, Route) else "",
)


def call(route: Route[Any], base_url: str, authorization: str | None) -> httpx.Response:
    """Call a route with unknown ids and an empty body."""
    path = "/".join(str(uuid4()) if "{" in part else part for part in route.path.split("/"))
    headers = {} if authorization is None else {"Authorization": authorization}
    with httpx.Client(base_url=base_url, verify=False) as client:
        if route.is_unsafe:
            return client.request(route.method, path, headers=headers, json={})
        return client.request(route.method, path, headers=headers)


@each_route
def test_every_route_requires_a_key(server: RunningServer, route: Route[Any]) -> None:
    answer = call(route, server.base_url, None)
    problem_of(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"] == 'Bearer realm="holdfast"'
    unknown = call(route, server.base_url, f"Bearer hk_test_{'x' * 43}")
    problem_of(unknown, 401, "unauthorized")
    assert 'error="invalid_token"' in unknown.headers["www-authenticate"]


@pytest.fixture(scope="module")
def key_for(server: RunningServer) -> Callable[[Iterable[Scope]], str]:
    """Make secret keys with exactly these scopes."""

    @cache
    def made(scopes: frozenset[Scope]) -> str:
        platform = new_platform(server.base_url, server.database_url, tuple(scopes))
        return platform.secret_key

    return lambda scopes: made(frozenset(scopes))


@each_scoped_route
def test_every_route_requires_its_scope(
    server: RunningServer,
    key_for: Callable[[Iterable[Scope]], str],
    route: Route[Any],
    scope: Scope,
) -> None:
    lacking = key_for(each for each in ALL_SCOPES if each is not scope)
    answer = call(route, server.base_url, f"Bearer {lacking}")
    problem = problem_of(answer, 403, "insufficient_scope")
    assert scope.value in problem["message"]
    assert f'scope="{scope.value}"' in answer.headers["www-authenticate"]
    # A key passes on to a token only what it may do itself.
    more = TOKEN_SCOPES if scope is Scope.TOKENS_WRITE else ()
    having = key_for([scope, *more])
    allowed = call(route, server.base_url, f"Bearer {having}")
    assert allowed.status_code in {200, 400, 404}, allowed.text


def test_a_read_only_key_changes_nothing(server: RunningServer, owner: Owner) -> None:
    reader = new_platform(server.base_url, server.database_url, ("holds:read", "catalog:read"))
    answer = reader.client.post("/api/events", json={"name": "Gala", "currency": "EUR"})
    problem_of(answer, 403, "insufficient_scope")
    assert not +owner.everything(reader.organization_id)
    assert reader.client.get("/api/events").json()["data"] == []


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Basic {key}",
        "{key}",
        "Bearer {key}x",
        "Bearer x{key}",
        "Bearer {key} {key}",
        "Bearer {key}, Bearer {key}",
        "Token {key}",
        "Bearer hk_test_",
        "Bearer ' OR 1=1",
    ],
)
def test_a_key_is_accepted_only_as_a_bearer_token(platform: Platform, authorization: str) -> None:
    headers = {"Authorization": authorization.format(key=platform.secret_key)}
    answer = platform.client.get("/api/holds", headers=headers)
    problem_of(answer, 401, "unauthorized")
    assert platform.secret_key not in answer.text


def test_the_bearer_scheme_is_case_insensitive(platform: Platform) -> None:
    for word in ("bearer", "BEARER"):
        headers = {"Authorization": f"{word} {platform.secret_key}"}
        assert platform.client.get("/api/holds", headers=headers).status_code == 200


def test_a_key_in_the_url_is_refused(platform: Platform, server: RunningServer) -> None:
    for name in ("key", "access_token", "api_key"):
        answer = httpx.get(f"{server.base_url}/api/holds", params={name: platform.secret_key})
        problem_of(answer, 401, "unauthorized")
    assert platform.secret_key not in server.log.read_text()


def test_documentation_and_health_need_no_key(server: RunningServer) -> None:
    with httpx.Client(base_url=server.base_url, verify=False) as client:
        for path in ("/api/docs", "/api/schema", "/healthz", "/readyz"):
            assert client.get(path).status_code == 200, path


def test_a_key_revoked_in_the_database_stops_working_at_once(
    platform: Platform, owner: Owner
) -> None:
    """Whoever revokes it: servers hear of it from PostgreSQL."""
    sale = platform.on_sale(5)
    assert platform.place(sale).status_code == 201
    owner.run(
        "UPDATE api_key SET revoked_at = now() WHERE organization_id = %s",
        platform.organization_id,
    )
    revoked = time.monotonic()
    wait_until(lambda: platform.client.get("/api/events").status_code == 401, "it is refused")
    assert time.monotonic() - revoked < REMEMBERED_SECONDS, "only its cache entry ran out"
    problem_of(platform.place(sale), 401, "unauthorized")
    assert owner.counters(platform.organization_id) == [(5, 1, 0)]


def test_a_refused_key_works_as_soon_as_it_is_valid(platform: Platform, owner: Owner) -> None:
    owner.run(
        "UPDATE api_key SET revoked_at = now() WHERE organization_id = %s",
        platform.organization_id,
    )
    wait_until(lambda: platform.client.get("/api/events").status_code == 401, "it is refused")
    owner.run(
        "UPDATE api_key SET revoked_at = NULL WHERE organization_id = %s", platform.organization_id
    )
    wait_until(lambda: platform.client.get("/api/events").status_code == 200, "the key works")


def new_member() -> Json:
    return {"username": f"ann-{uuid4()}", "role": "support"}


def test_another_organizations_ids_in_a_path_look_unknown(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    hall = neighbour.hall(1, 5, capacity=5)
    held = {"session_id": hall.session_id, "seat_ids": hall.seat_ids[:2], "user_id": "user-1"}
    hold_id = neighbour.made("/api/holds", held)["hold_id"]
    (pool,) = neighbour.client.get("/api/pools").json()["data"]
    checkout = neighbour.made("/api/checkouts", {"hold_ids": [hold_id]})
    sold_id = neighbour.place(neighbour.on_sale(1)).json()["hold_id"]
    order = neighbour.client.post(f"/api/holds/{sold_id}/confirm", json={}).json()
    member = neighbour.made("/api/members", new_member())
    before = owner.everything(neighbour.organization_id)
    theirs = {
        "hold_id": hold_id,
        "session_id": hall.session_id,
        "event_id": hall.event_id,
        "pool_id": pool["pool_id"],
        "ticket_type_id": hall.ticket_type_id,
        "block_id": hall.block_id,
        "seat_id": hall.seat_ids[4],
        "checkout_id": checkout["checkout_id"],
        "order_id": order["order_id"],
        "key_id": neighbour.client.get("/api/keys").json()["data"][0]["key_id"],
        "member_id": member["member_id"],
    }
    blocking = {"seat_ids": [hall.seat_ids[4]], "reason": "Mine"}
    layout = {"name": "Mine", "rows": ["A"], "seats_per_row": 1}
    changes: dict[str, Json] = {
        "/api/events/{event_id}": {"name": "Mine"},
        "/api/sessions/{session_id}": {"name": "Mine"},
        "/api/pools/{pool_id}": {"capacity": 0},
        "/api/ticket-types/{ticket_type_id}": {"price": 0},
        "/api/blocks/{block_id}": {"capacity": None},
        "/api/sessions/{session_id}/seats": {"blocks": [layout]},
        "/api/sessions/{session_id}/seats/block": blocking,
        "/api/sessions/{session_id}/seats/unblock": blocking,
        "/api/events/{event_id}/seats/{seat_id}/reserve": {"user_id": "user-2"},
        "/api/holds/{hold_id}/extend": {"minutes": 1},
        "/api/holds/{hold_id}/confirm": {},
        "PATCH /api/members/{member_id}": {"role": "viewer"},
        "/api/checkouts/{checkout_id}/complete": {"payment_reference": "pay-1"},
        "/api/orders/{order_id}/cancel": {"reason": "Mine"},
        "/api/orders/{order_id}/refunds": {"refund_reference": "mine"},
    }
    with_id = [route for route in ROUTES if "{" in route.path and not route.is_of_cart]
    assert len(with_id) == 34
    for route in with_id:
        sent = changes.get(f"{route.method} {route.path}", changes.get(route.path, {}))
        body = sent if route.is_unsafe else None
        nobody = {name: str(uuid4()) for name in theirs}
        foreign = platform.client.request(route.method, route.path.format(**theirs), json=body)
        unknown = platform.client.request(route.method, route.path.format(**nobody), json=body)
        assert foreign.status_code == unknown.status_code == 404, route
        assert without(foreign, "request_id") == without(unknown, "request_id")
        read = re.sub(
            "/(release|extend|confirm|complete|cancel|refunds|block|unblock|reserve|rotate|revoke)$",
            "",
            route.path,
        )
        assert neighbour.client.get(read.format(**theirs)).status_code == 200
    assert owner.everything(neighbour.organization_id) == before
    assert owner.status(hold_id) == "active"
    availability = f"/api/sessions/{hall.session_id}/availability"
    (offered,) = neighbour.client.get(availability).json()["ticket_types"]
    assert (offered["held"], offered["available"]) == (2, 3)


def test_another_organizations_ids_in_a_body_look_unknown(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    mine, theirs = platform.on_sale(5), neighbour.on_sale(5)
    before = owner.everything(platform.organization_id)
    for field, foreign in (
        ("session_id", theirs.session_id),
        ("ticket_type_id", theirs.ticket_type_id),
    ):
        body = platform.hold_body(mine)
        found = platform.client.post("/api/holds", json=body | {field: foreign})
        unknown = platform.client.post("/api/holds", json=body | {field: str(uuid4())})
        assert found.status_code == unknown.status_code == 400
        assert without(found, "request_id") == without(unknown, "request_id")
    assert owner.everything(platform.organization_id) == before
    assert neighbour.available(theirs) == [5]


def test_lists_hide_other_organizations_rows(platform: Platform, neighbour: Platform) -> None:
    sale = neighbour.on_sale(5)
    neighbour.place(sale, customer_email="user@example.com")
    neighbour.made("/api/blocks", {"session_id": sale.session_id, "name": "Stalls"})
    for path in (
        "/api/blocks",
        f"/api/blocks?session_id={sale.session_id}",
        "/api/events",
        "/api/sessions",
        f"/api/sessions?event_id={sale.event_id}",
        f"/api/pools?session_id={sale.session_id}",
        f"/api/ticket-types?session_id={sale.session_id}",
        "/api/holds",
        f"/api/holds?session_id={sale.session_id}",
    ):
        assert len(neighbour.client.get(path).json()["data"]) == 1
        assert platform.client.get(path).json()["data"] == []
    theirs = sent(customer_email="user@example.com")
    assert len(neighbour.client.get("/api/holds", **theirs).json()["data"]) == 1
    assert platform.client.get("/api/holds", **theirs).json()["data"] == []


def test_another_organizations_cursor_shows_only_your_own_rows(
    platform: Platform, neighbour: Platform
) -> None:
    for each in (platform, neighbour):
        sale = each.on_sale(5)
        for _ in range(3):
            each.place(sale)
    page = neighbour.client.get("/api/holds", params={"limit": 1}).json()
    following = {"limit": 100, "cursor": page["next_cursor"]}
    found = platform.client.get("/api/holds", params=following).json()["data"]
    mine = platform.client.get("/api/holds").json()["data"]
    assert {hold["hold_id"] for hold in found} <= {hold["hold_id"] for hold in mine}
