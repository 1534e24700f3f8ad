"""Several ticket types in one hold: all or nothing."""

from pytest_bdd import given, parsers, scenarios, then, when

from tests.features.conftest import UNKNOWN_ID
from tests.features.scene import Scene
from tests.support.platform import Sale

scenarios("several_tickets.feature")


@given("a session with these ticket types")
def session_with_types(scene: Scene, datatable: list[list[str]]) -> None:
    made = scene.platform.made
    event = made("/api/events", {"name": "Matinee", "currency": "EUR"})
    session = made("/api/sessions", {"event_id": event["event_id"], "name": "Sunday"})
    for name, price, available in datatable[1:]:
        body = {"session_id": session["session_id"], "name": name}
        numbers = {"price": int(price), "capacity": int(available)}
        scene.ticket_types[name] = made("/api/ticket-types", body | numbers)["ticket_type_id"]
    scene.sale = Sale(event["event_id"], session["session_id"], tuple(scene.ticket_types.values()))


@when("a customer requests a hold for")
def requests_a_hold_for(scene: Scene, datatable: list[list[str]]) -> None:
    lines = [
        {"ticket_type_id": scene.ticket_types.get(name, UNKNOWN_ID), "quantity": int(quantity)}
        for name, quantity in datatable[1:]
    ]
    body = {"session_id": scene.sale.session_id, "user_id": "user-4711", "lines": lines}
    scene.send("/api/holds", body)


@then(parsers.parse("the hold has {quantity:d} tickets for {total:d} in total"))
def has_tickets_for(scene: Scene, quantity: int, total: int) -> None:
    assert (scene.hold["quantity"], scene.hold["total"]) == (quantity, total)


@then("the hold has no single ticket type")
def names_no_single_type(scene: Scene) -> None:
    assert scene.hold.get("ticket_type_id") is None
    assert scene.sent[-1].body is not None
    asked = [(line["ticket_type_id"], line["quantity"]) for line in scene.sent[-1].body["lines"]]
    held = [(line["ticket_type_id"], line["quantity"]) for line in scene.hold["lines"]]
    assert held == asked


@then(parsers.parse('{quantity:d} "{name}" tickets are available'))
def of_a_type_are_available(scene: Scene, quantity: int, name: str) -> None:
    path = f"/api/sessions/{scene.sale.session_id}/availability"
    offered = scene.platform.client.get(path).json()["ticket_types"]
    assert {each["name"]: each["available"] for each in offered}[name] == quantity
    scene.owner.assert_counters_add_up(scene.platform.organization_id)
