"""The load: wrk, with distinct holders and keys."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.lab import POOLS, SESSION_ID, Lab, RunningServer

PLACE = """
local key, session, pools, pause = "%(key)s", "%(session)s", %(pools)d, %(pause)f
local counter, thread_number = 0, 0
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
function init(args) math.randomseed(os.time() * 1000 + number * 7919 + %(seed)d) end
local prefix = nil
function delay() return pause end
function request()
  if prefix == nil then prefix = string.format("%%d-%%d-", number, math.random(1, 2^30)) end
  counter = counter + 1
  local pool = pools == 1 and 1 or math.random(1, pools)
  local name = prefix .. counter
  local body = string.format(
    '{"session_id":"%%s","ticket_type_id":"b0000000-0000-4000-8002-%%012x","quantity":1,' ..
    '"customer_email":"buyer%%s@example.com"}', session, pool, name)
  return wrk.format("POST", "/api/holds", {
    ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = name }, body)
end
"""

# The same keys again and again: after the first round everything is a replay.
REPLAY = """
local key, session = "%(key)s", "%(session)s"
local counter = 0
function request()
  counter = counter %% 500 + 1
  local body = string.format(
    '{"session_id":"%%s","ticket_type_id":"b0000000-0000-4000-8002-000000000001",' ..
    '"quantity":1,"customer_email":"replay@example.com"}', session)
  return wrk.format("POST", "/api/holds", {
    ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = "replay-" .. counter }, body)
end
"""

READ = """
local key = "%(key)s"
function request()
  return wrk.format("GET", "%(path)s", { ["Authorization"] = "Bearer " .. key })
end
"""

DONE = """
function done(summary, latency, requests)
  io.write(string.format(
    '\\nRESULT {"requests":%d,"seconds":%f,"refused":%d,"broken":%d,' ..
    '"p50_ms":%f,"p95_ms":%f,"p99_ms":%f}\\n',
    summary.requests, summary.duration / 1e6, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(95) / 1000, latency:percentile(99) / 1000))
end
"""


@dataclass(frozen=True)
class LoadRun:
    """`rate` counts answers that were not refused."""

    rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    refused: int
    broken: int


def place_script(lab: Lab, *, is_hot: bool, pause_ms: float = 0.0, seed: int = 0) -> str:
    names = {
        "key": lab.secret_key,
        "session": SESSION_ID,
        "pools": 1 if is_hot else POOLS,
        "pause": pause_ms,
        "seed": seed,
    }
    script = PLACE % names
    return script if pause_ms else script.replace("function delay() return pause end\n", "")


def replay_script(lab: Lab) -> str:
    return REPLAY % {"key": lab.secret_key, "session": SESSION_ID}


def read_script(lab: Lab, path: str) -> str:
    return READ % {"key": lab.secret_key, "path": path}


def run_wrk(lab: Lab, server: RunningServer, script: str, clients: int, seconds: float) -> LoadRun:
    path = lab.directory / "wrk.lua"
    path.write_text(script + DONE)
    ended = subprocess.run(
        [
            str(wrk_program()),
            *("-t", "1", "-c", str(clients), "-d", f"{round(seconds)}s", "--timeout", "20s"),
            *("-s", str(path), server.base_url),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    result = next((x for x in ended.stdout.splitlines() if x.startswith("RESULT ")), None)
    if ended.returncode or result is None:
        raise RuntimeError(f"wrk failed:\n{ended.stdout[-500:]}\n{ended.stderr[-500:]}")
    seen = json.loads(result.removeprefix("RESULT "))
    return LoadRun(
        rate=(seen["requests"] - seen["refused"]) / seen["seconds"],
        p50_ms=seen["p50_ms"],
        p95_ms=seen["p95_ms"],
        p99_ms=seen["p99_ms"],
        refused=seen["refused"],
        broken=seen["broken"],
    )


def wrk_program() -> Path:
    """wrk, installed from the system's packages where that is allowed."""
    found = shutil.which("wrk")
    if found is None and shutil.which("apt-get"):
        sys.stderr.write("Installing wrk from the system's packages ...\n")
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "wrk"]):
            subprocess.run(["apt-get", "-q", *arguments], check=False, capture_output=True)  # noqa: S607
        found = shutil.which("wrk")
    if found is None:
        raise RuntimeError("wrk is missing and may not be installed here: install it by hand")
    return Path(found)
