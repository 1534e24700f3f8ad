"""Personal data."""

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.paying import confirmed, ok
from tests.e2e.privacy.dump import found_in
from tests.features.scene import Scene
from tests.support.platform import Platform, Sale, new_platform, sent
from tests.support.servers import RunningServer

scenarios("privacy.feature")


def buy(platform: Platform, sale: Sale, email: str, quantity: int, name: str | None = None) -> str:
    body = platform.hold_body(sale, quantity, customer_email=email)
    hold = platform.made("/api/holds", body)
    named = {} if name is None else {"attendees": [{"name": name, "email": email}]}
    return str(ok(confirmed(platform, hold, **named))["order_id"])


@pytest.fixture
def orders() -> list[str]:
    return []


@given(parsers.parse('"{email}" has bought {quantity:d} tickets for "{name}"'))
def has_bought(scene: Scene, orders: list[str], email: str, quantity: int, name: str) -> None:
    orders.append(buy(scene.platform, scene.sale, email, quantity, name))


@given(parsers.parse('"{email}" holds {quantity:d} tickets'))
def holds(scene: Scene, email: str, quantity: int) -> None:
    scene.place(quantity, customer_email=email)


@given(parsers.parse('"{email}" has bought 1 ticket of another organization'))
def has_bought_elsewhere(scene: Scene, server: RunningServer, email: str) -> None:
    scene.other = new_platform(server.base_url, server.database_url)
    buy(scene.other, scene.other.on_sale(5), email, 1)


@when(parsers.parse('the platform forgets "{email}"'))
def forgets(scene: Scene, email: str) -> None:
    scene.send("/api/forget", {"customer_email": email})


@then(
    parsers.re(
        r"(?P<holds>\d+) holds?, (?P<orders>\d+) orders? and (?P<tickets>\d+) tickets? were erased"
    )
)
def were_erased(scene: Scene, holds: str, orders: str, tickets: str) -> None:
    erased = ok(scene.answer)
    expected = (int(holds), int(orders), int(tickets), True)
    names = ("holds", "orders", "tickets", "is_complete")
    assert tuple(erased[name] for name in names) == expected


@then(parsers.parse('no hold, order or audit entry is found by "{email}"'))
def is_not_found(scene: Scene, email: str) -> None:
    for path in ("/api/holds", "/api/orders", "/api/audit"):
        answer = scene.platform.client.get(path, **sent(customer_email=email))
        assert ok(answer)["data"] == []


@then(parsers.parse("the order still has {count:d} tickets, without a name"))
def the_order_stays(scene: Scene, orders: list[str], count: int) -> None:
    order = ok(scene.platform.client.get(f"/api/orders/{orders[0]}"))
    assert len(order["tickets"]) == count
    assert not any("attendee_name" in ticket for ticket in order["tickets"])


@then(parsers.parse('nothing in the database contains "{email}" or "{name}"'))
def nothing_contains(scene: Scene, email: str, name: str) -> None:
    own = scene.platform.organization_id
    assert found_in(scene.owner, own, email, name) == []


@then("the open hold is named")
def the_hold_is_named(scene: Scene) -> None:
    assert scene.answer.json()["hold_ids"] == [scene.hold["hold_id"]]


@then(parsers.parse('the other organization still finds the order of "{email}"'))
def is_found_elsewhere(scene: Scene, email: str) -> None:
    query = sent(customer_email=email)
    assert len(ok(scene.other.client.get("/api/orders", **query))["data"]) == 1
    assert ok(scene.platform.client.get("/api/orders", **query))["data"] == []


@then("the audit log says twice that somebody was forgotten")
def is_audited(scene: Scene) -> None:
    answer = scene.platform.client.get("/api/audit", params={"action": "person.forgotten"})
    second, first = ok(answer)["data"]
    assert (first["new"]["orders"], second["new"]["orders"]) == (1, 0)
    assert "holder" not in first
