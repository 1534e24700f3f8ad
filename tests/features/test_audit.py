"""The audit log."""

import psycopg
import pytest
from pytest_bdd import parsers, scenarios, then, when

from tests.features.scene import Scene
from tests.support.patience import wait_until
from tests.support.platform import Json

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
