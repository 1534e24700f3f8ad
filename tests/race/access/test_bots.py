"""Two hundred bots, each with a token of its own, against buyers who just want two seats. With the
recommended limits, every buyer gets them; without limits, the bots take the whole hall."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import httpx
import pytest

from holdfast.adapters.embedded import EmbeddedValkey
from tests.race.access.bots import UNITS_PER_HOLD, Order
from tests.support.auditing import assert_sound
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.platform import Hall, Json, Platform, new_platform
from tests.support.servers import ROOT, RunningServer

BOTS, BUYERS, BUYERS_LONG = 200, 5, 50
ROWS, SEATS_PER_ROW = 30, 50
SEATS = ROWS * SEATS_PER_ROW
TRIES_MAX = 5  # a bot may be faster at the seats that a buyer has seen
# As docs/rate-limits.md and docs/holder-limits.md recommend.
LIMITS: Json = {
    "rate_seats_per_holder": "10/300",
    "rate_requests_per_holder": "30/60",
    "rate_requests_per_address": "600/60",
    "hold_policy": {"holder_units_max": UNITS_PER_HOLD, "cooldown_seconds": 60},
}
KEPT_MAX = BOTS * UNITS_PER_HOLD
ONE_ADDRESS = ["203.0.113.7"] * BOTS
MANY_ADDRESSES = [f"203.0.113.{number}" for number in range(1, BOTS + 1)]


@dataclass
class Buyers:
    """What the buyers got, and how long each step took them."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    orders: int = 0
    tries: int = 0

    def timed(self, step: str, client: httpx.Client, *request: str, **more: Any) -> httpx.Response:
        started = time.perf_counter()
        answer = client.request(*request, **more)
        self.seconds.setdefault(step, []).append(time.perf_counter() - started)
        assert answer.status_code < 500, answer.text
        return answer


@pytest.fixture(scope="module")
def arena(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    directory: Path = tmp_path_factory.mktemp("bots")
    with EmbeddedValkey(directory / "valkey") as valkey:
        environment = {"REDIS_URL": valkey.url, "HOLDFAST_TRUSTED_PROXIES": "127.0.0.1"}
        environment |= {"HOLDFAST_LOG_LEVEL": "warning"}
        with RunningServer(databases.fresh(), directory / "log", environment) as server:
            yield server


@contextmanager
def attacked(platform: Platform, hall: Hall, addresses: list[str]) -> Iterator[dict[str, Any]]:
    """Bots attack meanwhile; afterwards, what they got."""
    tokens = [platform.token(user_id=f"bot-{number}") for number in range(BOTS)]
    url = httpx.URL(platform.base_url)
    order = Order(url.host, url.port or 0, hall.session_id, hall.ticket_type_id, tokens, addresses)
    loot: dict[str, Any] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.race.access.bots"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as bots:
        assert bots.stdin is not None
        assert bots.stdout is not None
        try:
            bots.stdin.write(json.dumps(asdict(order)) + "\n")
            bots.stdin.flush()
            assert bots.stdout.readline() == "attacking\n"
            yield loot
            bots.stdin.close()
            loot |= json.loads(bots.stdout.read())
        finally:
            bots.kill()


def free_pair(seat_map: Json, random: Random) -> list[str]:
    """Two free seats side by side."""
    pairs = [
        [row["seat_id_prefix"] + suffix for suffix in row["seat_id_suffixes"][start : start + 2]]
        for block in seat_map["blocks"]
        for row in block["rows"]
        for start in range(len(row["status"]) - 1)
        if row["status"][start : start + 2] == "aa"
    ]
    return random.choice(pairs) if pairs else []


def buy(platform: Platform, hall: Hall, number: int, buyers: Buyers) -> None:
    """See the map, hold two seats, extend the hold, check out and pay."""
    client = platform.buyer(user_id=f"buyer-{number}")
    client.headers["X-Forwarded-For"] = f"198.51.100.{number}"
    for _ in range(TRIES_MAX):
        buyers.tries += 1
        path = f"/api/sessions/{hall.session_id}/seats"
        seat_map = buyers.timed("see the map", client, "GET", path)
        seat_ids = free_pair(seat_map.json(), Random(number))
        wish = {"session_id": hall.session_id, "seat_ids": seat_ids}
        if seat_ids:
            hold = buyers.timed("hold 2 seats", client, "POST", "/api/holds", json=wish)
            if hold.status_code == 201:
                break
    else:
        return
    hold_id = hold.json()["hold_id"]
    path, minute = f"/api/holds/{hold_id}/extend", {"minutes": 1}
    assert buyers.timed("extend", client, "POST", path, json=minute).status_code == 200
    chosen = {"hold_ids": [hold_id]}
    checkout = buyers.timed("check out", client, "POST", "/api/checkouts", json=chosen)
    assert checkout.status_code == 201, checkout.text
    path = f"/api/checkouts/{checkout.json()['checkout_id']}/complete"
    paid = {"payment_reference": f"pay-{number}"}
    order = buyers.timed("pay", platform.client, "POST", path, json=paid)
    buyers.orders += order.status_code == 201
    client.close()


def attack(
    arena: RunningServer, limits: Json, addresses: list[str], buyers: int
) -> tuple[Buyers, dict[str, Any]]:
    platform = new_platform(arena.base_url, arena.database_url)
    hall = platform.hall(ROWS, SEATS_PER_ROW)
    if limits:
        assert platform.client.patch("/api/organization", json=limits).status_code == 200
        buyer = platform.buyer()
        buyer.headers["X-Forwarded-For"] = "192.0.2.1"
        wait_until(
            lambda: "RateLimit" in buyer.get("/api/events").headers, "the limits are in effect"
        )
    done = Buyers()
    with attacked(platform, hall, addresses) as loot:
        for number in range(buyers):
            buy(platform, hall, number, done)
    return done, loot


def report(name: str, buyers: Buyers, wanted: int, loot: dict[str, Any]) -> None:
    lines = [f"{name}: {buyers.orders} of {wanted} buyers got their seats, {buyers.tries} tries"]
    for step, seconds in buyers.seconds.items():
        p50, longest = median(seconds) * 1e3, max(seconds) * 1e3
        lines.append(f"  {step:14} p50 {p50:6.0f} ms  max {longest:6.0f} ms")
    lines.append(f"  {BOTS} bots had {loot['kept']} of {SEATS} seats in the end")
    lines += [f"  {count:>7,} {response}" for response, count in sorted(loot["responses"].items())]
    sys.stdout.write("\n".join(["", *lines, ""]))


@pytest.mark.alone
@pytest.mark.parametrize("buyers", [BUYERS, pytest.param(BUYERS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("addresses", [ONE_ADDRESS, MANY_ADDRESSES], ids=["one", "many"])
def test_every_buyer_gets_through_the_bots(
    arena: RunningServer, addresses: list[str], buyers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    done, loot = attack(arena, LIMITS, addresses, buyers)
    with capsys.disabled() if buyers == BUYERS_LONG else nullcontext():
        report(f"Limits, bots at {len(set(addresses))} of {BOTS} addresses", done, buyers, loot)
    assert done.orders == buyers
    assert loot["kept"] <= KEPT_MAX
    refused = {response.split()[1] for response in loot["responses"]} - {"200", "201"}
    assert refused <= {"409", "429"}
    assert_sound(arena.database_url)


@pytest.mark.alone
def test_control_without_limits_the_bots_take_the_hall(arena: RunningServer) -> None:
    done, loot = attack(arena, {}, MANY_ADDRESSES, BUYERS)
    report("No limits", done, BUYERS, loot)
    assert loot["kept"] > KEPT_MAX
    assert done.orders < BUYERS
