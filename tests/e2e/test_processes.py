"""Several processes on one port, separate servers for API and pages, and graceful shutdown."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import httpx

from tests.e2e.owner import Owner
from tests.support.databases import server_url
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

TICKETS, REQUESTS, THREADS = 100, 300, 16
DRAIN_SECONDS = 5

MakeServer = Callable[..., RunningServer]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ports_of(pid: int) -> set[int]:
    """The ports that a process connects from."""
    opened = set[str]()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            opened.add(str(file.readlink()))
    connections = (
        line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    )
    return {
        int(connection[1].partition(":")[2], 16)
        for connection in connections
        if f"socket:[{connection[9]}]" in opened
    }


def own_client(platform: Platform) -> httpx.Client:
    headers = {"Authorization": f"Bearer {platform.secret_key}"}
    return httpx.Client(base_url=platform.base_url, headers=headers, timeout=30, verify=False)


@dataclass(frozen=True)
class Pair:
    """A server of two processes, and a view of which of them works."""

    pids: list[int]
    login: Owner  # the server's login, which sees the activity of its connections

    def now(self) -> datetime:
        ((now,),) = self.login.rows("SELECT clock_timestamp()")
        assert isinstance(now, datetime)
        return now

    def both_worked(self, since: datetime) -> bool:
        engines = self.login.rows(
            "SELECT client_port FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'holdfast engine' AND query_start > %s",
            since,
        )
        ports = {port for (port,) in engines}
        return all(ports_of(pid) & ports for pid in self.pids)


def test_two_processes_sell_one_pool_exactly_once(
    fresh_database_url: str, make_server: MakeServer
) -> None:
    server = make_server(fresh_database_url, HOLDFAST_PROCESSES="2").start()
    assert server.process is not None
    platform, owner = new_platform(server.base_url, server.database_url), Owner(fresh_database_url)
    pair = Pair(children_of(server.process.pid), Owner(server_url(fresh_database_url)))
    assert len(pair.pids) == 2
    sale, warm_up = platform.on_sale(TICKETS), platform.on_sale(10_000)

    def buy(wanted: Sale) -> int:
        """Use a new connection, so either process may get it."""
        with own_client(platform) as client:
            return client.post("/api/holds", json=platform.hold_body(wanted)).status_code

    started = pair.now()
    wait_until(lambda: buy(warm_up) == 201 and pair.both_worked(started), "both are up")
    before = pair.now()
    with ThreadPoolExecutor(THREADS) as threads:
        statuses = Counter(threads.map(buy, [sale] * REQUESTS))
    assert statuses == {201: TICKETS, 409: REQUESTS - TICKETS}
    assert pair.both_worked(before)
    assert platform.available(sale) == [0]
    assert (TICKETS, TICKETS, 0) in owner.counters(platform.organization_id)
    owner.assert_counters_add_up(platform.organization_id)
    server.stop()
    assert server.process.returncode == 0


def test_the_api_can_be_served_without_the_pages(database_url: str, tmp_path: Path) -> None:
    with RunningServer(database_url, tmp_path / "log", arguments=("--api",)) as server:
        platform = new_platform(server.base_url, server.database_url)
        assert platform.place(platform.on_sale(1)).status_code == 201
        assert platform.client.get("/api/docs").status_code == 200
        for path in ("/", "/admin/", "/admin/login/", "/static/pages/pages.css"):
            assert platform.client.get(path).status_code == 404, path


def test_the_pages_can_be_served_without_the_api(database_url: str, tmp_path: Path) -> None:
    with RunningServer(database_url, tmp_path / "log", arguments=("--pages",)) as server:
        platform = new_platform(server.base_url, server.database_url)
        for path in ("/", "/admin/login/", "/static/pages/pages.css"):
            assert platform.client.get(path).status_code == 200, path
        for path in ("/api/holds", "/api/events", "/api/docs", "/api/schema"):
            assert platform.client.get(path).status_code == 404, path
        assert platform.client.post("/api/holds", json={}).status_code in {403, 404}


@dataclass
class Burst:
    """The outcome of every request, by the hold id that its client chose."""

    platform: Platform
    sale: Sale
    answered: dict[str, int] = field(default_factory=dict)
    refused_at_the_door: list[str] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)

    def buy_until_the_end(self) -> None:
        with own_client(self.platform) as client:
            while True:
                hold_id = str(uuid4())
                body: Json = self.platform.hold_body(self.sale, hold_id=hold_id)
                headers = {"X-Request-ID": hold_id}
                try:
                    answer = client.post("/api/holds", json=body, headers=headers)
                except httpx.ConnectError:
                    self.refused_at_the_door.append(hold_id)
                    return
                except httpx.TransportError:
                    self.cut_off.append(hold_id)
                    return
                self.answered[hold_id] = answer.status_code


def test_a_shutdown_during_a_burst_loses_no_answer(
    fresh_database_url: str, make_server: MakeServer
) -> None:
    server = make_server(
        fresh_database_url,
        HOLDFAST_PROCESSES="2",
        HOLDFAST_DRAIN_SECONDS=str(DRAIN_SECONDS),
    ).start()
    assert server.process is not None
    platform, owner = new_platform(server.base_url, server.database_url), Owner(fresh_database_url)
    burst = Burst(platform, platform.on_sale(1_000_000))
    with ThreadPoolExecutor(THREADS) as threads:
        buyers = [threads.submit(burst.buy_until_the_end) for _ in range(THREADS)]
        wait_until(lambda: len(burst.answered) > 200, "the burst is under way")
        os.kill(server.process.pid, signal.SIGTERM)
        stopping = time.monotonic()
        code = server.process.wait(DRAIN_SECONDS + 10)
        took = time.monotonic() - stopping
    for buyer in buyers:
        buyer.result()
    assert code == 0, server.log_tail()
    assert took < DRAIN_SECONDS
    stored = {str(hold_id) for (hold_id,) in owner.rows("SELECT id FROM hold")}
    won = {hold_id for hold_id, status in burst.answered.items() if status == 201}
    assert set(burst.answered.values()) <= {201, 503}
    assert stored == won, "each request has both an answer and a hold, or neither"
    owner.assert_counters_add_up(platform.organization_id)
    log = server.log.read_text()
    seen = [hold_id for hold_id in burst.cut_off if hold_id in log]
    assert not seen, "accepted but never answered"
