"""An e-mail address is never part of a URL: it is searched for with a header."""

from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from msgspec import inspect

from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.document import openapi_document
from holdfast.entrypoints.api.openapi.schemas import types_in
from holdfast.entrypoints.api.orders.routes import DEMO_ROUTES
from holdfast.entrypoints.api.routes import ROUTES
from tests.api.http.test_validation import MARK
from tests.api.world import EVENT, World
from tests.support.platform import EMAIL_HEADER

EVERY_ROUTE = (*ROUTES, *DEMO_ROUTES)
SEARCHED = (
    "/api/audit",
    "/api/events/{event_id}/seats/{seat_id}",
    "/api/holds",
    "/api/orders",
)
CANARY = f"{MARK}@canary.example"


def name_of(route: Route[Any]) -> str:
    return f"{route.method} {route.path}"


def address_fields(route: Route[Any]) -> list[str]:
    """The fields beside the body that are an address, by their type or their name."""
    fields = inspect.type_info(route.query).fields if route.query else ()  # type: ignore[attr-defined]
    return [
        field.encode_name
        for field in fields
        if "email" in field.encode_name
        or any(
            isinstance(each, inspect.Metadata)
            and (each.extra_json_schema or {}).get("format") == "email"
            for each in types_in(field.type)
        )
    ]


def called(path: str) -> str:
    return path.format(
        **{name: EVENT if name == "event_id" else UUID(int=1) for name in NAMES_IN_PATHS}
    )


NAMES_IN_PATHS = {
    part.strip("{}") for route in EVERY_ROUTE for part in route.path.split("/") if "{" in part
}


def test_these_routes_search_for_an_address() -> None:
    """Without them, the tests below would check nothing."""
    found = [route.path for route in EVERY_ROUTE if address_fields(route)]
    assert tuple(sorted(found)) == SEARCHED


@pytest.mark.parametrize("route", EVERY_ROUTE, ids=name_of)
def test_no_parameter_of_a_url_is_an_address(route: Route[Any]) -> None:
    document = openapi_document(EVERY_ROUTE)
    shared = document["components"]["parameters"]
    refs = document["paths"][route.path][route.method.lower()]["parameters"]
    parameters = [shared[each["$ref"].rsplit("/", 1)[1]] for each in refs]
    in_urls = [each for each in parameters if each["in"] in {"path", "query"}]
    assert not [each["name"] for each in in_urls if "email" in each["name"].lower()]
    assert not [each["name"] for each in in_urls if each["schema"].get("format") == "email"]
    headers = [each["name"] for each in parameters if each["schema"].get("format") == "email"]
    assert headers == [EMAIL_HEADER] * len(address_fields(route))


@pytest.mark.parametrize("route", EVERY_ROUTE, ids=name_of)
def test_an_address_in_a_url_is_refused(world: World, route: Route[Any]) -> None:
    for name in {"customer_email", *address_fields(route)}:
        path = f"{called(route.path)}?{name}={quote(CANARY)}"
        answer = world.call(route.method, path, json={} if route.is_unsafe else None)
        assert answer.status_code in {400, 404}, "404 for a route that is not served here"
        assert MARK not in answer.text


@pytest.mark.parametrize("path", SEARCHED)
def test_the_refusal_names_the_header(world: World, path: str) -> None:
    answer = world.call("GET", f"{called(path)}?customer_email={quote(CANARY)}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"], error["code"]) == (
        400,
        "customer_email",
        "invalid_value",
    )
    assert EMAIL_HEADER in answer.json()["message"]
    assert MARK not in answer.text


@pytest.mark.parametrize(
    "address",
    [b"", b"ab", MARK.encode(), b"%b@" % MARK.encode(), f"{MARK}\xe9@example.com".encode(),
     b"\xff%b@example.com" % MARK.encode(), f"{MARK}@a.example, b@example.com".encode(),
     f"{MARK}{'a' * 250}@example.com".encode()],
)  # fmt: skip
@pytest.mark.parametrize("path", SEARCHED)
def test_an_invalid_address_is_refused(world: World, path: str, address: bytes) -> None:
    answer = world.call("GET", called(path), headers={EMAIL_HEADER: address})
    problem = answer.json()
    assert (answer.status_code, problem["error"]) == (400, "invalid_email")
    assert [each["field"] for each in problem["errors"]] == ["customer_email"]
    assert MARK not in answer.text


def test_a_call_that_does_not_search_refuses_the_header(world: World) -> None:
    """To ignore it would show everybody's rows instead of one person's."""
    answer = world.call("GET", "/api/events", headers={EMAIL_HEADER: CANARY})
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    assert EMAIL_HEADER in answer.json()["message"]
    assert MARK not in answer.text


def test_cursors_do_not_contain_the_address(world: World) -> None:
    """They are a place in the list, and the same for every filter."""
    email = f"{uuid4().hex}@example.com"
    for _ in range(3):
        world.place(customer_email=email)
    page = world.call("GET", "/api/holds?limit=2", headers={EMAIL_HEADER: email}).json()
    everybody = world.call("GET", "/api/holds?limit=2").json()
    assert page["next_cursor"] == everybody["next_cursor"]
