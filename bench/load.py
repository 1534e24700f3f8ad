"""The load: wrk, with distinct holders and keys."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from bench.cost.figures import Cost
from bench.cost.meter import Meter
from bench.hall import ARENA_SESSION_ID, HOUSE_SESSION_ID, SEATED_TYPE_IDS, SEATS
from bench.lab import POOLS, SESSION_ID, Lab, RunningServer

COUNTED_SECONDS = 1

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

# Repeats the same keys: after the first round every request is a replay.
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

# Five hundred carts, each changed repeatedly to another quantity.
CHANGE = """
local key, session = "%(key)s", "%(session)s"
local counter = 0
function request()
  counter = counter + 1
  local cart, quantity = counter %% 500, math.floor(counter / 500) %% 4 + 1
  local body = string.format(
    '{"session_id":"%%s","items":[{"cart_item_id":"1","quantity":%%d,' ..
    '"ticket_type_id":"b0000000-0000-4000-8002-000000000001"}],"user_id":"buyer%%d"}',
    session, quantity, cart)
  return wrk.format("PUT", "/api/carts/bench-" .. cart .. "/hold", {
    ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = "%(seed)d-" .. counter }, body)
end
"""

# Seats of a hall, specific or best available: `want` is that part of the body.
SEATS_WANTED = """
local key, session = "%(key)s", "%(session)s"
local counter, prefix, threads = 0, nil, 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
function init(args) math.randomseed(os.time() * 1000 + number * 7919 + %(seed)d) end
function request()
  if prefix == nil then prefix = string.format("%%d-%%d-", number, math.random(1, 2^30)) end
  counter = counter + 1
  local name = prefix .. counter
  local body = string.format(
    '{"session_id":"%%s",%%s,"customer_email":"buyer%%s@example.com"}', session, %(want)s, name)
  return wrk.format("POST", "/api/holds", {
    ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json",
    ["Idempotency-Key"] = name }, body)
end
"""
RANDOM_SEAT = (
    """string.format('"seat_ids":["b0000000-0000-4000-8012-%%012x"]', math.random(1, %(seats)d))"""
)
FOUND_SEATS = """'"ticket_type_id":"%(ticket_type)s","quantity":%(count)d'"""

# All clients want the same seat. Responses are counted as won, refused or failed.
STAMPEDE = """
local key, path = "%(key)s", "%(path)s"
local counter, prefix, all = 0, nil, {}
won, lost, failed = 0, 0, 0
function setup(thread) thread:set("number", #all); table.insert(all, thread) end
function init(args) math.randomseed(os.time() * 1000 + number) end
function request()
  if prefix == nil then prefix = string.format("%%d-%%d-", number, math.random(1, 2^30)) end
  counter = counter + 1
  return wrk.format("POST", path, {
    ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json" },
    '{"user_id":"buyer-' .. prefix .. counter .. '"}')
end
function response(status)
  if status == 201 then won = won + 1 elseif status == 409 then lost = lost + 1
  else failed = failed + 1 end
end
function counted()
  local sums = { won = 0, lost = 0, failed = 0 }
  for _, thread in ipairs(all) do
    for name in pairs(sums) do sums[name] = sums[name] + thread:get(name) end
  end
  io.write(string.format('\\nCOUNTED {"won":%%d,"lost":%%d,"failed":%%d}\\n',
    sums.won, sums.lost, sums.failed))
end
"""

# With `numbers` above 0, the path ends with each number in turn.
READ = """
local key, numbers, counter = "%(key)s", %(numbers)d, 0
function request()
  counter = counter + 1
  local last = numbers > 0 and (counter %% numbers + 1) or ""
  return wrk.format("GET", "%(path)s" .. last, { ["Authorization"] = "Bearer " .. key })
end
"""

# `body` may contain %d for a number that is different in each request.
POST = """
local headers = { ["Authorization"] = "%(credential)s", ["Content-Type"] = "application/json" }
local counter = 0
function request()
  counter = counter + 1
  return wrk.format("POST", "%(path)s", headers, string.format('%(body)s', counter))
end
"""

# Secret keys that do not exist.
UNKNOWN_KEYS = """
local counter, prefix = 0, nil
function init(args) math.randomseed(os.time()) end
function request()
  if prefix == nil then prefix = math.random(1, 2^30) end
  counter = counter + 1
  local key = string.format("hk_test_%012d%012d", prefix, counter)
  return wrk.format("GET", "/api/events", { ["Authorization"] = "Bearer " .. key })
end
"""

DONE = """
function done(summary, latency, requests)
  if counted then counted() end
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
    """`rate` counts responses that are not refusals."""

    rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    refused: int
    broken: int
    counted: Mapping[str, int] = field(default_factory=dict)
    answers: int = 0
    cost: Cost | None = None


def place_script(
    lab: Lab, *, is_hot: bool, pause_ms: float = 0.0, seed: int = 0, key: str | None = None
) -> str:
    """`key` is the key of another organization."""
    names = {
        "key": key or lab.secret_key,
        "session": SESSION_ID,
        "pools": 1 if is_hot else POOLS,
        "pause": pause_ms,
        "seed": seed,
    }
    script = PLACE % names
    return script if pause_ms else script.replace("function delay() return pause end\n", "")


def replay_script(lab: Lab) -> str:
    return REPLAY % {"key": lab.secret_key, "session": SESSION_ID}


def change_script(lab: Lab, seed: int) -> str:
    return CHANGE % {"key": lab.secret_key, "session": SESSION_ID, "seed": seed}


def read_script(lab: Lab, path: str, numbers: int = 0) -> str:
    return READ % {"key": lab.secret_key, "path": path, "numbers": numbers}


def post_script(path: str, body: str, key: str | None = None) -> str:
    """Without a key, the caller is unknown."""
    return POST % {"path": path, "body": body, "credential": f"Bearer {key}" if key else ""}


def unknown_keys_script() -> str:
    return UNKNOWN_KEYS


def random_seat_script(lab: Lab, seed: int) -> str:
    want = RANDOM_SEAT % {"seats": SEATS[ARENA_SESSION_ID]}
    names = {"key": lab.secret_key, "session": ARENA_SESSION_ID, "seed": seed, "want": want}
    return SEATS_WANTED % names


def found_seats_script(lab: Lab, count: int, seed: int) -> str:
    want = FOUND_SEATS % {"ticket_type": SEATED_TYPE_IDS[HOUSE_SESSION_ID], "count": count}
    names = {"key": lab.secret_key, "session": HOUSE_SESSION_ID, "seed": seed, "want": want}
    return SEATS_WANTED % names


def stampede_script(lab: Lab, path: str) -> str:
    return STAMPEDE % {"key": lab.secret_key, "path": path}


def run_wrk(lab: Lab, server: RunningServer, script: str, clients: int, seconds: float) -> LoadRun:
    # A separate file, because two loads may run at once.
    with NamedTemporaryFile("w", dir=lab.directory, suffix=".lua", delete=False) as file:
        file.write(script + DONE)
    command = [
        str(wrk_program()),
        *("-t", "1", "-c", str(clients), "-d", f"{round(seconds)}s", "--timeout", "20s"),
        *("-s", file.name, server.base_url),
    ]
    meter = meter_of(lab, server)
    with meter.running():
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    result = next((x for x in ended.stdout.splitlines() if x.startswith("RESULT ")), None)
    if ended.returncode or result is None:
        raise RuntimeError(f"wrk failed:\n{ended.stdout[-500:]}\n{ended.stderr[-500:]}")
    seen = json.loads(result.removeprefix("RESULT "))
    counted = next((x for x in ended.stdout.splitlines() if x.startswith("COUNTED ")), "COUNTED {}")
    answers = seen["requests"] - seen["refused"]
    return LoadRun(
        rate=answers / seen["seconds"],
        p50_ms=seen["p50_ms"],
        p95_ms=seen["p95_ms"],
        p99_ms=seen["p99_ms"],
        refused=seen["refused"],
        broken=seen["broken"],
        counted=json.loads(counted.removeprefix("COUNTED ")),
        answers=answers,
        cost=meter.cost(answers),
    )


def with_counts(
    measured: LoadRun, lab: Lab, server: RunningServer, script: str, clients: int
) -> LoadRun:
    """Add what the same load calls and sends. This slows the server down, so measure first."""
    if measured.cost is None:
        return measured
    meter = meter_of(lab, server)
    with meter.counting(COUNTED_SECONDS):
        run_wrk(lab, server, script, clients, 2 * COUNTED_SECONDS)
    return replace(measured, cost=replace(measured.cost, **asdict(meter.counts())))


def meter_of(lab: Lab, server: RunningServer) -> Meter:
    return Meter(server.instruments, server.process.pid, lab.postgres.pid)


def wrk_program() -> Path:
    """wrk, installed from the system's packages if possible."""
    found = shutil.which("wrk")
    if found is None and shutil.which("apt-get"):
        sys.stderr.write("Installing wrk from the system's packages ...\n")
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "wrk"]):
            subprocess.run(["apt-get", "-q", *arguments], check=False, capture_output=True)  # noqa: S607
        found = shutil.which("wrk")
    if found is None:
        raise RuntimeError("wrk is missing and could not be installed: install it by hand")
    return Path(found)
