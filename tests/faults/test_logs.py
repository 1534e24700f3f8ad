"""A log that cannot be written does not stop the sale, and processes that share one do not break
each other's entries."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from select import PIPE_BUF
from typing import IO

import pytest

from tests.support.databases import own_environment, server_url
from tests.support.platform import new_platform
from tests.support.servers import INSTALLATION_SECRET, RunningServer


@contextmanager
def serving(database_url: str, log: "IO[bytes] | int", path: Path) -> Iterator[RunningServer]:
    """A server with this standard error."""
    server = RunningServer(database_url, path)
    path.touch()
    server.process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.entrypoints.cli.main", "serve", "--api"],
        env={
            **own_environment(),
            "DATABASE_URL": server_url(database_url),
            "HOLDFAST_PORT": str(server.port),
            "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
        },
        stdout=subprocess.DEVNULL,
        stderr=log,
        start_new_session=True,
    )
    try:
        server.wait_for("/readyz")
        yield server
    finally:
        server.kill()


def assert_sells(server: RunningServer) -> None:
    platform = new_platform(server.base_url, server.database_url)
    sale = platform.on_sale(10)
    assert [platform.place(sale).status_code for _ in range(12)] == [201] * 10 + [409] * 2
    server.wait_for("/readyz")


def test_a_full_log_disk_does_not_stop_the_sale(database_url: str, tmp_path: Path) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        serving(database_url, full, tmp_path / "log") as server,
    ):
        assert_sells(server)


def test_a_closed_log_pipe_does_not_stop_the_sale(database_url: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with serving(database_url, writer, tmp_path / "log") as server:
        os.close(reader)
        os.close(writer)
        assert_sells(server)


LOGS_A_GROUP = """
from holdfast.bootstrap.logs import configure_logs, log_at_once
from holdfast.bootstrap.settings import Settings

configure_logs(Settings(**settings))
log_at_once(
    [{"event": "hold.created", "number": number, "name": "Zoë" * 50} for number in range(100)]
)
"""


def _logging_a_group(**settings: str) -> list[str]:
    return [sys.executable, "-c", f"settings = {settings}{LOGS_A_GROUP}"]


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 100),
        ({"holdfast_log_format": "console"}, 100),
        ({"holdfast_log_level": "warning"}, 0),
    ],
)
def test_entries_logged_together_follow_the_format_and_the_level(
    settings: dict[str, str], count: int
) -> None:
    done = subprocess.run(_logging_a_group(**settings), stderr=subprocess.PIPE, check=True)
    lines = done.stderr.decode().splitlines()
    assert len(lines) == count
    assert all("hold.created" in line and "info" in line for line in lines)
    if not settings:
        moments = {json.loads(line)["timestamp"] for line in lines}
        assert len(moments) == 1
        assert datetime.fromisoformat(moments.pop()).utcoffset() == timedelta(0)


LOGS_AN_ADDRESS = """
import logging
import structlog
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import Settings

configure_logs(Settings(holdfast_log_format="console"))
try:
    raise ValueError("no ann.lee@shop.example")
except ValueError:
    structlog.get_logger().exception(
        "to ann.lee@shop.example", customer_email="ann.lee@shop.example",
        others=["ann.lee@shop.example"], key="hk_live_" + "x" * 32,
    )
logging.getLogger("library").warning("for ann.lee@shop.example")
"""


def test_the_console_shows_field_names_and_no_addresses() -> None:
    command = [sys.executable, "-c", LOGS_AN_ADDRESS]
    log = subprocess.run(command, stderr=subprocess.PIPE, check=True).stderr.decode()
    assert "customer_email=a***@shop.example" in log
    assert "to a***@shop.example" in log
    assert "for a***@shop.example" in log
    assert "ValueError: no a***@shop.example" in log
    assert "others=" in log
    assert "key=hk_***" in log
    assert "ann" not in log
    assert "lee" not in log


def test_log_entries_written_together_stay_whole_in_a_pipe() -> None:
    # A packet pipe keeps writes apart and splits those that are too long.
    reader, writer = os.pipe2(os.O_DIRECT | os.O_NONBLOCK)
    subprocess.run(_logging_a_group(), stderr=writer, check=True)
    os.close(writer)
    pieces = list(iter(lambda: os.read(reader, 2 * PIPE_BUF), b""))
    os.close(reader)
    assert 1 < len(pieces) < 20
    lines = [json.loads(line) for piece in pieces for line in piece.splitlines()]
    assert [line["number"] for line in lines] == list(range(100))
    assert all(piece.endswith(b"\n") and len(piece) <= PIPE_BUF for piece in pieces)
