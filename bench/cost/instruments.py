"""`python -m bench.cost.instruments DIRECTORY serve ...`: Holdfast's command line with instruments.

They run inside the server, but belong to the bench, so every version of Holdfast has the same. The
threads tell the kernel their names, and each lane notes its groups and how long they held their
locks. On request, functions called and messages sent to PostgreSQL are counted too, which makes the
server slow. The bench reads all of it from files that both map into memory.
"""

import importlib
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

from bench.cost.calls import is_call, is_ours
from bench.cost.cpu import is_readable
from bench.cost.traffic import Trace

# The numbers of a thread, in this order.
NUMBERS = GROUPS, LOCKED_SECONDS, CALLS, COUNTED_GROUPS, COUNTED_COMMANDS = range(5)
NUMBERS_SUFFIX, TRACE_SUFFIX = ".numbers", ".trace"
SWITCH = "switch"
ENGINE = "holdfast engine"
# The measured functions, under their present names and those of earlier versions.
CONNECT_LANE = (
    ("holdfast.adapters.postgres.engine.store", "PostgresStore.connect"),
    ("holdfast.adapters.postgres.store", "PostgresStore.connect"),
)
SUBMIT = (
    ("holdfast.engine.admission", "Admission.submit_for_callback"),
    ("holdfast.engine.admission", "Admission.submit"),
)


def mapped(path: Path, count: int) -> "memoryview[float]":
    """Numbers in a file that other processes see. Makes the file if needed."""
    with path.open("a+b") as file:
        if file.tell() < 8 * count:
            file.truncate(8 * count)
        return memoryview(mmap.mmap(file.fileno(), 8 * count)).cast("d")


class Gauge:
    """The numbers of one thread."""

    def __init__(self, directory: Path, switch: "memoryview[float]") -> None:
        name = f"{os.getpid()}-{threading.get_native_id()}"
        self.numbers = mapped(directory / f"{name}{NUMBERS_SUFFIX}", len(NUMBERS))
        self._trace_path = directory / f"{name}{TRACE_SUFFIX}"
        self._switch = switch
        self.is_counting = False
        self._trace: Trace | None = None

    def obey(self) -> None:
        """Start or stop counting, as the switch tells."""
        is_wanted = bool(self._switch[0])
        if is_wanted is self.is_counting:
            return
        self.is_counting = is_wanted
        if self._trace is not None:
            (self._trace.start if is_wanted else self._trace.stop)()
        sys.setprofile(self._count if is_wanted else None)

    def follow(self, connection: psycopg.Connection[Any]) -> None:
        self._trace = Trace(connection, self._trace_path)
        if self.is_counting:
            self._trace.start()

    def _count(self, frame: FrameType, event: str, _: object) -> None:
        if is_call(frame, event) and not is_ours(frame):
            self.numbers[CALLS] += 1


class Gauges:
    """A gauge for each thread, made on first use: the server forks before it starts threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._switch = mapped(directory / SWITCH, 1)
        self._of_thread = threading.local()

    def mine(self) -> Gauge:
        try:
            gauge: Gauge = self._of_thread.gauge
        except AttributeError:
            gauge = self._of_thread.gauge = Gauge(self._directory, self._switch)
        return gauge


class MeasuredConnection:
    """A connection of a store that measures its groups."""

    def __init__(self, connection: Any, gauges: Gauges) -> None:
        self._connection = connection
        self._gauges = gauges

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @contextmanager
    def group(self) -> Iterator[Any]:
        gauge = self._gauges.mine()
        gauge.obey()
        started = time.perf_counter()
        try:
            with self._connection.group() as group:
                yield group
        finally:
            gauge.numbers[GROUPS] += 1
            gauge.numbers[COUNTED_GROUPS] += gauge.is_counting
            gauge.numbers[LOCKED_SECONDS] += time.perf_counter() - started


def install(directory: Path) -> None:
    if is_readable():
        threading.setprofile(_name_thread)
    gauges = Gauges(directory)

    def connect(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        connection = original(*args, **kwargs)
        if kwargs.get("application_name") == ENGINE:
            gauges.mine().follow(connection)
        return connection

    def connect_lane(original: Callable[..., Any], *args: Any) -> MeasuredConnection:
        return MeasuredConnection(original(*args), gauges)

    def submit(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        gauge = gauges.mine()
        gauge.obey()
        gauge.numbers[COUNTED_COMMANDS] += gauge.is_counting
        return original(*args, **kwargs)

    wrap("psycopg", "connect", connect)
    wrap_first(CONNECT_LANE, connect_lane)
    wrap_first(SUBMIT, submit)


def _name_thread(*_: object) -> None:
    """The first event of a new thread. Python tells the kernel names from 3.14 on."""
    sys.setprofile(None)
    name = threading.current_thread().name
    Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name[:15])


def wrap_first(places: Iterable[tuple[str, str]], wrapper: Callable[..., Any]) -> None:
    """Wrap what this version of Holdfast has."""
    for module_name, path in places:
        try:
            return wrap(module_name, path, wrapper)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise LookupError(f"none of {places} exists")


def wrap(module_name: str, path: str, wrapper: Callable[..., Any]) -> None:
    """Put `wrapper(original, ...)` in the place of a function or method."""
    owner: Any = importlib.import_module(module_name)
    *classes, name = path.split(".")
    for class_name in classes:
        owner = getattr(owner, class_name)
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(owner, name, wrapped)


def main() -> int:
    directory, *arguments = sys.argv[1:]
    install(Path(directory))
    command_line = importlib.import_module("holdfast.entrypoints.cli.main")
    return int(command_line.main(arguments))


if __name__ == "__main__":
    sys.exit(main())
