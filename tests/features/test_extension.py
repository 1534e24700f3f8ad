"""Extending a hold."""

from pytest_bdd import parsers, scenarios, then, when

from tests.features.scene import Scene, new_key

scenarios("extension.feature")


@when(
    parsers.re(r'"(?P<email>[^"]+)" extends the hold by (?P<minutes>\d+) minutes?'),
    converters={"minutes": int},
)
def the_holder_extends(scene: Scene, email: str, minutes: int) -> None:
    scene.send(
        f"/api/holds/{scene.hold['hold_id']}/extend",
        {"minutes": minutes, "customer_email": email},
    )


@when("an operator extends the hold by 15 minutes with an idempotency key")
def an_operator_extends_with_a_key(scene: Scene) -> None:
    scene.send(
        f"/api/holds/{scene.hold['hold_id']}/extend",
        {"minutes": 15, "as_operator": True},
        {"Idempotency-Key": new_key()},
    )


@then("a hold.extended event is published with the new expiry")
def the_extension_is_published(scene: Scene) -> None:
    (extended,) = (
        payload
        for kind, payload in scene.owner.facts(scene.hold["hold_id"])
        if kind == "hold.extended"
    )
    assert extended["expires_at"] == scene.answer.json()["expires_at"]
    assert extended["previous_expires_at"] == scene.hold["expires_at"]
