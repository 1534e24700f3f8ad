"""The CPU time of processes and threads, read from outside in /proc."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# The kernel keeps 15 characters of a name.
ENGINE_THREADS = ("holdfast-lane", "holdfast-patien")
READER_THREADS = ("holdfast-read", "holdfast-large-", "holdfast-import")
OUR_THREADS = "holdfast-"
# In /proc/<pid>/stat, counted from the state, which follows the name.
PARENT, EXITED_CHILDREN = 1, slice(13, 15)


@dataclass(frozen=True)
class Cpu:
    """Seconds on a CPU since each process started. `duties` are the background threads."""

    front: float
    engine: float
    duties: float
    postgres: float

    def since(self, earlier: "Cpu") -> "Cpu":
        return Cpu(
            self.front - earlier.front,
            self.engine - earlier.engine,
            self.duties - earlier.duties,
            self.postgres - earlier.postgres,
        )


def is_readable() -> bool:
    """Only Linux has it."""
    return (PROC / "self" / "schedstat").exists()


def cpu_of(server_pid: int, postgres_pid: int) -> Cpu:
    seconds = {"front": 0.0, "engine": 0.0, "duties": 0.0}
    for pid in _tree(server_pid):
        for name, used in _threads(pid):
            seconds[_part(name)] += used
    postgres = _exited_children(postgres_pid)
    postgres += sum(used for pid in _tree(postgres_pid) for _, used in _threads(pid))
    return Cpu(**seconds, postgres=postgres)


def _part(thread_name: str) -> str:
    if thread_name.startswith(ENGINE_THREADS):
        return "engine"
    is_duty = thread_name.startswith(OUR_THREADS) and not thread_name.startswith(READER_THREADS)
    return "duties" if is_duty else "front"


def _tree(root: int) -> set[int]:
    """A process and its descendants."""
    parents = {}
    for path in PROC.glob("[0-9]*"):
        if fields := _stat(int(path.name)):
            parents[int(path.name)] = int(fields[PARENT])
    tree = {root}
    while grown := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= grown
    return tree


def _threads(pid: int) -> Iterator[tuple[str, float]]:
    for task in (PROC / str(pid) / "task").glob("*"):
        try:
            nanoseconds = int((task / "schedstat").read_text().split()[0])
            yield (task / "comm").read_text().rstrip("\n"), nanoseconds / 1e9
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended


def _exited_children(pid: int) -> float:
    ticks = sum(map(int, _stat(pid)[EXITED_CHILDREN]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
