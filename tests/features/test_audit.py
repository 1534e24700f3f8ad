"""The audit log."""

from typing import Any

import httpx
import psycopg
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.cart_calls import item
from tests.features.scene import Scene
from tests.support.patience import wait_until
from tests.support.platform import Json, sent

scenarios("audit.feature")


def entries(scene: Scene) -> list[Json]:
    """The hold's entries, oldest first."""
    query = {"hold_id": scene.hold["hold_id"]}
    answer = scene.platform.client.get("/api/audit", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])[::-1]


@when(parsers.parse("the organizer raises the price from {_:d} to {price:d}"))
def the_price_is_raised(scene: Scene, price: int) -> None:
    path = f"/api/ticket-types/{scene.sale.ticket_type_id}"
    answer = scene.platform.client.patch(path, json={"price": price})
    assert answer.status_code == 200, answer.text


@then(parsers.parse('the audit of the ticket type shows "{actions}"'))
def the_audit_of_the_type(scene: Scene, actions: str) -> None:
    assert [entry["action"] for entry in _of_ticket_type(scene)] == actions.split(", ")


@then("its last entry shows only that the price was 4500 and is 4900")
def the_price_was_and_is(scene: Scene) -> None:
    last = _of_ticket_type(scene)[-1]
    assert (last["old"], last["new"]) == ({"price": 4500}, {"price": 4900, "version": 2})
    assert last["actor"].startswith("key:")


def _of_ticket_type(scene: Scene) -> list[Json]:
    """The ticket type's entries, oldest first."""
    query = {"catalog_id": scene.sale.ticket_type_id}
    return list(scene.platform.client.get("/api/audit", params=query).json()["data"])[::-1]


@then(parsers.parse('the audit of the hold shows "{actions}"'))
def the_audit_lists(scene: Scene, actions: str) -> None:
    """Waits, because refused attempts are written asynchronously."""
    expected = actions.split(", ")
    wait_until(lambda: len(entries(scene)) >= len(expected), "the audit is complete")
    assert [entry["action"] for entry in entries(scene)] == expected


@then("every entry names the actor, the request and the address it came from")
def names_the_actor(scene: Scene) -> None:
    for entry in entries(scene):
        assert entry["actor"].startswith("key:")
        assert entry["request_id"]
        assert entry["ip"] == "127.0.0.1"


@then(parsers.parse('no entry contains "{text}"'))
def no_entry_contains(scene: Scene, text: str) -> None:
    assert text not in scene.platform.client.get("/api/audit").text


@then("the last entry is not from the platform's key")
def not_by_the_key(scene: Scene) -> None:
    first, *_, last = entries(scene)
    assert first["actor"].startswith("key:")
    assert not last["actor"].startswith("key:")


@then("the last entry shows that an operator did it")
def done_as_an_operator(scene: Scene) -> None:
    first, *_, last = entries(scene)
    assert "as_operator" not in first["new"]
    assert last["new"]["as_operator"] is True


@then("the audit cannot be changed, not even by the owner of the database")
def cannot_be_changed(scene: Scene) -> None:
    before = entries(scene)
    for statement in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            scene.owner.run(statement)
    assert entries(scene) == before


@when(parsers.parse('"{email}" asks for {quantity:d} tickets'))
def asks_for(scene: Scene, email: str, quantity: int) -> None:
    scene.place(quantity, customer_email=email)
    assert scene.answer.is_client_error


def of_holder(scene: Scene, email: str, count: int) -> list[Json]:
    """The entries of a person, newest first. Waits, because refused attempts are written
    asynchronously."""

    def found() -> list[Json]:
        answer = scene.platform.client.get("/api/audit", **sent(customer_email=email))
        assert answer.status_code == 200, answer.text
        return list(answer.json()["data"])

    wait_until(lambda: len(found()) >= count, "the entries are in the audit")
    return found()


@then(parsers.parse('the audit of "{email}" shows why:'))
def shows_why(scene: Scene, email: str, datatable: list[list[str]]) -> None:
    names, *rows = datatable
    found = of_holder(scene, email, len(rows))
    shown = [
        [entry["action"], *(_text(entry["new"], name) for name in names[1:])] for entry in found
    ]
    assert shown == rows
    assert len({entry["holder"] for entry in found}) == 1
    assert {entry["session_id"] for entry in found} == {scene.sale.session_id}


def _text(values: dict[str, Any], name: str) -> str:
    return str(values[name]) if name in values else ""


@then(parsers.parse('the audit of "{email}" lists "{actions}"'))
def lists(scene: Scene, email: str, actions: str) -> None:
    expected = actions.split(", ")
    found = of_holder(scene, email, len(expected))
    assert [entry["action"] for entry in found][::-1] == expected


@then(parsers.parse('the audit of "{email}" lists nothing'))
def lists_nothing(scene: Scene, email: str) -> None:
    assert of_holder(scene, email, 0) == []


@when("the platform's other key is revoked and used", target_fixture="revoked")
def a_revoked_key(scene: Scene) -> Json:
    client = scene.platform.client
    made = client.post("/api/keys", json={"name": "box office", "scopes": ["holds:read"]})
    assert made.status_code == 201, made.text
    key: Json = made.json()
    assert client.post(f"/api/keys/{key['key_id']}/revoke", json={}).status_code == 200
    headers = {"Authorization": f"Bearer {key['secret_key']}"}
    answer = httpx.get(f"{scene.platform.base_url}/api/holds", headers=headers)
    assert answer.status_code == 401
    return key


@then("the audit shows that the revoked key was refused")
def the_key_was_refused(scene: Scene, revoked: Json) -> None:
    query = {"key_id": revoked["key_id"], "outcome": "refused"}

    def refused() -> list[Json]:
        return list(scene.platform.client.get("/api/audit", params=query).json()["data"])

    wait_until(lambda: bool(refused()), "the refusal is in the audit")
    (entry,) = refused()
    assert (entry["action"], entry["new"]["error"]) == ("request.refused", "unauthorized")
    assert entry["new"]["route"] == "GET /api/holds"
    assert entry["actor"] == f"key:{revoked['key_id']}"
    assert revoked["secret_key"] not in str(entry)


@given("an expired hold in a cart")
def an_expired_cart(scene: Scene) -> None:
    scene.put_on_sale()
    scene.hold = scene.cart.new(item(scene.sale, 2))
    scene.owner.let_pass(scene.platform.organization_id, 3600)


@when("the cart is renewed")
def the_cart_is_renewed(scene: Scene) -> None:
    scene.answers.append(scene.cart.renew())


@then("the new hold and its audit name the expired hold")
def names_its_predecessor(scene: Scene) -> None:
    renewed = scene.answer.json()
    assert renewed["replaces_hold_id"] == scene.hold["hold_id"]
    query = {"hold_id": renewed["hold_id"]}
    (entry,) = scene.platform.client.get("/api/audit", params=query).json()["data"]
    assert entry["new"]["replaces_hold_id"] == scene.hold["hold_id"]
