"""Letting a hold go."""

from pytest_bdd import scenarios, when

from tests.features.conftest import UNKNOWN_ID
from tests.features.scene import Scene

scenarios("release.feature")


@when("a hold that does not exist is released")
def an_unknown_hold_is_released(scene: Scene) -> None:
    scene.send(f"/api/holds/{UNKNOWN_ID}/release")
