"""The service keeps the shapes of contracts/inventory.yaml: routes, status codes and answers."""

from typing import Any

import httpx
import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from holdfast.entrypoints.api.http.codes import KINDS
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.document import openapi_document, route_codes
from holdfast.entrypoints.inventory.routes import INVENTORY_ROUTES
from tests.inventory.store import Store, an_id
from tests.support.servers import ROOT

CONTRACT: dict[str, Any] = yaml.safe_load((ROOT / "contracts" / "inventory.yaml").read_text())
DOCUMENT = DRAFT202012.create_resource(CONTRACT)
REGISTRY = Registry[Any]().with_resource("urn:contract", DOCUMENT)
OPERATIONS = [(path, method) for path, calls in CONTRACT["paths"].items() for method in calls]


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    found = CONTRACT
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def route_of(path: str, method: str) -> Route[Any]:
    (found,) = [
        each for each in INVENTORY_ROUTES if (each.path, each.method.lower()) == (path, method)
    ]
    return found


def test_the_only_other_call_sets_the_stock() -> None:
    ours = {(route.path, route.method.lower()) for route in INVENTORY_ROUTES}
    assert ours - set(OPERATIONS) == {("/inventory/items/{session_id}/{ticket_type_id}", "put")}
    assert set(OPERATIONS) <= ours


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_each_status_of_the_contract_is_possible(path: str, method: str) -> None:
    route = route_of(path, method)
    ours = {route.status, *route.also, *(KINDS[code].status for code in route_codes(route))}
    assert {int(status) for status in CONTRACT["paths"][path][method]["responses"]} <= ours


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_each_field_of_a_request_is_taken(path: str, method: str) -> None:
    operation, route = CONTRACT["paths"][path][method], route_of(path, method)
    ours = openapi_document(INVENTORY_ROUTES)["components"]["schemas"]
    if "requestBody" in operation:
        schema = resolved(operation["requestBody"]["content"]["application/json"]["schema"])
        assert route.body is not None
        assert set(ours[route.body.__name__]["properties"]) == set(schema["properties"])
        assert set(ours[route.body.__name__]["required"]) == set(schema["required"])
    query = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    assert query == set(route.query.__struct_fields__ if route.query else ())


def check(answer: httpx.Response) -> None:
    """The answer has the shape that the contract gives this status of this call."""
    parts = answer.request.url.path.split("/")[:3]
    path = "/".join(parts)
    depth = answer.request.url.path.count("/") - 2
    names = {"holds": ["hold_id"], "items": ["session_id", "ticket_type_id"]}
    path += "".join(f"/{{{name}}}" for name in names.get(parts[2], [])[:depth])
    responses = CONTRACT["paths"][path][answer.request.method.lower()]["responses"]
    content = resolved(responses[str(answer.status_code)])["content"]
    schema = content[answer.headers["content-type"]]["schema"]
    pointer = _pointer(schema)
    Draft202012Validator(pointer, registry=REGISTRY).validate(answer.json())


def _pointer(schema: Any) -> Any:
    """With absolute references, because the schema is taken out of its document."""
    if isinstance(schema, dict):
        return {
            name: f"urn:contract{value}" if name == "$ref" else _pointer(value)
            for name, value in schema.items()
        }
    return [_pointer(each) for each in schema] if isinstance(schema, list) else schema


def test_answers_have_the_shapes_of_the_contract(store: Store) -> None:
    first, second, unknown = an_id(), an_id(), an_id()
    answers = [
        store.hold(first, 3),
        store.hold(first, 3),
        store.hold(first, 4),
        store.hold(second, 8),
        store.commit(second, 1),
        store.commit(first, 3),
        store.commit(first, 1),
        store.commit(first, 0),
        store.release(first),
        store.release(second),
        store.hold(second, 1),
        store.hold(unknown, 0),
        store.release(unknown, session_id=an_id()),
        store.reservation(first),
        store.reservation(unknown),
    ]
    assert [answer.status_code for answer in answers] == [
        *(201, 200, 422, 409, 404, 200, 200, 200, 409, 200, 409, 400, 400, 200, 404)
    ]
    paths = ["holds", "holds?limit=1", "holds?limit=0", f"items/{store.session_id}"]
    paths += [f"items/{store.session_id}/{store.ticket_type_id}", f"items/{unknown}"]
    answers += [store.client.get(f"/inventory/{path}") for path in paths]
    stranger = {"Authorization": "Bearer hk_test_unknown"}
    answers += [store.client.get("/inventory/holds", headers=stranger)]
    for answer in answers:
        check(answer)


@pytest.mark.parametrize("name", ["Reservation", "ReservationPage", "Item", "ItemList"])
def test_our_document_and_the_contract_have_the_same_fields(name: str) -> None:
    ours = openapi_document(INVENTORY_ROUTES)["components"]["schemas"]
    own_name = {"Reservation": "ReservationAnswer", "Item": "ItemAnswer"}.get(name, name)
    wanted = CONTRACT["components"]["schemas"][name]
    assert set(ours[own_name]["properties"]) == set(wanted["properties"])
    assert set(ours[own_name]["required"]) == set(wanted["required"])
