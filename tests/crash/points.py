"""Servers that die at a given point, and the list of points."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import RunningServer

DYING = Path(__file__).parent / "dying"
BEFORE_COMMIT = ("before the locks", "after the locks", "before the writes", "before COMMIT")
AFTER_COMMIT = "after COMMIT"
# Nothing has happened before COMMIT, so the quick suite tries only the last point before it.
POINTS = (
    *(pytest.param(point, marks=pytest.mark.long) for point in BEFORE_COMMIT[:-1]),
    BEFORE_COMMIT[-1],
    AFTER_COMMIT,
)
DEATH_SECONDS = PATIENCE_SECONDS


def dying_server(
    make_server: Callable[..., RunningServer],
    url: str,
    command: str,
    point: str,
    **environment: str,
) -> RunningServer:
    return make_server(url, PYTHONPATH=str(DYING), DIE_WITH=command, DIE=point, **environment)


def await_death(server: RunningServer) -> None:
    give_up_at = time.monotonic() + DEATH_SECONDS
    while server.process is not None and server.process.poll() is None:
        assert time.monotonic() < give_up_at, f"the server is still alive:\n{server.log_tail()}"
        time.sleep(0.02)
