"""The Inventory Service."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.owner import Owner
from tests.inventory.store import Store, an_id
from tests.support.databases import DatabaseFactory
from tests.support.platform import new_platform
from tests.support.servers import RunningServer
from tests.workers.commands import run_command

scenarios("inventory_service.feature")


@dataclass
class Counter:
    """One hold of the Hold Service, at an inventory of its own."""

    store: Store
    owner: Owner
    hold_id: str = field(default_factory=an_id)
    answer: httpx.Response | None = None

    def got(self) -> httpx.Response:
        assert self.answer is not None
        return self.answer


@pytest.fixture(scope="module")
def inventory(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("inventory") / "log"
    with RunningServer(databases.fresh(), log, command="inventory") as running:
        yield running


@pytest.fixture
def counter(inventory: RunningServer) -> Counter:
    platform = new_platform(inventory.base_url, inventory.database_url, ("inventory",))
    return Counter(Store(platform), Owner(inventory.database_url))


@given(parsers.parse("the Inventory Service has {total:d} tickets"))
def has_tickets(counter: Counter, total: int) -> None:
    assert counter.store.stock(total).status_code == 200


@given(parsers.parse("{quantity:d} tickets are held for other customers"))
def held_for_others(counter: Counter, quantity: int) -> None:
    assert counter.store.hold(an_id(), quantity).status_code == 201


@when(parsers.parse("the Hold Service holds {quantity:d} tickets"))
def holds(counter: Counter, quantity: int) -> None:
    counter.answer = counter.store.hold(counter.hold_id, quantity)


@when("the Hold Service releases the hold")
def releases(counter: Counter) -> None:
    counter.answer = counter.store.release(counter.hold_id)


@when(
    parsers.re(r"the Hold Service sells (?P<quantity>\d+) tickets?"), converters={"quantity": int}
)
def sells(counter: Counter, quantity: int) -> None:
    counter.answer = counter.store.commit(counter.hold_id, quantity)


@when("a day passes")
def a_day_passes(counter: Counter) -> None:
    """Even if somebody runs the expiry worker of the Hold Service here."""
    counter.owner.run(
        "UPDATE hold SET created_at = created_at - interval '1 day' WHERE organization_id = %s",
        counter.store.platform.organization_id,
    )
    done = run_command("release-expired", DATABASE_URL=counter.owner.database_url)
    assert "Expired 0 hold(s)" in done.stdout


@when(parsers.parse("the operator sets the number of tickets to {total:d}"))
def sets_total(counter: Counter, total: int) -> None:
    counter.answer = counter.store.stock(total)


@then(parsers.parse('the answer is {status:d} and the reservation is "{state}"'))
def answered(counter: Counter, status: int, state: str) -> None:
    assert (counter.got().status_code, counter.got().json()["status"]) == (status, state)


@then(parsers.parse('the answer is {status:d} with "{code}"'))
def refused(counter: Counter, status: int, code: str) -> None:
    assert (counter.got().status_code, counter.got().json()["error"]) == (status, code)


@then(parsers.parse('the message is "{message}"'))
def says(counter: Counter, message: str) -> None:
    assert counter.got().json()["message"] == message


@then(
    parsers.re(
        r"(?P<available>\d+) tickets? (is|are) available, (?P<held>\d+) held and (?P<sold>\d+) sold"
    ),
    converters={"available": int, "held": int, "sold": int},
)
def counted(counter: Counter, available: int, held: int, sold: int) -> None:
    assert counter.store.counts()[1:] == (available, held, sold)
