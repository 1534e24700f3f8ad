"""The Hold Service beside Holdfast's own Inventory Service, both killed again and again: afterwards
a query over both databases finds no difference."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.e2e.owner import Owner
from tests.support.auditing import assert_sound
from tests.support.databases import DatabaseFactory
from tests.support.patience import POLL_SECONDS, wait_until
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

MakeServer = Callable[..., RunningServer]
SHOPPERS = 6
# Of each, so that tickets remain for others: the rest are cancelled.
KEPT_MAX = 2
KEPT = "kept"
TOTAL = 100
# What each state here means there, in the words of the other database.
STATE_THERE = {
    "active": "active",
    "converted": "converted",
    "failed": "cancelled",
    "expired": "cancelled",
    "cancelled": "cancelled",
}
HERE = """
SELECT h.id::text, h.status, CASE h.status
    WHEN 'active' THEN h.quantity
    WHEN 'converted' THEN (SELECT count(*)::integer FROM ticket t
        WHERE t.hold_id = h.id AND t.voided_at IS NULL)
    ELSE 0 END
FROM hold h
"""
THERE = """
SELECT h.id::text, h.status, CASE WHEN h.status = 'cancelled' THEN 0 ELSE
    (SELECT coalesce(sum(l.quantity), 0)::integer FROM hold_line l
     WHERE l.hold_id = h.id AND l.removed_version IS NULL) END
FROM hold h
"""
TASKS = "SELECT count(*) FROM inventory_task"


@dataclass
class Both:
    """`hold_service` uses the tickets of `inventory_service`."""

    hold_service: RunningServer
    inventory_service: RunningServer
    platform: Platform
    sale: Sale

    def differences(self) -> list[tuple[object, ...]]:
        """Holds whose states or tickets differ between the two databases."""
        here = self._rows(self.hold_service, HERE)
        there = self._rows(self.inventory_service, THERE)
        expected = {(each, STATE_THERE.get(str(state)), count) for each, state, count in here}
        known = {each for each, *_ in here}
        orphans = [row for row in there if row[0] not in known and row[1] != "cancelled"]
        return [*orphans, *(expected - {row for row in there if row[0] in known})]

    def agree(self) -> bool:
        return self._rows(self.hold_service, TASKS) == [(0,)] and not self.differences()

    def _rows(self, server: RunningServer, query: str) -> list[tuple[object, ...]]:
        return Owner(server.database_url).rows(query)

    def assert_agree(self) -> None:
        """Within a minute."""
        try:
            wait_until(self.agree, "both databases agree")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.differences()}") from error
        for server in (self.hold_service, self.inventory_service):
            assert_sound(server.database_url)

    def shop(self, seed: int, is_over: Callable[[], bool]) -> Counter[str]:
        """Place a hold and pay for it, cancel the order, or let the hold go, again and again. A
        server that dies meanwhile answers nothing."""
        dice = random.Random(seed)
        done: Counter[str] = Counter()
        with httpx.Client(
            base_url=self.platform.base_url, headers=self.platform.client.headers, timeout=60
        ) as client:
            while not is_over():
                try:
                    done[self._one(client, dice, keeps=done[KEPT] < KEPT_MAX)] += 1
                except httpx.TransportError:
                    done["no answer"] += 1
                    time.sleep(POLL_SECONDS)
        return done

    def sales(self) -> int:
        ((count,),) = self._rows(self.hold_service, "SELECT count(*) FROM purchase_order")
        return int(str(count))

    def wait_for_sales(self) -> None:
        """Until a few more are made, which takes both services."""
        before = self.sales()
        wait_until(lambda: self.sales() >= before + 3, "people buy tickets")

    def _one(self, client: httpx.Client, dice: random.Random, *, keeps: bool) -> str:
        body = self.platform.hold_body(self.sale, dice.randint(1, 3))
        placed = client.post("/api/holds", json=body)
        if placed.status_code != 201:
            return str(placed.json()["error"])
        hold = f"/api/holds/{placed.json()['hold_id']}"
        if dice.random() < 0.5:
            return f"release {client.post(f'{hold}/release').status_code}"
        paid = client.post(f"{hold}/confirm", json={})
        if paid.status_code != 200:
            return f"confirm {paid.status_code}"
        order = f"/api/orders/{paid.json()['order_id']}"
        body = {"reason": "ill"}
        if keeps:
            body["ticket_ids"] = [client.get(order).json()["tickets"][0]["ticket_id"]]
        client.post(f"{order}/cancel", json=body)
        return KEPT if keeps else "cancelled"


@pytest.fixture
def both(make_server: MakeServer, databases: DatabaseFactory, tmp_path: Path) -> Both:
    inventory = make_server(databases.fresh())
    inventory.command = "inventory"
    inventory.start()
    stock = new_platform(inventory.base_url, inventory.database_url, ("inventory",))
    here = make_server(
        databases.fresh(),
        HOLDFAST_INVENTORY_URL=inventory.base_url,
        HOLDFAST_INVENTORY_KEY=stock.secret_key,
    ).start()
    platform = new_platform(here.base_url, here.database_url)
    sale = platform.on_sale(TOTAL)
    item = f"/inventory/items/{sale.session_id}/{sale.ticket_type_id}"
    assert stock.client.put(item, json={"total": TOTAL}).status_code == 200
    return Both(here, inventory, platform, sale)


@pytest.mark.parametrize(
    "victims",
    [
        *(pytest.param(each, marks=pytest.mark.long) for each in ("nobody", "inventory", "holds")),
        "both",
    ],
)
def test_killed_services_agree_again(both: Both, victims: str) -> None:
    here, there = both.hold_service, both.inventory_service
    killed = {"nobody": [], "inventory": [there], "holds": [here], "both": [there, here]}[victims]
    over = threading.Event()
    with ThreadPoolExecutor(SHOPPERS) as threads:
        shopping = [threads.submit(both.shop, seed, over.is_set) for seed in range(SHOPPERS)]
        try:
            both.wait_for_sales()
            for server in killed:
                server.kill()
                server.start()
                both.wait_for_sales()
        finally:
            over.set()
        done = sum((each.result() for each in shopping), Counter[str]())
    assert (done["no answer"] > 0) is (here in killed)
    both.assert_agree()


def test_without_the_reconciler_they_differ(both: Both) -> None:
    """A control: the Inventory Service gets no messages here, so nobody tells it."""
    both.hold_service.kill()
    both.hold_service.environment = {**both.hold_service.environment, "HOLDFAST_DUTIES": "none"}
    both.hold_service.start()
    body = both.platform.hold_body(both.sale, 2)
    hold_id = both.platform.client.post("/api/holds", json=body).json()["hold_id"]
    assert both.platform.client.post(f"/api/holds/{hold_id}/release").status_code == 200
    assert both.differences() == [(hold_id, "cancelled", 0)]
