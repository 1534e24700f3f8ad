"""The baseline: pgbench places the same hold, one per transaction, with the same rows in the same
tables, and the same role and row-level security."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.hall import ARENA_SESSION_ID, SEATED_TYPE_IDS, SEATS
from bench.lab import ORGANIZATION_ID, POOLS, SESSION_ID, Lab, pgbench_program

SCRIPT = Path(__file__).with_name("hold.sql")
SEATS_SCRIPT = Path(__file__).with_name("seats.sql")
EXPIRE_SCRIPT = Path(__file__).with_name("expire.sql")


@dataclass(frozen=True)
class PgbenchRun:
    rate: float
    latency_ms: float


def hold_script(is_hot: bool) -> str:
    names = {
        "pool": "1" if is_hot else f"random(1, {POOLS})",
        "organization": str(ORGANIZATION_ID),
        "session": str(SESSION_ID),
    }
    return _filled_in(SCRIPT, names)


def seats_script(count: int) -> str:
    """A hold of `count` specific seats of the arena."""
    names = {
        "count": str(count),
        "groups": str(SEATS[ARENA_SESSION_ID] // count),
        "organization": str(ORGANIZATION_ID),
        "session": str(ARENA_SESSION_ID),
        "ticket_type": str(SEATED_TYPE_IDS[ARENA_SESSION_ID]),
    }
    return _filled_in(SEATS_SCRIPT, names)


def expire_script() -> str:
    return _filled_in(EXPIRE_SCRIPT, {"organization": str(ORGANIZATION_ID)})


def _filled_in(path: Path, names: Mapping[str, str]) -> str:
    script = path.read_text()
    for name, value in names.items():
        script = script.replace(f"@{name}@", value)
    return script


def run_pgbench(lab: Lab, script: str, clients: int, seconds: float) -> PgbenchRun:
    path = lab.directory / "pgbench.sql"
    path.write_text(script)
    address = urlsplit(lab.url)
    environment = {
        **os.environ,
        "PGPASSWORD": address.password or "",
        "PGOPTIONS": "-c role=holdfast_app",
    }
    ended = subprocess.run(
        [
            str(pgbench_program()),
            *("-h", str(address.hostname), "-p", str(address.port), "-U", str(address.username)),
            *("-n", "-M", "prepared", "-f", str(path), "-T", str(round(seconds))),
            *("-c", str(clients), "-j", str(min(clients, 2))),
            address.path.lstrip("/"),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    rate = re.search(r"tps = ([\d.]+)", ended.stdout)
    latency = re.search(r"latency average = ([\d.]+)", ended.stdout)
    if "actually processed: 0" in ended.stdout:
        return PgbenchRun(0.0, 0.0)  # many clients on a slow machine, during the warm-up second
    if ended.returncode or rate is None or latency is None:
        raise RuntimeError(f"pgbench failed:\n{ended.stdout[-500:]}\n{ended.stderr[-500:]}")
    return PgbenchRun(float(rate[1]), float(latency[1]))
