"""The Hold Service and the Inventory Service as two processes, with RabbitMQ between them."""

from collections.abc import Iterator

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from tests.features.conftest import TTL_SECONDS
from tests.features.scene import CAPACITY, Scene, Sent, scene_on
from tests.inventory.store import Store
from tests.remote.layout import TwoServices
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.rabbit import RabbitBroker

scenarios("two_services.feature")


@pytest.fixture(scope="module")
def two_services(
    databases: DatabaseFactory,
    rabbit: RabbitBroker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[TwoServices]:
    directory = tmp_path_factory.mktemp("two-services")
    with TwoServices(databases, directory, rabbit.new_vhost()) as services:
        yield services


@pytest.fixture
def scene(two_services: TwoServices) -> Scene:
    return scene_on(two_services.holds)


@pytest.fixture
def stores() -> list[Store]:
    """The item of the scenario, once it is on sale."""
    return []


@given(parsers.parse('session "{name}" has available tickets in the Inventory Service'))
def has_tickets(scene: Scene, two_services: TwoServices, stores: list[Store], name: str) -> None:
    scene.put_on_sale()
    stores.append(two_services.stock(scene.sale, CAPACITY))


@given("only 1 ticket is available in the Inventory Service")
def only_one(scene: Scene, two_services: TwoServices, stores: list[Store]) -> None:
    scene.put_on_sale(CAPACITY)
    stores.append(two_services.stock(scene.sale, 1))


@given("an active hold for 2 tickets of the Inventory Service")
def an_active_hold(scene: Scene, two_services: TwoServices, stores: list[Store]) -> None:
    has_tickets(scene, two_services, stores, "concert-123")
    scene.place(2)
    assert scene.answer.status_code == 201, scene.answer.text


@given("the Inventory Service stops")
def it_stops(two_services: TwoServices) -> None:
    two_services.inventory.stop()


@when("the Inventory Service is back")
def it_is_back(two_services: TwoServices) -> None:
    two_services.inventory.start()


@when("its time runs out")
def time_runs_out(scene: Scene) -> None:
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS + 1)


@when("the customer releases the hold")
def the_customer_releases(scene: Scene) -> None:
    scene.send(f"/api/holds/{scene.hold['hold_id']}/release")
    assert scene.answer.status_code == 200, scene.answer.text


@when("one of its tickets is cancelled")
def a_ticket_is_cancelled(scene: Scene) -> None:
    order = scene.answer.json()["order"]
    ticket = order["tickets"][0]["ticket_id"]
    scene.send(f"/api/orders/{order['order_id']}/cancel", {"ticket_ids": [ticket], "reason": "ill"})
    assert scene.answer.status_code == 200, scene.answer.text


@when("the availability is read")
def availability_is_read(scene: Scene) -> None:
    path = f"/api/sessions/{scene.sale.session_id}/availability"
    scene.answers.append(scene.platform.client.get(path))


@when("a customer fills a cart")
def a_customer_fills_a_cart(scene: Scene, two_services: TwoServices, stores: list[Store]) -> None:
    item = {"cart_item_id": "i1", "ticket_type_id": scene.sale.ticket_type_id, "quantity": 1}
    scene.repeat(Sent(scene.cart.path, scene.cart.body(item), {}, "PUT"))


@when("a customer requests a hold for a seated type")
def asks_for_seats(scene: Scene) -> None:
    hall = scene.platform.hall(1, 4)
    asked = {"session_id": hall.session_id, "ticket_type_id": hall.ticket_type_id, "quantity": 2}
    scene.send("/api/holds", {**asked, "customer_email": "user@example.com"})


@then("both answers are the same")
def both_are_the_same(scene: Scene) -> None:
    first, again = scene.answers[-2:]
    assert first.is_success
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert again.headers["idempotent-replayed"] == "true"


@then(
    parsers.re(r"the Inventory Service has (?P<held>\d+) tickets held and (?P<sold>\d+) sold"),
    converters={"held": int, "sold": int},
)
def has_held_and_sold(stores: list[Store], held: int, sold: int) -> None:
    (store,) = stores

    def is_so() -> bool:
        return store.counts()[2:] == (held, sold)

    wait_until(is_so, f"{held} tickets are held and {sold} sold")


@then(parsers.parse("{available:d} of {total:d} tickets are available"))
def so_many_are_available(scene: Scene, available: int, total: int) -> None:
    (offered,) = scene.answer.json()["ticket_types"]
    assert (offered["available"], offered["capacity"]) == (available, total)


@then("the attempted hold has failed")
def it_has_failed(scene: Scene) -> None:
    (hold,) = scene.platform.client.get("/api/holds").json()["data"]
    assert hold["status"] == "failed"


@then("the customer gets a hold for 2 tickets")
def gets_a_hold(scene: Scene) -> None:
    """Once the circuit is closed again."""

    def is_placed() -> bool:
        scene.place(2)
        return scene.answer.status_code == 201

    wait_until(is_placed, "a hold is placed")
