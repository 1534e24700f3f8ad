"""`holdfast demo-services`: what it prints works when pasted, and it leaves no process behind."""

import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.debian import CACHE
from tests.support.demo import START_SECONDS_MAX, Demo
from tests.support.rabbit import RabbitBroker
from tests.support.servers import free_port

COMMAND = re.compile(r"^  (.+)$", re.MULTILINE)
PASTE_SECONDS_MAX = 120


class TwoServices(Demo):
    def __init__(self, home: Path) -> None:
        super().__init__(home, free_port())
        self.inventory_port = free_port()

    def begin(self) -> None:
        self.start("--inventory-port", str(self.inventory_port), command="demo-services")
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self.is_ready():
            assert not self.has_ended(), self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.1)

    def is_ready(self) -> bool:
        return "Press Ctrl-C" in self.output.read_text()

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    @property
    def known(self) -> dict[str, str]:
        return dict(json.loads((self.home / "services" / "services.json").read_text()))

    def call(
        self, service: str, method: str, path: str, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        url, key = (self.known[f"{service}_{what}"] for what in ("url", "key"))
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.request(method, url + path, json=body, headers=headers, timeout=60)
        return dict(answer.raise_for_status().json())

    def paste(self) -> list[str]:
        """What the printed commands answer, all in one shell."""
        printed = self.output.read_text().partition("Paste this first")[2]
        done = subprocess.run(
            ["bash", "-c", "\n".join(COMMAND.findall(printed))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # in order: a value that is picked is shown there
            text=True,
            timeout=PASTE_SECONDS_MAX,
            check=True,
        )
        return done.stdout.splitlines()


@pytest.fixture
def services(rabbit: RabbitBroker, tmp_path: Path) -> Iterator[TwoServices]:
    """With the RabbitMQ of the other tests: without it, there is nothing to start."""
    home = tmp_path / "home"
    (home / "services").mkdir(parents=True)
    if rabbit.installation.root.is_relative_to(CACHE):
        (home / "services" / "debian").symlink_to(CACHE)
    services = TwoServices(home)
    yield services
    if not services.has_ended():
        services.end(signal.SIGKILL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the printed commands need curl")
def test_the_printed_commands_show_both_services_and_an_outage(services: TwoServices) -> None:
    services.begin()
    shown = services.paste()
    assert shown[-1] == "Both services agree."
    answers = [json.loads(line) for line in shown if line.startswith("{")]
    assert [each.get("status") for each in answers] == [
        *("active", "held", None),  # a hold, its reservation, and what is left
        409,
        *("cancelled", "released", None),
        *("active", "converted", "committed"),
        503,
        *(None, "active"),
    ]
    hold, reservation, item, refused, _, _, released, *_, outage, back, last = answers
    assert reservation["hold_id"] == hold["hold_id"]
    assert (item["available"], item["held"]) == (8, 2)
    assert (refused["error"], refused["available_quantity"]) == ("insufficient_inventory", 8)
    assert (released["available"], released["held"]) == (10, 0)
    assert outage["error"] == "service_unavailable"
    assert (back["available"], back["committed"], last["quantity"]) == (8, 2, 1)
    assert services.end(signal.SIGINT) == 0
    services.assert_nothing_is_left()
    assert services.output.read_text().endswith("Stopping ...\n")


@pytest.mark.long
def test_a_killed_demo_leaves_nothing_and_is_started_again_with_its_data(
    services: TwoServices,
) -> None:
    services.begin()
    before = services.known
    wanted = {name: before[name] for name in ("session_id", "ticket_type_id")}
    body = {**wanted, "quantity": 3, "customer_email": "user@example.com"}
    held = services.call("hold", "POST", "/api/holds", body)
    services.end(signal.SIGKILL)
    services.assert_nothing_is_left()
    services.output.write_text("")
    services.begin()
    assert services.known["hold_key"] == before["hold_key"]
    seen = services.call("inventory", "GET", f"/inventory/holds/{held['hold_id']}")
    assert seen["status"] == "held"
