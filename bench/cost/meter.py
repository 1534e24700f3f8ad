"""Measures a load from outside: CPU time from the kernel, the rest from the instruments."""

import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.cost.calibration import sampled, typical
from bench.cost.cpu import Cpu, cpu_of, is_readable
from bench.cost.figures import Cost, Counts
from bench.cost.instruments import (
    CALLS,
    COUNTED_COMMANDS,
    COUNTED_GROUPS,
    GROUPS,
    LOCKED_SECONDS,
    NUMBERS,
    NUMBERS_SUFFIX,
    SWITCH,
    TRACE_SUFFIX,
    mapped,
)
from bench.cost.traffic import traffic_in

MICROSECONDS = 1e6


class Meter:
    """The cost of the answers that a server gives while `running`."""

    def __init__(self, instruments: Path, server_pid: int, postgres_pid: int) -> None:
        self._instruments = instruments
        self._pids = (server_pid, postgres_pid)
        self._cpu: Cpu | None = None
        self._numbers = [0.0 for _ in NUMBERS]
        self._loop_seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        cpu, numbers = self._cpu_now(), self._numbers_now()
        with sampled() as samples:
            yield
        after = self._cpu_now()
        self._cpu = after.since(cpu) if after and cpu else None
        self._numbers = [now - then for now, then in zip(self._numbers_now(), numbers, strict=True)]
        self._loop_seconds = typical(samples)

    @contextmanager
    def counting(self, seconds: float) -> Iterator[None]:
        """Count for so long, under a load that lasts longer: each lane starts and stops between two
        groups."""
        switch = mapped(self._instruments / SWITCH, 1)
        switch[0] = 1
        timer = threading.Timer(seconds, switch.__setitem__, (0, 0))
        timer.start()
        yield
        timer.join()

    def cost(self, answers: int) -> Cost | None:
        if self._cpu is None or not answers:
            return None
        each = MICROSECONDS / answers
        groups = self._numbers[GROUPS]
        return Cost(
            front_us=self._cpu.front * each,
            engine_us=self._cpu.engine * each,
            duties_us=self._cpu.duties * each,
            postgres_us=self._cpu.postgres * each,
            loop_us=self._loop_seconds * MICROSECONDS,
            locked_us=self._numbers[LOCKED_SECONDS] * each if groups else None,
            group_size=answers / groups if groups else None,
        )

    def counts(self) -> Counts:
        """All that was counted since the server started."""
        numbers = self._numbers_now()
        groups, commands = numbers[COUNTED_GROUPS], numbers[COUNTED_COMMANDS]
        if not groups or not commands:
            return Counts()
        sent = traffic_in(*self._instruments.glob(f"*{TRACE_SUFFIX}"))
        return Counts(
            statements=sent.statements / groups,
            round_trips=sent.round_trips / groups,
            calls=numbers[CALLS] / commands,
        )

    def _cpu_now(self) -> Cpu | None:
        return cpu_of(*self._pids) if is_readable() else None

    def _numbers_now(self) -> list[float]:
        """The sums over all threads."""
        sums = [0.0 for _ in NUMBERS]
        for path in self._instruments.glob(f"*{NUMBERS_SUFFIX}"):
            written = path.read_bytes()
            if not written:
                continue  # a thread that has just started
            of_thread = struct.unpack(f"{len(NUMBERS)}d", written)
            sums = [one + other for one, other in zip(sums, of_thread, strict=True)]
        return sums
