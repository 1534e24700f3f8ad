"""Crowds, foreign locks and misbehaving clients against a running server."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psycopg
import pytest

from holdfast.adapters.postgres.engine import statements
from holdfast.engine.limits import Limits
from holdfast.engine.queue import FairQueue, Pending
from tests.contract.venues import Venue
from tests.contract.worlds import MemoryWorld
from tests.faults.arena import Arena
from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.databases import is_engine_blocked
from tests.support.patience import wait_until
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

# Less than a lock timeout, which waiting for the foreign lock would take.
CONTROL_SECONDS = 0.2
SAMPLES = 15


def pool_of(url: str, sale: Sale) -> str:
    query = "SELECT pool_id FROM ticket_type_pool WHERE ticket_type_id = %s"
    return str(rows(url, query, sale.ticket_type_id)[0][0])


@pytest.mark.alone
def test_a_foreign_lock_on_a_pool_delays_nobody_else(
    make_server: Callable[..., RunningServer], fresh_database_url: str
) -> None:
    """Holds in other pools and organizations take no longer than before."""
    # The shared database has rows from others that no hold explains.
    server = make_server(fresh_database_url).start()
    platform = new_platform(server.base_url, server.database_url)
    mine = platform.on_sale(100)
    beside = platform.on_sale(100)
    neighbour = new_platform(server.base_url, server.database_url)
    theirs = neighbour.on_sale(100)
    others = ((platform, beside), (neighbour, theirs))
    before = _median_seconds(others)
    waiting = []
    with psycopg.connect(server.database_url) as stranger:
        stranger.execute(
            "SELECT FROM pool WHERE id = %s FOR UPDATE", [pool_of(server.database_url, mine)]
        )
        thread = threading.Thread(target=lambda: waiting.append(platform.place(mine)))
        thread.start()
        wait_until(lambda: is_engine_blocked(server.database_url), "it waits for the lock")
        assert _median_seconds(others) < before + CONTROL_SECONDS
    thread.join(60)
    # A slow machine may exceed the deadline of the command.
    assert waiting[0].status_code in {201, 503}
    assert_sound(server.database_url)


def _median_seconds(buyers: Sequence[tuple[Platform, Sale]]) -> float:
    seconds = []
    for _ in range(SAMPLES):
        for platform, sale in buyers:
            started = time.monotonic()
            assert platform.place(sale).status_code == 201
            seconds.append(time.monotonic() - started)
    return median(seconds)


def test_control_waiting_in_the_main_lane_delays_everybody(
    fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without SKIP LOCKED, everyone in the group waits for the foreign lock."""
    monkeypatch.setattr(statements, "LOCK_POOLS", statements.LOCK_POOLS.replace("SKIP LOCKED", ""))
    arena = Arena(fresh_database_url, fresh_database_url)
    beside = arena.world.venue({"floor": 100}, {"standing": ("floor",)})
    with arena.world.locked_elsewhere(arena.venue, arena.venue.pools["floor"]):
        started = time.monotonic()
        futures = [arena.engine.submit(arena.venue.place(("standing", 1))) for _ in range(3)]
        arena.engine.submit(beside.place(("standing", 1))).result(60)
        assert time.monotonic() - started > CONTROL_SECONDS
    for future in futures:
        future.result(60)
    arena.close()


def waiting_in(queue: FairQueue, venue: Venue) -> Pending:
    return Pending(venue.place(("s", 1)), None, float("inf"), queue.leave, lambda _: None)


def test_control_without_shares_a_flood_fills_the_queue() -> None:
    world = MemoryWorld()
    venue, other = (world.venue({"f": 100}, {"s": ("f",)}) for _ in range(2))
    for share_max, is_room_left in ((6, True), (8, False)):
        queue = FairQueue(queue_max=8, share_max=share_max)
        for _ in range(10):
            queue.put(waiting_in(queue, venue))
        theirs = waiting_in(queue, other)
        assert queue.put(theirs) is is_room_left


def test_a_flood_from_one_organization_leaves_space_for_another(
    make_server: Callable[..., RunningServer], fresh_database_url: str
) -> None:
    """A small queue and a foreign lock on the flooded pool: the flood is refused at once with 503
    and Retry-After, while another organization is served."""
    server = make_server(
        fresh_database_url,
        HOLDFAST_QUEUE_MAX="16",
        HOLDFAST_LOG_LEVEL="error",
        HOLDFAST_DEADLINE_SECONDS="30",
    ).start()
    flooding = new_platform(server.base_url, fresh_database_url)
    quiet = new_platform(server.base_url, fresh_database_url)
    flooded, calm = flooding.on_sale(1000), quiet.on_sale(1000)
    share = Limits(queue_max=16).share_max
    crowd = Crowd(flooding, 40)
    with psycopg.connect(fresh_database_url) as stranger:
        stranger.execute(
            "SELECT FROM pool WHERE id = %s FOR UPDATE", [pool_of(fresh_database_url, flooded)]
        )
        replies: list[int] = []
        body = flooding.hold_body(flooded)

        def send(_number: int) -> Reply:
            reply = crowd.place(body)
            replies.append(reply.status)
            return reply

        flood = threading.Thread(target=lambda: crowd.all_at_once(send))
        flood.start()
        wait_until(lambda: len(replies) >= 40 - share, "the rest is refused")
        for _ in range(5):
            assert quiet.place(calm).status_code == 201
        refused = flooding.place(flooded)
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) >= 1
    flood.join(60)
    crowd.close()
    assert replies.count(503) >= 40 - share
    assert replies.count(201) >= 1
    assert_sound(fresh_database_url)


def test_a_disconnecting_client_cancels_nothing(platform: Platform, server: RunningServer) -> None:
    sale = platform.on_sale(10)
    address = urlsplit(server.base_url)
    body = json.dumps(platform.hold_body(sale)).encode()
    request = (
        f"POST /api/holds HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: Bearer {platform.secret_key}\r\nIdempotency-Key: hung-up\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    with psycopg.connect(server.database_url) as stranger:
        # The lock makes sure the client is gone before the decision.
        stranger.execute(
            "SELECT FROM pool WHERE id = %s FOR UPDATE", [pool_of(server.database_url, sale)]
        )
        with socket.create_connection((str(address.hostname), int(address.port or 80))) as client:
            client.sendall(request)
            wait_until(lambda: is_engine_blocked(server.database_url), "it waits for the lock")
    wait_until(lambda: platform.available(sale) == [9], "the hold is placed")
    again = platform.client.post(
        "/api/holds",
        content=body,
        headers={"Idempotency-Key": "hung-up", "Content-Type": "application/json"},
    )
    assert again.status_code == 201
    assert again.headers["Idempotent-Replayed"] == "true"
    assert platform.available(sale) == [9]


@pytest.mark.parametrize("hours", [-1, pytest.param(1, marks=pytest.mark.long)])
def test_the_clock_of_the_server_process_is_not_used(
    make_server: Callable[..., RunningServer], fresh_database_url: str, hours: int
) -> None:
    """A server whose clock is an hour off behaves normally: only the database's clock counts."""
    server = make_server(
        fresh_database_url,
        LD_PRELOAD=str(faketime_library()),
        FAKETIME=f"{hours:+d}h",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
    ).start()
    platform = new_platform(server.base_url, fresh_database_url)
    sale = platform.on_sale(10)
    placed = platform.place(sale, 10).json()
    (seconds,) = rows(
        fresh_database_url,
        "SELECT extract(epoch FROM expires_at - now())::float FROM hold WHERE id = %s",
        placed["hold_id"],
    )[0]
    assert 590 < seconds <= 601
    assert 590 < placed["expires_in_seconds"] <= 600
    assert platform.place(sale).status_code == 409
    time.sleep(1.5)  # the reaper has run
    read = platform.client.get(f"/api/holds/{placed['hold_id']}").json()
    assert (read["status"], read["created_at"]) == ("active", placed["created_at"])
    assert is_skewed(server), "control: the clock of that process is not off"


def faketime_library() -> Path:
    """libfaketime, installed from the system's packages if allowed."""
    for attempt in range(2):
        found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
        if found:
            return found[0]
        if attempt == 0 and shutil.which("apt-get") and os.geteuid() == 0:
            for arguments in (["update"], ["install", "-y", "libfaketime"]):
                subprocess.run(["apt-get", "-q", *arguments], check=False, capture_output=True)
    pytest.skip("libfaketime is missing and may not be installed here")


def is_skewed(server: RunningServer) -> bool:
    """Whether the server's log entries have the skewed time."""
    lines = [json.loads(x) for x in server.log.read_text().splitlines() if x.startswith("{")]
    moments = [datetime.fromisoformat(line["timestamp"]) for line in lines if "timestamp" in line]
    return bool(moments) and abs((moments[-1] - datetime.now(UTC)).total_seconds()) > 3000
