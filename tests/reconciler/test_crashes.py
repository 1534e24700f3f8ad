"""Real servers are killed at each step between the two services: within a minute both agree."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest

from tests.e2e.owner import Owner
from tests.support.auditing import assert_sound
from tests.support.inventory_service import Fault, InventoryService
from tests.support.patience import wait_until
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

MakeServer = Callable[..., RunningServer]
BEFORE, AFTER = Fault.HANG_BEFORE, Fault.HANG_AFTER


@dataclass
class Layout:
    """A Hold Service beside an Inventory Service, which gets no messages."""

    make_server: MakeServer
    url: str
    service: InventoryService
    server: RunningServer
    platform: Platform
    sale: Sale

    def serve(self, **environment: str) -> RunningServer:
        made = self.make_server(self.url, **self.service.environment(), **environment).start()
        self.platform.client.base_url = httpx.URL(made.base_url)
        return made

    def kill_during_hold(self, fault: Fault) -> str:
        """Kill the server while the Inventory Service has not answered yet: the call has had its
        effect there, or not."""
        self.service.break_next("hold", fault)
        calling = threading.Thread(target=self._place_in_vain)
        calling.start()
        wait_until(lambda: self.service.hanging == 1, "the call has arrived")
        ((hold_id, status),) = self.holds()
        assert self.service.status(hold_id) == ("held" if fault is AFTER else None)
        assert status == "pending", "the intent is committed before the call"
        self.server.kill()
        calling.join()
        return hold_id

    def _place_in_vain(self) -> None:
        with pytest.raises(httpx.TransportError):
            self.platform.place(self.sale, 2)

    def placed(self) -> str:
        answer = self.platform.place(self.sale, 2)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["hold_id"])

    def confirmed(self, hold_id: str) -> str:
        answer = self.platform.client.post(f"/api/holds/{hold_id}/confirm", json={})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["order_id"])

    def holds(self) -> list[tuple[str, str]]:
        query = "SELECT id::text, status FROM hold ORDER BY created_at"
        return [(hold_id, status) for hold_id, status in Owner(self.url).rows(query)]

    def tasks(self) -> int:
        ((count,),) = Owner(self.url).rows("SELECT count(*) FROM inventory_task")
        return int(count)

    def make_due(self) -> None:
        Owner(self.url).run("UPDATE inventory_task SET due_at = statement_timestamp()")

    def agree(self, hold_id: str, here: str, there: str) -> None:
        """Within the time that a condition may take, which is a minute."""

        def do_agree() -> bool:
            is_here = (hold_id, here) in self.holds()
            return is_here and self.service.status(hold_id) == there and not self.tasks()

        wait_until(do_agree, f"{here} here and {there} there")
        assert_sound(self.url, grace_seconds=60)


@pytest.fixture
def layout(make_server: MakeServer, fresh_database_url: str, service: InventoryService) -> Layout:
    server = make_server(fresh_database_url, **service.environment()).start()
    platform = new_platform(server.base_url, fresh_database_url)
    sale = platform.on_sale(100)
    return Layout(make_server, fresh_database_url, service, server, platform, sale)


@pytest.mark.parametrize("fault", [pytest.param(BEFORE, marks=pytest.mark.long), AFTER])
def test_a_server_killed_during_the_call_leaves_nothing_behind(
    layout: Layout, fault: Fault
) -> None:
    hold_id = layout.kill_during_hold(fault)
    layout.serve()
    layout.agree(hold_id, "failed", "released")
    layout.service.resume()  # a call that arrives now is refused
    layout.agree(hold_id, "failed", "released")
    assert layout.service.taken(layout.sale.ticket_type_id) == 0


def test_without_the_reconciler_the_tickets_would_be_lost(layout: Layout) -> None:
    hold_id = layout.kill_during_hold(AFTER)
    server = layout.serve(HOLDFAST_DUTIES="none")
    layout.make_due()
    layout.placed()
    assert layout.holds()[0] == (hold_id, "pending")
    assert layout.service.status(hold_id) == "held"
    server.kill()
    layout.serve()
    layout.agree(hold_id, "failed", "released")


@pytest.mark.parametrize("operation", [pytest.param("find", marks=pytest.mark.long), "release"])
def test_a_killed_reconciler_leaves_nothing_half_done(layout: Layout, operation: str) -> None:
    hold_id = layout.placed()
    layout.service.break_next(operation, AFTER)
    assert layout.platform.client.post(f"/api/holds/{hold_id}/release").status_code == 200
    wait_until(lambda: layout.service.hanging == 1, "the reconciler is at work")
    layout.server.kill()
    assert layout.tasks() == 1
    layout.serve()
    layout.agree(hold_id, "cancelled", "released")


def test_an_expired_hold_is_released_although_its_message_is_lost(layout: Layout) -> None:
    sale = layout.platform.on_sale(10, hold_policy={"ttl_seconds": 1})
    answer = layout.platform.place(sale, 2)
    layout.agree(answer.json()["hold_id"], "expired", "released")


def test_a_sale_is_committed_after_the_service_was_down(layout: Layout) -> None:
    hold_id = layout.placed()
    layout.service.is_down = True
    order_id = layout.confirmed(hold_id)
    layout.make_due()
    wait_until(lambda: layout.service.count("find") > 0, "the reconciler has tried")
    refused = layout.platform.place(layout.sale, 2)
    assert (refused.status_code, refused.json()["error"]) == (503, "service_unavailable")
    layout.service.is_down = False
    layout.agree(hold_id, "converted", "committed")
    cancelled = layout.platform.client.post(
        f"/api/orders/{order_id}/cancel", json={"reason": "ill"}
    )
    assert cancelled.status_code == 200, cancelled.text
    wait_until(lambda: layout.service.lines(hold_id) == {}, "the tickets are for sale again")
    layout.agree(hold_id, "converted", "committed")
