"""`holdfast release-expired`: its output, its effects, and concurrent runs."""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.engine import Admission
from tests.contract.asking import placed
from tests.contract.venues import Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows
from tests.support.patience import PATIENT, wait_until
from tests.workers.commands import run_command
from tests.workers.conftest import Start
from tests.workers.lapsing import statuses, times_expired

Lapse = Callable[[int], Venue]
NOBODY = "postgresql://holdfast@127.0.0.1:1/nothing"
MANY = 2_000


def release(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("release-expired", *arguments, DATABASE_URL=url)


def test_it_reports_the_expired_holds_and_released_tickets(
    world: PostgresWorld, lapse: Lapse
) -> None:
    lapse(3)
    done = release(world.url)
    assert (done.returncode, done.stdout) == (0, "Expired 3 hold(s), released 6 ticket(s).\n")
    assert statuses(world.url) == {"expired": 3}
    again = release(world.url)
    assert (again.returncode, again.stdout) == (0, "Expired 0 hold(s), released 0 ticket(s).\n")
    assert_sound(world.url, grace_seconds=1)


def test_a_dry_run_lists_the_holds_and_changes_nothing(world: PostgresWorld, lapse: Lapse) -> None:
    lapse(2)
    short = release(world.url, "--dry-run")
    assert (short.returncode, short.stdout) == (0, "Found 2 lapsed hold(s) with 4 ticket(s).\n")
    long = release(world.url, "--dry-run", "-v")
    found = rows(world.url, "SELECT reference, id, session_id, expires_at FROM hold")
    for reference, hold_id, session_id, expires_at in found:
        (line,) = (line for line in long.stdout.splitlines() if str(hold_id) in line)
        assert line.startswith(reference)
        assert f"session {session_id}" in line
        assert line.endswith(f"lapsed since {expires_at:%Y-%m-%d %H:%M:%S}Z")
    assert "@" not in long.stdout
    assert statuses(world.url) == {"active": 2}


def test_waiting_parties_are_counted_separately(
    world: PostgresWorld, lapse_waitlist: Callable[[], None]
) -> None:
    lapse_waitlist()
    short = release(world.url, "--dry-run", "-v")
    *named, holds, waiting = short.stdout.splitlines()
    assert sorted(line.split("  ")[3] for line in named) == ["2 ticket(s)", "waiting", "waiting"]
    assert holds == "Found 1 lapsed hold(s) with 2 ticket(s)."
    assert waiting == "Found 2 lapsed place(s) on the waitlist, which hold no tickets."
    done = release(world.url)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "Expired 1 hold(s), released 2 ticket(s).",
        "Expired 2 place(s) on the waitlist, which held no tickets.",
    ]
    assert statuses(world.url) == {"expired": 3}


def test_a_hold_that_cannot_be_expired_is_reported_as_a_failure(
    world: PostgresWorld, lapse: Lapse
) -> None:
    venue = lapse(1)
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        done = release(world.url)
    assert done.returncode == 1
    assert done.stdout.endswith("Run this again.\n")
    assert statuses(world.url) == {"active": 1}


def test_an_unavailable_database_is_reported_in_one_line() -> None:
    done = release(NOBODY)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("holdfast: the holds could not be read")


@pytest.mark.alone
def test_three_concurrent_runs_expire_each_hold_once(world: PostgresWorld, lapse: Lapse) -> None:
    lapse(MANY)
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda _: release(world.url), range(3)))
    assert [done.returncode for done in ended] == [0, 0, 0]
    counts = [int(done.stdout.splitlines()[-1].split()[1].replace(",", "")) for done in ended]
    assert sum(counts) == MANY
    assert statuses(world.url) == {"expired": MANY}
    assert times_expired(world.url) == {1: MANY}
    assert_sound(world.url, grace_seconds=1)


@pytest.mark.alone
def test_a_long_run_shows_its_progress(world: PostgresWorld, lapse: Lapse) -> None:
    lapse(MANY)
    *progress, last = release(world.url).stdout.splitlines()
    assert progress
    for line in progress:
        shown = re.fullmatch(r"\.\.\. ([\d,]+) expired, ([\d,]+) tickets released", line)
        assert shown is not None, line
        expired, released = (int(number.replace(",", "")) for number in shown.groups())
        assert 0 <= 2 * expired == released <= 2 * MANY
    assert last == "Expired 2,000 hold(s), released 4,000 ticket(s)."


def test_watch_expires_a_hold_when_it_is_due(world: PostgresWorld, start: Start) -> None:
    engine = Admission(world.store, PATIENT)
    engine.start()
    venue = world.venue({"floor": 2}, {"standing": ("floor",)}, ttl_seconds=2)
    watching = start("release-expired", "--watch", DATABASE_URL=world.url)
    hold = placed(engine, venue.place(("standing", 2)))
    wait_until(lambda: statuses(world.url) == {"expired": 1}, "it is expired")
    ((late,),) = rows(world.url, "SELECT expired_at - expires_at FROM hold WHERE id = %s", hold.id)
    assert late.total_seconds() >= 0
    engine.stop()
    assert watching.stop() == 0


@pytest.mark.alone
def test_a_killed_run_leaves_nothing_half_done(
    world: PostgresWorld, lapse: Lapse, start: Start
) -> None:
    lapse(MANY)
    first = start("release-expired", DATABASE_URL=world.url)
    wait_until(lambda: statuses(world.url).get("expired", 0) > 0, "it is at work")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait(10)
    assert_sound(world.url)
    assert release(world.url).returncode == 0
    assert times_expired(world.url) == {1: MANY}
