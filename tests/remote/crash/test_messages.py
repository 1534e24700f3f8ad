"""Messages that are lost, doubled, late and out of order, while a crowd wants few tickets: nothing
is oversold at any moment, and both services agree again within a minute. Without the reconciler or
without the intent, they would not."""

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from holdfast.adapters.rabbitmq.dead_letters import RabbitDeadLetters
from tests.e2e.owner import Owner
from tests.inventory.store import Store
from tests.remote.agreement import THEIRS, assert_agree, differences, oversold, sides
from tests.remote.crash.buyers import Buyer
from tests.remote.crash.carrier import Carrier, news_of_nothing
from tests.remote.layout import TwoServices
from tests.support.crowds import Crowd, Reply
from tests.support.databases import own_environment, server_url
from tests.support.patience import wait_until
from tests.support.platform import Platform, Sale
from tests.support.rabbit import RabbitBroker

SEED = 11
CLIENTS = 6
STOCK = 12
SECONDS = 6.0
TTL_SECONDS = 3
ENDS = {
    "cancel": 30,
    "extend and cancel": 15,
    "convert": 15,
    "convert and cancel": 20,
    "expire": 20,
}


@pytest.fixture
def carrier(services: TwoServices, rabbit: RabbitBroker) -> Iterator[Carrier]:
    """The Inventory Service reads from another virtual host."""
    target_url = rabbit.new_vhost()
    services.inventory.stop()
    services.inventory.environment = {**services.inventory.environment, "AMQP_URL": target_url}
    services.inventory.start()
    with Carrier(services.amqp_url, target_url, SEED) as carrier:
        yield carrier


@dataclass
class Trade:
    """A crowd that makes holds of few tickets and ends them in every way."""

    platform: Platform
    sale: Sale
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    _crowd: Crowd = field(init=False)

    def run(self, seconds: float, watch: Callable[[], None]) -> None:
        self._crowd = Crowd(self.platform, CLIENTS)
        until = time.monotonic() + seconds
        with ThreadPoolExecutor(CLIENTS) as threads:
            clients = [threads.submit(self._trade, client, until) for client in range(CLIENTS)]
            while not all(client.done() for client in clients):
                watch()
            for client in clients:
                client.result()
        self._crowd.close()

    def _trade(self, client: int, until: float) -> None:
        dice = random.Random(f"{SEED} {client}")
        while time.monotonic() < until:
            body = self.platform.hold_body(self.sale, dice.randint(1, 3))
            reply = self._ask("create", "/api/holds", body)
            (end,) = dice.choices(list(ENDS), list(ENDS.values()))
            if reply.status == 201:
                self._end(f"/api/holds/{reply.json()['hold_id']}", end)

    def _end(self, hold: str, end: str) -> None:
        if end == "extend and cancel":
            self._ask("extend", f"{hold}/extend", {"seconds": 1})
        if end in {"cancel", "extend and cancel"}:
            self._ask("cancel", f"{hold}/release", {})
        if end in {"convert", "convert and cancel"}:
            paid = self._ask("convert", f"{hold}/confirm", {"payment_reference": uuid4().hex})
            if end == "convert and cancel" and paid.status == 200:
                order = paid.json()["order"]
                some = [order["tickets"][0]["ticket_id"]]
                path = f"/api/orders/{order['order_id']}/cancel"
                self._ask("cancel order", path, {"ticket_ids": some, "reason": "ill"})
                self._ask("cancel order", path, {"reason": "ill"})

    def _ask(self, what: str, path: str, body: dict[str, object]) -> Reply:
        reply = self._crowd.post(path, body, uuid4().hex)
        self.answers[what, reply.status] += 1
        return reply


@pytest.mark.parametrize(
    "seconds",
    [SECONDS, pytest.param(60.0, marks=[pytest.mark.long, pytest.mark.timeout(600)])],
)
def test_messages_that_are_lost_doubled_late_and_shuffled(
    services: TwoServices, carrier: Carrier, seconds: float
) -> None:
    """The inbox recognizes a message that is repeated as it was. Others repeat under new ids, and
    have no effect either: the commands are idempotent, so that the inbox only saves work."""
    platform = services.platform()
    sale = platform.on_sale(STOCK, hold_policy={"ttl_seconds": TTL_SECONDS})
    services.stock(sale, STOCK)
    trade = Trade(platform, sale)

    def watch() -> None:
        assert not oversold(services)

    trade.run(seconds, watch)
    assert {status for _, status in trade.answers} <= {200, 201, 409}, trade.answers
    assert trade.answers["create", 409], "there were tickets for everybody"
    assert_agree(services)
    assert carrier.fates.keys() == {"lost", "late", "doubled", "again", "delayed"}
    carrier.deliver_late()
    hold_id, last = news_of_nothing(sale.session_id)
    carrier.send([last])
    url = services.inventory.database_url
    wait_until(lambda: hold_id in sides(url, THEIRS), "all late messages have arrived")
    assert_agree(services)
    assert not RabbitDeadLetters(carrier.target_url).peek(10)


def test_without_the_reconciler_lost_messages_leave_differences(
    services: TwoServices, carrier: Carrier, new_buyer: Callable[[], Buyer]
) -> None:
    """Control: the reconciler's tasks of one buyer are deleted. It mends the other's holds. The
    complete comparison, which needs no tasks, mends both."""
    carrier.loses_all = True
    forgotten, settled = new_buyer(), new_buyer()
    for end in (Buyer.releases, Buyer.pays):
        assert forgotten.places().status == 201
        assert end(forgotten).status == 200
        Owner(services.holds.database_url).run(
            "DELETE FROM inventory_task WHERE organization_id = %s",
            forgotten.platform.organization_id,
        )
    for end in (Buyer.releases, Buyer.pays):
        assert settled.places().status == 201
        assert end(settled).status == 200
    wait_until(lambda: settled.there() == settled.here(), "the reconciler has settled the others")
    wait_until(lambda: carrier.has_seen("hold.converted", forgotten.hold_id), "it is lost")
    assert forgotten.here() == ["committed", "released"]
    assert forgotten.there() == ["held", "held"]
    assert len(differences(services)) == 2
    assert "2 mended" in reconciled(services)
    assert_agree(services)


def test_without_the_intent_a_reservation_is_left_that_nobody_knows(
    services: TwoServices, new_buyer: Callable[[], Buyer]
) -> None:
    """Control: a service that reserves tickets first, and dies before it has written its hold. No
    task names it, so only the complete comparison finds it."""
    orphan, buyer = str(uuid4()), new_buyer()
    store = Store(services.store, buyer.sale.session_id, buyer.sale.ticket_type_id)
    assert store.hold(orphan, 2).status_code == 201
    assert buyer.places().status == 201
    assert buyer.releases().status == 200
    wait_until(lambda: buyer.there() == ["released"], "messages and the reconciler are at work")
    wait_until(lambda: not _tasks(services), "the reconciler has nothing left to do")
    (left,) = differences(services)
    assert orphan in left
    assert "1 mended" in reconciled(services)
    assert_agree(services)


def _tasks(services: TwoServices) -> list[tuple[object, ...]]:
    return Owner(services.holds.database_url).rows("SELECT FROM inventory_task")


def reconciled(services: TwoServices) -> str:
    """What `holdfast reconcile --fix` says."""
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.entrypoints.cli.main", "reconcile", "--fix"],
        env={
            **own_environment(),
            **services.holds.environment,
            "DATABASE_URL": server_url(services.holds.database_url),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
