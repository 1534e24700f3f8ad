"""`holdfast demo`: one command, no leftover processes, and the data survives restarts."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from tests.support.databases import own_environment
from tests.support.demo import Demo
from tests.support.patience import PATIENCE_SECONDS, wait_until
from tests.support.servers import free_port

KEYS = {
    "base_url",
    "secret_key",
    "organization_id",
    "event_id",
    "session_id",
    "ga_ticket_type_id",
    "small_ticket_type_id",
    "seated_ticket_type_id",
    "block_ids",
    "seat_ids",
    "sold_out_session_id",
    "sold_out_ticket_type_id",
    "sold_out_cart",
    "cart_url",
    "line_url",
}
# The embedded services listen on other ports after each start.
CHANGING_KEYS = {"database_url", "owner_database_url", "redis_url"}
# Each printed command ends with the closing quote of its body.
PRINTED_COMMAND = re.compile(r"^  (curl .+?\}')$", re.MULTILINE | re.DOTALL)
PRINTED_DELETION = re.compile(r"^  (curl -sS -X DELETE .+?')$", re.MULTILINE | re.DOTALL)
PRINTED_PAYMENT = re.compile(r"^Pay for .+?\n\n(.+?)\n\n", re.MULTILINE | re.DOTALL)


def test_a_demo_survives_a_crash_and_leaves_no_process(demo_at: Callable[[str, int], Demo]) -> None:
    demo = demo_at("home", free_port()).start().until_ready()
    facts = demo.facts
    assert set(facts) >= KEYS | CHANGING_KEYS
    assert facts["base_url"] == f"http://127.0.0.1:{demo.port}"
    assert stat.S_IMODE((demo.home / "demo.json").stat().st_mode) == 0o600
    printed = demo.output.read_text()
    assert facts["base_url"] in printed
    assert facts["secret_key"] in printed
    assert "curl" in printed

    held = demo.hold("small_ticket_type_id", 10)
    assert held.status_code == 201
    refused = demo.hold("small_ticket_type_id", 1)
    assert (refused.status_code, refused.json()["available_quantity"]) == (409, 0)
    seats = facts["seat_ids"][:4]
    assert demo.ask(seat_ids=seats).status_code == 201

    demo.end(signal.SIGKILL)
    demo.assert_nothing_is_left()

    demo.start().until_ready()
    kept = {name: demo.facts[name] for name in facts if name not in CHANGING_KEYS}
    assert kept.items() <= facts.items(), "the key, the ids and the admin's password stay the same"
    again = demo.client.get(f"/api/holds/{held.json()['hold_id']}")
    assert again.json()["reference"] == held.json()["reference"]
    assert demo.hold("small_ticket_type_id", 1).status_code == 409
    assert demo.ask("other@example.com", seat_ids=seats[:1]).status_code == 409

    assert demo.end(signal.SIGINT) == 0
    demo.assert_nothing_is_left()


def test_the_demo_has_a_hall(running_demo: Demo) -> None:
    demo = running_demo
    facts, client = demo.facts, demo.client
    hall = client.get(f"/api/sessions/{facts['session_id']}/seats").json()
    assert [block["block_id"] for block in hall["blocks"]] == facts["block_ids"]
    rows = {
        (block["name"], row["row"]): [
            row["seat_id_prefix"] + end for end in row["seat_id_suffixes"]
        ]
        for block in hall["blocks"]
        for row in block["rows"]
    }
    assert 550 <= sum(map(len, rows.values())) <= 650
    last_of_the_stalls = hall["blocks"][0]["rows"][-1]
    assert last_of_the_stalls["accessible"]
    assert last_of_the_stalls["companion"]
    assert any(row["restricted_view"] for block in hall["blocks"] for row in block["rows"])
    seats = {
        block["block_id"]: sum(len(row["seat_id_suffixes"]) for row in block["rows"])
        for block in hall["blocks"]
    }
    capped = [block for block in hall["blocks"] if block.get("capacity") is not None]
    assert [block["capacity"] < seats[block["block_id"]] for block in capped] == [True]

    shown = facts["seat_ids"]
    assert len(set(shown)) == 40
    assert sum(1 for ids in rows.values() if set(shown) & set(ids)) > 1
    assert set(shown) <= {seat_id for ids in rows.values() for seat_id in ids}
    for seat_id in shown:
        assert demo.ask(seat_ids=[seat_id]).status_code == 201
    assert facts["hall_url"] in demo.output.read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the printed commands need curl")
def test_the_printed_commands_work_unchanged(running_demo: Demo) -> None:
    answers = [printed_answer(each) for each in PRINTED_COMMAND.findall(printed(running_demo))]
    assert [(answer["status"], answer["quantity"]) for answer in answers] == [
        ("active", 2),
        ("active", 2),
        ("active", 2),
        ("waiting", 4),
    ]
    assert [answer.get("adjacent") for answer in answers] == [None, True, None, None]
    assert [answer.get("cart_token") for answer in answers] == [None, None, "my-cart", None]
    assert 1 <= answers[-1]["position"] <= 3


@pytest.mark.skipif(shutil.which("curl") is None, reason="the printed commands need curl")
def test_the_boat_waitlist_is_promoted_when_the_group_releases(running_demo: Demo) -> None:
    demo = running_demo
    boat = {
        "session_id": demo.facts["sold_out_session_id"],
        "ticket_type_id": demo.facts["sold_out_ticket_type_id"],
    }
    place = demo.ask("zoe@example.com", **boat, quantity=4)
    assert (place.status_code, place.json()["status"]) == (202, "waiting"), place.text
    (deletion,) = PRINTED_DELETION.findall(printed(demo))
    assert printed_answer(deletion)["status"] == "empty"
    # Free all eight places and clear the rest of the waitlist, to leave room for Zoe.
    for cart in ("demo-carla", "demo-emil", "demo-fay"):
        assert demo.client.delete(f"/api/carts/{cart}/hold").status_code == 200
    others = demo.client.get("/api/holds", params={"session_id": boat["session_id"]}).json()["data"]
    for each in others:
        if each["status"] == "waiting" and each["hold_id"] != place.json()["hold_id"]:
            demo.client.post(f"/api/holds/{each['hold_id']}/release")
    found = demo.client.get(f"/api/holds/{place.json()['hold_id']}").json()
    assert (found["status"], found.get("position")) == ("active", None)
    assert 0 < found["expires_in_seconds"] <= 120


def test_the_demo_has_a_cart_page(running_demo: Demo) -> None:
    facts = running_demo.facts
    assert facts["cart_url"] in printed(running_demo)
    page = httpx.get(facts["cart_url"])
    assert page.status_code == 200
    assert facts["secret_key"] not in page.text + facts["cart_url"]
    issued = httpx.post(
        facts["base_url"] + "/demo/token", params={"organization": facts["organization_id"]}
    )
    headers = {"Authorization": f"Bearer {issued.json()['token']}"}
    assert httpx.get(facts["base_url"] + "/api/events", headers=headers).json()["data"]
    assert httpx.get(facts["base_url"] + "/api/keys", headers=headers).status_code == 403
    assert "unsafe" not in page.headers["Content-Security-Policy"]


def printed(demo: Demo) -> str:
    return demo.output.read_text()


def facts_of(demo: Demo) -> Iterator[dict[str, Any]]:
    """All facts so far, in order."""
    page = demo.client.get("/api/facts").json()
    yield from page["data"]
    while page["has_more"]:
        page = demo.client.get("/api/facts", params={"cursor": page["next_cursor"]}).json()
        yield from page["data"]


def printed_answer(command: str) -> dict[str, Any]:
    done = subprocess.run(command, shell=True, check=True, capture_output=True)
    return dict(json.loads(done.stdout))


@pytest.mark.skipif(shutil.which("curl") is None, reason="the printed commands need curl")
def test_the_printed_payment_leads_to_tickets_a_notice_and_facts(running_demo: Demo) -> None:
    demo = running_demo
    held = demo.hold("ga_ticket_type_id", 2).json()
    (script,) = PRINTED_PAYMENT.findall(printed(demo))
    script = script.replace("<hold_id>", held["hold_id"])
    paid = subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True)
    order = json.loads(paid.stdout)
    assert (order["hold_ids"], order["total"]) == ([held["hold_id"]], held["total"])
    codes = [ticket["code"] for ticket in order["tickets"]]
    assert len(set(codes)) == 2

    facts = list(facts_of(demo))
    kinds = [fact["event_type"] for fact in facts if fact["aggregate_id"] == held["hold_id"]]
    assert kinds == ["hold.created", "hold.extended", "hold.converted"]
    assert order["order_id"] in [fact["aggregate_id"] for fact in facts]

    # It passes the relay, the broker, the notice consumer and the console.
    deadline = time.monotonic() + 30
    while codes[1] not in demo.output.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert f"Booking reference: {held['reference']}" in demo.output.read_text()
    assert codes[1] in demo.output.read_text()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("audit", "All checks passed."),
        ("relay --status", "waiting "),
        ("dead-letters", "0 dead letter(s)"),
        ("release-expired --dry-run -v", "Found 0 lapsed hold(s)"),
    ],
)
def test_operator_commands_work_with_the_demo(running_demo: Demo, command: str, said: str) -> None:
    facts = running_demo.facts
    addresses = {"DATABASE_URL": facts["database_url"], "REDIS_URL": facts["redis_url"]}
    # A hold may be expiring right now.
    deadline = time.monotonic() + 30
    while True:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast.entrypoints.cli.main", *command.split()],
            env={**own_environment(), **addresses},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        if said in done.stdout or time.monotonic() > deadline:
            break
    assert said in done.stdout


def test_the_demo_refuses_an_invented_payment(running_demo: Demo) -> None:
    held = running_demo.hold("ga_ticket_type_id", 1).json()
    confirm = f"/api/holds/{held['hold_id']}/confirm"
    refused = running_demo.client.post(confirm, json={"payment_reference": "trust me"})
    assert (refused.status_code, refused.json()["error"]) == (402, "payment_refused")


@pytest.mark.long
def test_a_key_of_an_earlier_version_gets_new_scopes(demo_at: Callable[[str, int], Demo]) -> None:
    demo = demo_at("home", free_port()).start().until_ready()
    demo.end(signal.SIGINT)
    with (
        EmbeddedPostgres(demo.home / "postgres") as postgres,
        psycopg.connect(postgres.url, autocommit=True) as owner,
    ):
        stripped = owner.execute("UPDATE api_key SET scopes = '{holds:read,holds:write}'")
        assert stripped.rowcount == 1
    demo.start().until_ready()
    assert demo.client.get("/api/facts").status_code == 200
    demo.end(signal.SIGINT)


def test_a_crashed_service_is_restarted(running_demo: Demo) -> None:
    """Killed like in a crash, it keeps its data and port, and the demo reports it."""
    demo = running_demo
    held = demo.hold("ga_ticket_type_id", 1).json()
    for service, title in (("postgres", "PostgreSQL"), ("valkey", "Valkey")):
        before = demo.server_of(service)
        os.kill(before, signal.SIGKILL)
        wait_for_output(demo, f"{title} is back.")
        assert f"{title} stopped unexpectedly; restarting it." in printed(demo)
        assert demo.server_of(service) != before
    demo.until_ready()
    wait_until(
        lambda: demo.client.get(f"/api/holds/{held['hold_id']}").status_code == 200,
        "the hold is still there",
    )


def wait_for_output(demo: Demo, text: str) -> None:
    wait_until(lambda: text in printed(demo), f"the demo says: {text}")


def test_a_reset_deletes_only_the_demos_data(demo_at: Callable[[str, int], Demo]) -> None:
    demo = demo_at("home", free_port()).start().until_ready()
    held, key = demo.hold("small_ticket_type_id", 10), demo.facts["secret_key"]
    assert held.status_code == 201
    (demo.home / "notes.txt").write_text("mine")

    busy = Demo(demo.home, free_port())
    busy.output = demo.home.with_suffix(".second.log")
    assert busy.start("--reset", "--yes").process.wait(60) == 1  # type: ignore[union-attr]
    assert "Nothing was deleted. Stop the demo first." in busy.output.read_text()
    assert demo.hold("ga_ticket_type_id", 1).status_code == 201

    demo.end(signal.SIGINT)
    assert demo.start("--reset").process.wait(60) == 1  # type: ignore[union-attr]
    assert str(demo.home / "postgres") in printed(demo)
    assert "pass --yes" in printed(demo)
    assert (demo.home / "postgres").exists()

    demo.start("--reset", "--yes").until_ready()
    assert demo.facts["secret_key"] != key
    assert demo.client.get(f"/api/holds/{held.json()['hold_id']}").status_code == 404
    assert (demo.home / "notes.txt").read_text() == "mine"
    assert demo.end(signal.SIGTERM) == 0
    demo.assert_nothing_is_left()


def test_a_demo_refuses_a_taken_port(demo_at: Callable[[str, int], Demo]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = demo_at("refused", taken.getsockname()[1]).start()
        assert refused.process is not None
        assert refused.process.wait(PATIENCE_SECONDS) == 1
    message = refused.output.read_text()
    assert "Address already in use" in message
    assert "HOLDFAST_PORT" in message
    assert not (refused.home / "postgres").exists(), "no process was started"


def test_a_demo_refuses_a_taken_home(running_demo: Demo) -> None:
    second = Demo(running_demo.home, free_port())
    second.output = running_demo.home.with_suffix(".second.log")
    second.start()
    assert second.process is not None
    assert second.process.wait(PATIENCE_SECONDS) == 1
    assert "already" in second.output.read_text()
    assert running_demo.hold("ga_ticket_type_id", 1).status_code == 201
