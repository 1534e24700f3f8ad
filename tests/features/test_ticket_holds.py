"""Creating, reading and expiring holds."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.settings import Settings
from tests.features.conftest import UNKNOWN_ID
from tests.features.scene import Scene, scene_on
from tests.support.servers import RunningServer

scenarios("ticket_holds.feature")


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(tmp_path / "postgres") as postgres:
        migrate(Settings(database_url=postgres.url), report=lambda _: None)
        yield postgres


@pytest.fixture
def own_server(own_postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(own_postgres.url, tmp_path / "log") as running:
        yield running


@given(
    parsers.parse('session "{name}" has available tickets on its own server'),
    target_fixture="scene",
)
def session_on_its_own_server(own_server: RunningServer, name: str) -> Scene:
    scene = scene_on(own_server)
    scene.put_on_sale()
    return scene


@given("the database is down")
def the_database_is_down(own_postgres: EmbeddedPostgres) -> None:
    own_postgres.stop()


@when("the database is up again")
def the_database_is_up_again(own_postgres: EmbeddedPostgres, own_server: RunningServer) -> None:
    own_postgres.start()
    own_server.wait_for("/readyz")


@when("the customer tries again")
def tries_again(scene: Scene) -> None:
    """Wait as long as the answer asks, then retry."""
    time.sleep(int(scene.answer.headers["retry-after"]))
    scene.repeat(scene.sent[-1])


@when(parsers.parse('customer "{email}" requests a hold for {quantity:d} tickets'))
def this_customer_requests(scene: Scene, email: str, quantity: int) -> None:
    scene.place(quantity, customer_email=email)


@when(
    parsers.parse(
        "a customer requests a hold for {quantity:d} tickets of a session that does not exist"
    )
)
def of_an_unknown_session(scene: Scene, quantity: int) -> None:
    scene.place(quantity, session_id=UNKNOWN_ID)


@when(
    parsers.parse(
        "a customer requests a hold for {quantity:d} tickets of a type that does not exist"
    )
)
def of_an_unknown_type(scene: Scene, quantity: int) -> None:
    scene.place(quantity, ticket_type_id=UNKNOWN_ID)


@when("a hold that does not exist is read")
def an_unknown_hold_is_read(scene: Scene) -> None:
    scene.answers.append(scene.read(UNKNOWN_ID))


@then("inventory is reserved in the Inventory Service")
def inventory_is_reserved(scene: Scene) -> None:
    quantity = scene.hold["quantity"]
    assert scene.held() == quantity
    counters = scene.owner.counters(scene.platform.organization_id)
    assert counters == [(scene.capacity, quantity, 0)]


@then("the response shows the hold as it was created")
def as_it_was_created(scene: Scene) -> None:
    read = scene.answer.json()
    assert scene.answer.status_code == 200
    assert read.pop("expires_in_seconds") in range(590, 601)
    assert read.pop("minutes_remaining") in {9, 10}
    assert read == {name: value for name, value in scene.hold.items() if name in read}


@then(parsers.parse('the response does not contain "{text}"'))
def the_answer_does_not_contain(scene: Scene, text: str) -> None:
    assert text not in scene.answer.text
