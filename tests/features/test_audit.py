"""Who did what."""

import psycopg
import pytest
from pytest_bdd import parsers, scenarios, then

from tests.features.scene import Scene
from tests.support.patience import wait_until
from tests.support.platform import Json

scenarios("audit.feature")


def entries(scene: Scene) -> list[Json]:
    """Of the hold, oldest first."""
    query = {"hold_id": scene.hold["hold_id"]}
    answer = scene.platform.client.get("/api/audit", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])[::-1]


@then(parsers.parse('the audit of the hold shows "{actions}"'))
def the_audit_tells_of(scene: Scene, actions: str) -> None:
    """What was refused is written aside, a moment later."""
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
