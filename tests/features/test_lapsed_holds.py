"""A hold ends at its expiry, whatever the reaper does."""

from pytest_bdd import given, parsers, scenarios, then

from tests.features.conftest import TTL_SECONDS
from tests.features.scene import Scene, scene_on
from tests.support.servers import RunningServer

scenarios("lapsed_holds.feature")


@given("the expiry worker is not running", target_fixture="scene")
def the_worker_is_not_running(unreaped_server: RunningServer) -> Scene:
    return scene_on(unreaped_server)


@given(
    parsers.parse(
        'session "{name}" with {capacity:d} tickets, all in a hold that expired 1 minute ago'
    )
)
def all_in_an_expired_hold(scene: Scene, name: str, capacity: int) -> None:
    _all_in_a_hold(scene, capacity, seconds_ago=60)


@given(
    parsers.parse(
        'session "{name}" with {capacity:d} tickets, all in a hold that expires in 30 seconds'
    )
)
def all_in_an_active_hold(scene: Scene, name: str, capacity: int) -> None:
    _all_in_a_hold(scene, capacity, seconds_ago=-30)


def _all_in_a_hold(scene: Scene, capacity: int, seconds_ago: int) -> None:
    scene.put_on_sale(capacity)
    scene.place(capacity)
    assert scene.available() == 0
    scene.holds.append(scene.hold)
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS + seconds_ago)


@then("the hold is not yet marked as expired")
def not_marked_as_expired(scene: Scene) -> None:
    assert scene.owner.status(scene.holds[0]["hold_id"]) == "active"


@then("no time is left")
def no_time_is_left(scene: Scene) -> None:
    assert scene.answer.json()["expires_in_seconds"] == 0


@then("the first hold is marked as expired, and a hold.expired event is published")
def the_first_hold_is_expired(scene: Scene) -> None:
    first = scene.holds[0]
    assert first["hold_id"] != scene.hold["hold_id"]
    assert scene.owner.status(first["hold_id"]) == "expired"
    kinds = [kind for kind, _ in scene.owner.facts(first["hold_id"])]
    assert kinds == ["hold.created", "hold.expired"]
    assert scene.held() == scene.hold["quantity"]
