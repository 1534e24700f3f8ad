"""`python -m docs.pictures.hall`: photograph the demo's hall in Chromium while a sale runs."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import sync_playwright

from docs.pictures.png import with_palette
from holdfast.adapters.embedded.tcp_ports import free_port

PICTURE = Path(__file__).parents[1] / "images" / "hall.png"
START_SECONDS_MAX = 120
PARTIES, SEED = 110, 7
WINDOW = {"width": 1120, "height": 1200}
# The page's button bar covers the end of the hall.
ONLY_THE_HALL = "body * { visibility: hidden } .hall, .hall * { visibility: visible }"


@contextmanager
def demo() -> Iterator[dict[str, Any]]:
    """Run a demo in a temporary directory; yields its `demo.json`."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-hall-"))
    port = free_port("127.0.0.1")
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.entrypoints.cli.main", "demo"],
        env={**os.environ, "HOLDFAST_HOME": str(home), "HOLDFAST_PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while not _is_ready(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("The demo does not start. Try `make demo`.")
            time.sleep(0.1)
        yield json.loads((home / "demo.json").read_text())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        shutil.rmtree(home)


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz").is_success
    except httpx.TransportError:
        return False


def sell(facts: dict[str, Any]) -> None:
    """Sell to parties that take the best seats together or choose their own; two in three pay."""
    chance = random.Random(SEED)  # noqa: S311
    headers = {"Authorization": f"Bearer {facts['secret_key']}"}
    with httpx.Client(base_url=facts["base_url"], headers=headers, timeout=60) as client:
        session = f"/api/sessions/{facts['session_id']}"
        hall = client.get(f"{session}/seats").json()
        rows = [
            [row["seat_id_prefix"] + end for end in row["seat_id_suffixes"]]
            for block in hall["blocks"]
            for row in block["rows"]
        ]
        middle = len(rows[13]) // 2
        cameras = {"seat_ids": rows[13][middle - 2 : middle + 2], "reason": "Camera position"}
        client.post(f"{session}/seats/block", json=cameras).raise_for_status()
        for number in range(PARTIES):
            size = chance.choice([2, 2, 2, 3, 4])
            wanted: dict[str, Any] = {"ticket_type_id": facts["seated_ticket_type_id"]}
            if number % 2:
                row = chance.choice(rows)
                start = chance.randrange(len(row) - size)
                wanted = {"seat_ids": row[start : start + size]}
            else:
                wanted["quantity"] = size
            buyer = {
                "session_id": facts["session_id"],
                "customer_email": f"buyer{number}@example.com",
            }
            hold = client.post("/api/holds", json=buyer | wanted)
            if hold.status_code == 201 and chance.random() < 2 / 3:
                pay(client, hold.json())


def pay(client: httpx.Client, hold: dict[str, Any]) -> None:
    bill = {"amount": hold["total"], "currency": hold["currency"]}
    payment = client.post("/api/demo/payments", json=bill).json()
    paid = {"payment_reference": payment["payment_reference"]}
    client.post(f"/api/holds/{hold['hold_id']}/confirm", json=paid).raise_for_status()


def photograph(facts: dict[str, Any]) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=WINDOW)  # type: ignore[arg-type]
        page.goto(facts["hall_url"])
        page.get_by_label("Username").fill(facts["admin_username"])
        page.locator("input[name=password]").fill(facts["admin_password"])
        page.locator("[type=submit]").click()
        taken = page.locator("section.hall").screenshot(style=ONLY_THE_HALL)
        PICTURE.write_bytes(with_palette(taken))
        browser.close()


if __name__ == "__main__":
    with demo() as facts:
        sell(facts)
        photograph(facts)
