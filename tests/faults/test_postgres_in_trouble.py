"""A failing database server: killed, restarted, stopped, out of connections, out of disk, slow to
sync."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.settings import Settings
from tests.faults.arena import BOUND_SECONDS, UNAVAILABLE, Arena
from tests.support.auditing import rows

Ring = Callable[..., tuple[EmbeddedPostgres, Arena]]
Connection = psycopg.Connection[tuple[object, ...]]
ENGINES_BACKENDS = "FROM pg_stat_activity WHERE application_name = 'holdfast engine'"


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Ring]:
    """An engine on its own PostgreSQL."""
    with ExitStack() as stack:

        def make(directory: Path | None = None, **settings: str) -> tuple[EmbeddedPostgres, Arena]:
            postgres = EmbeddedPostgres(directory or tmp_path / "postgres", settings=settings)
            stack.enter_context(postgres)
            migrate(Settings(database_url=postgres.url), report=lambda _: None)
            arena = Arena(postgres.url, postgres.url)
            stack.callback(arena.close)
            assert arena.answered(arena.burst(3)) == {"placed": 3}
            return postgres, arena

        yield make


def under_load(arena: Arena, trouble: Callable[[], None]) -> None:
    """Send bursts during the fault; all are answered."""
    first = len(arena.commands)
    futures = arena.burst(50)
    happening = threading.Thread(target=trouble)
    happening.start()
    while happening.is_alive():
        futures += arena.burst(5)
        time.sleep(0.02)
    happening.join()
    answers = arena.answered(futures, first)
    assert set(answers) <= {"placed", UNAVAILABLE}, answers


def test_a_killed_or_restarted_server_loses_nothing(ring: Ring) -> None:
    postgres, arena = ring()
    for trouble in (postgres.kill, postgres.stop):
        under_load(arena, trouble)
        postgres.start()
        arena.assert_nothing_lost_and_nothing_twice()


def test_a_stopped_server_is_answered_for_in_time(ring: Ring) -> None:
    """After SIGSTOP the kernel still acknowledges, but nothing answers."""
    postgres, arena = ring()
    processes = _family(postgres.pid)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        assert arena.answered(arena.burst(20), 3) == {UNAVAILABLE: 20}
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    arena.assert_nothing_lost_and_nothing_twice()


def test_running_out_of_connections_loses_nothing(ring: Ring) -> None:
    postgres, arena = ring(max_connections="12", superuser_reserved_connections="2")
    with psycopg.connect(postgres.superuser_url, autocommit=True) as boss:
        others = _take_every_connection(postgres.url, boss)
        answers = arena.answered(arena.burst(10), 3)
        assert answers == {UNAVAILABLE: 10}
        for other in others:
            other.close()
    arena.assert_nothing_lost_and_nothing_twice()


def test_slow_commits_refuse_nobody(ring: Ring) -> None:
    """Each commit takes a tenth of a second longer; groups grow, and nobody is refused."""
    _, arena = ring(commit_delay="100000", commit_siblings="0")
    futures = []
    for _ in range(20):
        futures += arena.burst(20)
        time.sleep(0.02)
    assert arena.answered(futures, 3) == {"placed": 400}
    ((groups,),) = rows(arena.url, "SELECT count(DISTINCT xid) FROM outbox")
    assert groups < 100
    arena.assert_nothing_lost_and_nothing_twice()


def test_a_full_disk_loses_nothing(ring: Ring, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m,mode=0700", "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("only root may mount the small file system that this needs")
    try:
        # Small WAL segments that are not kept, so the log soon needs more disk.
        postgres, arena = ring(disk / "postgres", min_wal_size="32MB", max_wal_size="32MB")
        ballast = disk / "ballast"
        _fill(ballast)
        answers = _until_refused(arena)
        assert set(answers) <= {"placed", UNAVAILABLE}
        ballast.unlink()
        _until_reachable(postgres)
        arena.assert_nothing_lost_and_nothing_twice()
        arena.close()
        postgres.stop()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def _family(pid: int) -> list[int]:
    """A process and its children, parents first."""
    found = [pid]
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent == pid:
                found.append(int(directory.name))
    return found


def _take_every_connection(url: str, boss: Connection) -> list[Connection]:
    """Take all connections, including the engine's once their backends have ended."""
    boss.execute(f"SELECT pg_terminate_backend(pid) {ENGINES_BACKENDS}")
    taken = []
    give_up_at = time.monotonic() + BOUND_SECONDS
    while time.monotonic() < give_up_at:
        left = boss.execute(f"SELECT count(*) {ENGINES_BACKENDS}").fetchone()
        try:
            taken.append(psycopg.connect(url, connect_timeout=2))
        except psycopg.OperationalError:
            if left == (0,):
                return taken
            time.sleep(0.02)
    raise AssertionError("the engine kept its connections")


def _fill(ballast: Path) -> None:
    # Unbuffered: closing would try to write what did not fit.
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            return


def _until_refused(arena: Arena) -> dict[str, int]:
    answers: dict[str, int] = {}
    for _ in range(200):
        first = len(arena.commands)
        for kind, count in arena.answered(arena.burst(100), first).items():
            answers[kind] = answers.get(kind, 0) + count
        if UNAVAILABLE in answers:
            return answers
    raise AssertionError("the disk never filled up")


def _until_reachable(postgres: EmbeddedPostgres) -> None:
    """Restart PostgreSQL if it stopped because the disk was full."""
    give_up_at = time.monotonic() + BOUND_SECONDS
    while time.monotonic() < give_up_at:
        try:
            with psycopg.connect(postgres.url, connect_timeout=2):
                return
        except psycopg.OperationalError:
            if not postgres.is_running:
                postgres.stop()
                postgres.start()
            time.sleep(0.2)
    raise AssertionError("PostgreSQL did not come back")
