"""Another organization's holds look exactly like ones that do not exist."""

from typing import Any

from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.answers import without
from tests.features.conftest import UNKNOWN_ID
from tests.features.scene import Scene, new_key
from tests.support.platform import Platform, new_platform, sent
from tests.support.servers import RunningServer

scenarios("organizations.feature")


@given("another organization")
def another_organization(scene: Scene, server: RunningServer) -> None:
    scene.other = new_platform(server.base_url, server.database_url)


@when("the other organization reads the hold")
def the_other_reads(scene: Scene) -> None:
    scene.answers.append(scene.other.client.get(f"/api/holds/{scene.hold['hold_id']}"))


@when("the other organization releases the hold")
def the_other_releases(scene: Scene) -> None:
    path = f"/api/holds/{scene.hold['hold_id']}/release"
    scene.answers.append(scene.other.client.post(path))


@when(parsers.parse('the other organization lists the holds of "{email}"'))
def the_other_lists(scene: Scene, email: str) -> None:
    of_customer = sent(customer_email=email, session_id=scene.sale.session_id)
    assert len(scene.platform.client.get("/api/holds", **of_customer).json()["data"]) == 1
    scene.answers.append(scene.other.client.get("/api/holds", **of_customer))
    assert scene.other.client.get("/api/holds").json()["data"] == []


@when("the other organization reads the session's availability")
def the_other_asks(scene: Scene) -> None:
    path = f"/api/sessions/{scene.sale.session_id}/availability"
    scene.answers.append(scene.other.client.get(path))


@when(
    parsers.parse("the other organization requests a hold for {quantity:d} tickets of that session")
)
def the_other_requests(scene: Scene, quantity: int) -> None:
    scene.answers.append(scene.other.place(scene.sale, quantity))


@when("both organizations hold 1 ticket of their own with the same idempotency key")
def both_hold(scene: Scene) -> None:
    key = new_key()
    for platform in (scene.platform, scene.other):
        _hold_one(scene, platform, key=key)


@when("the other organization holds 1 ticket of its own with the id of the hold")
def the_other_holds_with_the_id(scene: Scene) -> None:
    scene.holds.append(scene.hold)
    _hold_one(scene, scene.other, hold_id=scene.hold["hold_id"])


def _hold_one(scene: Scene, platform: Platform, **more: Any) -> None:
    answer = platform.place(platform.on_sale(5), **more)
    assert answer.status_code == 201, answer.text
    scene.holds.append(answer.json())


@then("the response is the same as for a hold that does not exist")
def as_if_it_did_not_exist(scene: Scene) -> None:
    unknown = scene.other.client.get(f"/api/holds/{UNKNOWN_ID}")
    assert scene.answer.status_code == unknown.status_code
    assert without(scene.answer, "request_id") == without(unknown, "request_id")


@then("the list is empty")
def the_list_is_empty(scene: Scene) -> None:
    assert scene.answer.json() == {"data": [], "has_more": False}


@then("each has a hold of its own")
def each_has_its_own(scene: Scene) -> None:
    for platform, hold in zip((scene.platform, scene.other), scene.holds, strict=True):
        read = platform.client.get(f"/api/holds/{hold['hold_id']}").json()
        assert read["session_id"] == hold["session_id"]
        assert read["reference"] == hold["reference"]
    mine, other = scene.holds
    assert mine["session_id"] != other["session_id"]
