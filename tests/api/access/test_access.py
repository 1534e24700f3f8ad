"""Access rules, checked for every route of the table."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

from holdfast.domain.access.scopes import ALL_SCOPES, Mode, Scope
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.ports.access import Principal
from holdfast.ports.store import StoreUnavailable
from holdfast.services.access.authentication import new_secret_key
from tests.api.world import UNKNOWN, World, trusting

every_route = pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if not route.is_public],
    ids=lambda route: f"{route.method} {route.path}",
)
every_scoped_route = pytest.mark.parametrize(
    ("route", "scope"),
    [(route, route.scope) for route in ROUTES if route.scope is not None],
    ids=lambda each: f"{each.method} {each.path}" if isinstance(each, Route) else "",
)


def address(route: Route[Any]) -> str:
    return "/".join(str(UNKNOWN) if "{" in part else part for part in route.path.split("/"))


@every_route
def test_no_key_is_401(world: World, route: Route[Any]) -> None:
    answer = world.call(route.method, address(route), secret="")
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@every_route
def test_an_unknown_key_is_401(world: World, route: Route[Any]) -> None:
    secret, _ = new_secret_key(Mode.LIVE)
    answer = world.call(route.method, address(route), secret=secret)
    assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert secret not in answer.text


def test_few_routes_need_no_scope() -> None:
    assert {(route.method, route.path) for route in ROUTES if route.scope is None} == {
        ("POST", "/api/member-sessions"),
        ("DELETE", "/api/member-sessions/current"),
    }


@every_scoped_route
def test_a_key_with_every_other_scope_is_403(world: World, route: Route[Any], scope: Scope) -> None:
    secret = world.keys.new_key(*(each for each in ALL_SCOPES if each is not scope))
    answer = world.call(route.method, address(route), secret=secret)
    assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")
    assert scope.value in answer.headers["www-authenticate"]


@every_scoped_route
def test_a_key_with_only_that_scope_is_admitted(
    world: World, route: Route[Any], scope: Scope
) -> None:
    answer = world.call(route.method, address(route), secret=world.keys.new_key(scope))
    if answer.status_code == 403 and scope is Scope.TOKENS_WRITE:
        assert answer.json()["error"] == "scope_not_held"  # a token would have more scopes
        return
    assert answer.status_code not in {401, 403, 500}


@every_route
def test_a_holder_token_is_403_unless_the_route_is_open_to_it(
    world: World, route: Route[Any]
) -> None:
    answer = world.call(route.method, address(route), secret=world.token())
    if route.is_for_holders:
        assert answer.status_code not in {401, 500}
        assert answer.json().get("error") != "insufficient_scope"
    else:
        assert (answer.status_code, answer.json()["error"]) == (403, "secret_key_required")


@pytest.mark.parametrize(
    "authorization",
    [
        "Basic aGtfdGVzdA==",
        "Bearer",
        "Bearer ",
        "Bearer not-a-key",
        "hk_test_" + "a" * 43,
        "Bearer hk_test_" + "a" * 43 + ", Bearer hk_test_" + "b" * 43,
        "Bearer hk_test_" + "a" * 5000,
    ],
)
def test_a_malformed_credential_is_401_without_a_lookup(world: World, authorization: str) -> None:
    questions = world.keys.questions
    headers = {"Authorization": authorization}
    answer = world.call("GET", "/api/holds", secret="", headers=headers)
    assert answer.status_code == 401
    assert world.keys.questions == questions


def test_a_flood_with_a_new_key_causes_one_lookup(world: World) -> None:
    secret = world.keys.new_key("catalog:read")
    questions = world.keys.questions

    async def flood() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=world.api)
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            calls = (client.get("/api/events", headers=headers) for _ in range(50))
            return await asyncio.gather(*calls)

    assert {answer.status_code for answer in asyncio.run(flood())} == {200}
    assert world.keys.questions == questions + 1


def test_callers_are_asked_to_retry_while_keys_are_unavailable(world: World) -> None:
    class NoDirectory:
        def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
            raise StoreUnavailable

    api = create_api(replace(world.container, authenticator=trusting(NoDirectory())))

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app=api)
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            return await client.get(
                "/api/holds", headers={"Authorization": f"Bearer {world.secret}"}
            )

    answer = asyncio.run(call())
    assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
    assert answer.json()["message"] == "Unable to process hold request. Please try again."
    assert answer.headers["retry-after"] == "1"
    api.close()
