"""The delay until lapsed holds are marked as expired, during a sale. Shown without a target."""

import time
from collections.abc import Sequence

from bench.lab import EVENT_ID, SESSION_ID, Lab
from bench.load import place_script, run_wrk
from bench.results import Figure
from bench.rounds import Plan

CLIENTS = 16
TTL_SECONDS = 3
WAIT_SECONDS_MAX = 30

LAG = """
WITH ended AS (
    SELECT extract(epoch FROM expired_at - expires_at) * 1000 AS late_ms
    FROM hold WHERE status = 'expired'
)
SELECT count(*), percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY late_ms) FROM ended
"""


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    lab.clear()
    _set_ttl(lab, TTL_SECONDS)
    plan.log("reaper lag")
    started = time.perf_counter()
    with lab.server() as server:
        script = place_script(lab, is_hot=False, seed=1, pause_ms=20)
        placed = run_wrk(lab, server, script, CLIENTS, plan.seconds + TTL_SECONDS)
        _await_all(lab)
    seconds = time.perf_counter() - started
    _set_ttl(lab, None)
    with lab.connected() as connection:
        row = connection.execute(LAG).fetchone()
    assert row is not None
    count, (p50, p95, p99) = row
    return [
        Figure(
            "reaper lag, holds of 3 s",
            CLIENTS,
            count / seconds,
            p50_ms=float(p50),
            p95_ms=float(p95),
            p99_ms=float(p99),
            cost=placed.cost,
        )
    ]


def _set_ttl(lab: Lab, seconds: int | None) -> None:
    with lab.connected() as connection:
        connection.execute("UPDATE event SET ttl_seconds = %s WHERE id = %s", (seconds, EVENT_ID))
        connection.execute("UPDATE session SET version = version + 1 WHERE id = %s", (SESSION_ID,))


def _await_all(lab: Lab) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < deadline:
        with lab.connected() as connection:
            row = connection.execute("SELECT FROM hold WHERE status = 'active' LIMIT 1").fetchone()
        if row is None:
            return
        time.sleep(0.2)
    raise RuntimeError("the reaper did not expire all holds in time")
