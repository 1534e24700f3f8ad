"""The OpenAPI document matches the table of routes."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import msgspec
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.http.codes import KINDS, ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.document import route_codes, security_of
from holdfast.entrypoints.api.openapi.examples import ANSWERS, REQUESTS
from holdfast.entrypoints.api.routes import ROUTES
from tests.api.world import World

Json = dict[str, Any]

BYTES_PER_ROUTE_MAX = 7_000


@pytest.fixture(scope="module")
def document(world: World) -> Json:
    """Read without a key, as anybody can."""
    answer = world.call("GET", "/api/schema", secret="")
    assert answer.status_code == 200
    return dict(answer.json())


def resolved(document: Json, part: Json) -> Json:
    """The target of a reference, or the part itself."""
    if "$ref" not in part:
        return part
    found = document
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def example_of(document: Json, response: Json) -> Json:
    """The first example of a success."""
    (first, *_) = response["content"]["application/json"]["examples"].values()
    return dict(resolved(document, first)["value"])


def operations(document: Json) -> list[Json]:
    return [operation for path in document["paths"].values() for operation in path.values()]


def operation(document: Json, route: Route[Any]) -> Json:
    return dict(document["paths"][route.path][route.method.lower()])


def test_the_document_is_openapi_3_1(document: Json) -> None:
    assert document["openapi"] == "3.1.0"
    assert {"title", "version"} <= document["info"].keys()
    assert document.keys() <= {"openapi", "info", "servers", "security", "paths", "components"}


def test_the_document_has_exactly_the_routes(document: Json) -> None:
    documented = {
        (method.upper(), path) for path, item in document["paths"].items() for method in item
    }
    assert documented == {(route.method, route.path) for route in ROUTES}
    names = [operation(document, route)["operationId"] for route in ROUTES]
    assert len(set(names)) == len(names)


def test_every_code_has_a_status_and_a_title() -> None:
    assert set(KINDS) == {*ProblemCode, *RefusalCode}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_answer_of_a_route_is_documented(document: Json, route: Route[Any]) -> None:
    found = operation(document, route)
    assert found["security"] == security_of(route)
    success = found["responses"][str(route.status)]["content"]["application/json"]
    assert success["schema"] == {"$ref": f"#/components/schemas/{route.answer.__name__}"}
    for code in route_codes(route):
        response = resolved(document, found["responses"][str(KINDS[code].status)])
        assert f"`{code.value}`" in response["description"]
        problem = document["components"]["examples"][code.value]["value"]
        assert (problem["error"], problem["status"]) == (code.value, KINDS[code].status)
    statuses = {str(KINDS[code].status) for code in route_codes(route)} | {str(route.status)}
    assert set(found["responses"]) - statuses - {"304"} == set(map(str, route.also))
    assert ("304" in found["responses"]) == route.has_etag
    headers = found["responses"][str(route.status)]["headers"].keys()
    assert ("ETag" in headers) == route.has_etag
    assert ({"Content-Encoding", "Vary"} <= headers) == route.is_compressed
    if route.not_found is not None:
        assert route.not_found.code in route_codes(route)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_parameters_and_bodies_are_documented(document: Json, route: Route[Any]) -> None:
    found = operation(document, route)
    given = [resolved(document, each) for each in found["parameters"]]
    parameters = {(each["in"], each["name"]): each for each in given}
    in_path = set(re.findall(r"\{(\w+)\}", route.path))
    assert {name for place, name in parameters if place == "path"} == in_path
    in_query = set(route.query.__struct_encode_fields__) if route.query else set()
    in_query -= {"customer_email", "ticket_code"}  # headers: tests/api/http/test_addresses.py
    assert {name for place, name in parameters if place == "query"} == in_query
    assert (("header", "Idempotency-Key") in parameters) == (
        route.is_unsafe and not route.is_public
    )
    assert ("requestBody" in found) == (route.body is not None)
    if route.body is not None:
        assert found["requestBody"]["required"] != route.is_body_optional


def test_complex_operations_have_a_description(document: Json) -> None:
    described = {route.path for route in ROUTES if "description" in operation(document, route)}
    assert {
        "/api/carts/{cart_token}/hold",
        "/api/carts/{cart_token}/hold/renew",
        "/api/stats",
    } <= described
    (filling,) = (route for route in ROUTES if route.empty_answer is not None)
    description = operation(document, filling)["description"]
    for each in ("All or nothing", "Expiry", "Prices", "`at_least`", "Waitlist"):
        assert each in description


def test_an_empty_cart_is_documented_beside_a_full_one(document: Json) -> None:
    (filling,) = (route for route in ROUTES if route.empty_answer is not None)
    found = operation(document, filling)["responses"]["200"]["content"]["application/json"]
    names = ["CartHoldAnswer", "EmptyCartAnswer"]
    assert found["schema"]["oneOf"] == [{"$ref": f"#/components/schemas/{name}"} for name in names]


def test_a_released_hold_is_shown_as_cancelled(document: Json) -> None:
    for path, method in (("release", "post"), ("", "delete")):
        operation = document["paths"][f"/api/holds/{{hold_id}}/{path}".rstrip("/")][method]
        assert example_of(document, operation["responses"]["200"])["status"] == "cancelled"


def test_every_202_shows_a_hold_on_the_waitlist(document: Json) -> None:
    accepted = [
        example_of(document, operation["responses"]["202"])
        for path in document["paths"].values()
        for operation in path.values()
        if "202" in operation["responses"]
    ]
    assert len(accepted) >= 3
    for hold in accepted:
        assert hold["status"] == "waiting"
        assert "held_at" not in hold
        assert hold["position"] >= 1
        assert hold["seat_ids"] == []
        assert hold["expires_in_seconds"] > 0


def test_csv_is_documented_where_it_is_accepted(document: Json) -> None:
    taking = {route.path for route in ROUTES if route.takes_csv}
    documented = {
        path
        for path, item in document["paths"].items()
        if "text/csv" in item.get("post", {}).get("requestBody", {}).get("content", {})
    }
    assert documented == taking == {"/api/sessions/{session_id}/seats"}


def test_every_reference_resolves(document: Json) -> None:
    references = set(references_in(document))
    assert references
    for reference in references:
        assert resolved(document, {"$ref": reference})


def test_times_have_the_date_time_format(document: Json) -> None:
    hold = document["components"]["schemas"]["HoldAnswer"]["properties"]
    assert hold["expires_at"]["format"] == "date-time"


def test_examples_round_trip_through_their_types() -> None:
    for answer, example in ANSWERS.items():
        assert msgspec.json.decode(msgspec.json.encode(example), type=answer) == example
    for request, examples in REQUESTS.items():
        for example in examples.values():
            assert msgspec.json.decode(msgspec.json.encode(example), type=request) == example


def test_every_property_has_a_description(document: Json) -> None:
    schemas = document["components"]["schemas"]
    properties = [
        (name, field, value)
        for name, schema in schemas.items()
        for field, value in schema.get("properties", {}).items()
    ]
    assert len(properties) > 400
    assert [
        (name, field) for name, field, value in properties if not value.get("description")
    ] == []


def test_every_response_and_parameter_has_a_description(document: Json) -> None:
    for each in operations(document):
        for response in each["responses"].values():
            assert len(resolved(document, response)["description"]) > 8
        for parameter in each["parameters"]:
            assert resolved(document, parameter)["description"]


def test_the_document_is_small_enough_to_read(world: World) -> None:
    assert len(world.call("GET", "/api/schema", secret="").content) < BYTES_PER_ROUTE_MAX * len(
        ROUTES
    )


def test_every_example_fits_its_schema(document: Json) -> None:
    """Requests, answers and problems; every operation has an example of each that applies."""
    registry = Registry().with_resource("urn:api", DRAFT202012.create_resource(document))

    def check(content: Json, value: Json) -> None:
        schema = json.loads(json.dumps(content["schema"]).replace("#/", "urn:api#/"))
        Draft202012Validator(schema, registry=registry).validate(value)

    for each in operations(document):
        contents = [resolved(document, found) for found in each["responses"].values()]
        contents += [each["requestBody"]] if "requestBody" in each else []
        for content in (shown for part in contents for shown in part.get("content", {}).values()):
            if "example" in content:  # CSV
                continue
            assert content["examples"]
            for example in content["examples"].values():
                check(content, resolved(document, example)["value"])


def test_no_answer_has_a_field_for_an_email_address(document: Json) -> None:
    for name, schema in document["components"]["schemas"].items():
        if not name.endswith("Request"):
            assert not any("email" in field for field in schema.get("properties", {}))


def test_the_documentation_page_needs_no_other_host(world: World) -> None:
    page = world.call("GET", "/api/docs", secret="")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert addresses
    for address in addresses:
        path = urljoin("/api/docs", address)
        assert path.startswith("/api/")
        assert world.call("GET", path, secret="").status_code == 200
    start = world.call("GET", "/api/docs/assets/start.js", secret="").text
    assert "validatorUrl: null" in start
    assert "http" not in start


def references_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from references_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references_in(inner)


def test_a_new_hold_links_to_what_can_be_done_with_it(document: Json) -> None:
    for status in ("200", "201", "202"):
        links = document["paths"]["/api/holds"]["post"]["responses"][status]["links"]
        named = {"get_hold", "extend_hold", "release_hold", "delete_hold", "confirm_hold"}
        assert links.keys() == named
        for name in named:
            assert resolved(document, links[name]) == {
                "operationId": name,
                "parameters": {"hold_id": "$response.body#/hold_id"},
            }


def test_every_link_leads_from_a_field_to_an_operation(document: Json) -> None:
    parameters = {
        each["operationId"]: {
            resolved(document, given)["name"]
            for given in each["parameters"]
            if resolved(document, given)["in"] == "path"
        }
        for each in operations(document)
    }
    linking = [
        (response, resolved(document, link))
        for each in operations(document)
        for response in each["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert len(linking) > 60
    for response, link in linking:
        (name,) = parameters[link["operationId"]]
        assert link["parameters"] == {name: f"$response.body#/{name}"}
        assert name in example_of(document, response)
