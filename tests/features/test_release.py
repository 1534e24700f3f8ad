"""Releasing a hold."""

from pytest_bdd import scenarios, then, when

from tests.features.conftest import UNKNOWN_ID
from tests.features.scene import Scene, Sent

scenarios("release.feature")


@when("a hold that does not exist is released")
def an_unknown_hold_is_released(scene: Scene) -> None:
    scene.send(f"/api/holds/{UNKNOWN_ID}/release")


@when("the hold is deleted")
def the_hold_is_deleted(scene: Scene) -> None:
    scene.repeat(Sent(f"/api/holds/{scene.hold['hold_id']}", None, {}, "DELETE"))


@when("the hold is deleted with an idempotency key")
def the_hold_is_deleted_with_a_key(scene: Scene) -> None:
    headers = {"Idempotency-Key": "delete-once"}
    scene.repeat(Sent(f"/api/holds/{scene.hold['hold_id']}", None, headers, "DELETE"))


@when("the deletion is sent again")
def the_deletion_is_sent_again(scene: Scene) -> None:
    scene.repeat(scene.sent[-1])


@then("both deletions get the same answer")
def both_deletions_get_the_same_answer(scene: Scene) -> None:
    first, second = scene.answers[-2:]
    assert (first.status_code, first.json()["status"]) == (200, "cancelled")
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers["idempotent-replayed"] == "true"
