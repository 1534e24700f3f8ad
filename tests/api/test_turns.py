"""Reads of one organization leave the event loop to the others."""

import asyncio
import time
from collections.abc import Callable, Iterable
from uuid import uuid4

import pytest

from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api import turns
from holdfast.entrypoints.api.turns import PAUSE_SECONDS_MAX, READS_IN_ROUND_MAX, ReadTurns

BUSY, QUIET = (OrganizationId(uuid4()) for _ in range(2))
READS = 10 * READS_IN_ROUND_MAX


class Machine:
    """A clock, and the processor time of the process, by hand. Whoever asks for the latter finds
    that it was busy for `busy_seconds` since it was asked last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        self.used = 10.0
        self.busy_seconds = 0.004
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "process_time", self.process_time)

    def process_time(self) -> float:
        self.now += self.busy_seconds
        self.used += self.busy_seconds
        return self.used


class Loop:
    """Remembers after which pause each round of turns was to begin, and begins it at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pauses: list[float] = []
        loop = asyncio.get_running_loop()

        def call_later(seconds: float, call: Callable[..., object], *args: object) -> None:
            self.pauses.append(seconds)
            loop.call_soon(call, *args)

        monkeypatch.setattr(loop, "call_later", call_later)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


async def read(read_turns: ReadTurns, organization_id: OrganizationId) -> None:
    turn = read_turns.take(organization_id)
    if turn is not None:
        await turn


async def order_of(read_turns: ReadTurns, organizations: Iterable[OrganizationId]) -> list[object]:
    """In which order they went on."""
    went: list[object] = []

    async def go(organization_id: OrganizationId) -> None:
        await read(read_turns, organization_id)
        went.append(organization_id)

    await asyncio.gather(*map(go, organizations))
    return went


def test_who_reads_little_does_not_wait_for_who_reads_much() -> None:
    async def scenario() -> None:
        went = await order_of(ReadTurns(), [*[BUSY] * READS, QUIET])
        assert len(went) == READS + 1
        assert went.index(QUIET) == READS_IN_ROUND_MAX

    asyncio.run(scenario())


def test_without_turns_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setattr(turns, "READS_IN_ROUND_MAX", READS)

    async def scenario() -> None:
        went = await order_of(ReadTurns(), [*[BUSY] * READS, QUIET])
        assert went.index(QUIET) == READS

    asyncio.run(scenario())


@pytest.mark.parametrize("is_shared", [True, False])
def test_rounds_pause_only_while_others_are_there(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, *, is_shared: bool
) -> None:
    async def scenario() -> None:
        loop = Loop(monkeypatch)
        read_turns = ReadTurns()
        read_turns.saw(BUSY)
        machine.now += 60
        read_turns.saw(QUIET if is_shared else BUSY)
        await order_of(read_turns, [BUSY] * READS)
        assert bool(loop.pauses) is is_shared

    asyncio.run(scenario())


def test_a_process_that_is_always_busy_pauses_longer_up_to_a_bound(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        loop = Loop(monkeypatch)
        read_turns = ReadTurns()
        read_turns.saw(QUIET)
        await order_of(read_turns, [BUSY] * 2 * READS)
        assert loop.pauses == sorted(loop.pauses)
        assert 0 < loop.pauses[0] < machine.busy_seconds
        assert loop.pauses[-1] == PAUSE_SECONDS_MAX

    asyncio.run(scenario())


def test_an_idle_process_does_not_pause(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        loop = Loop(monkeypatch)
        read_turns = ReadTurns()
        for _ in range(READS):
            read_turns.saw(QUIET)
            read_turns.saw(BUSY)
            await read(read_turns, BUSY)
            await asyncio.sleep(0)
            machine.now += 0.01
        assert not loop.pauses

    asyncio.run(scenario())


def test_who_hangs_up_takes_no_turn() -> None:
    async def scenario() -> None:
        read_turns = ReadTurns()
        reads = [asyncio.ensure_future(read(read_turns, BUSY)) for _ in range(READS)]
        await asyncio.sleep(0)
        for each in reads[READS_IN_ROUND_MAX:-1]:
            each.cancel()
        await asyncio.wait_for(reads[-1], 60)

    asyncio.run(scenario())


def test_turns_go_on_in_another_event_loop() -> None:
    read_turns = ReadTurns()

    async def begin() -> None:
        for _ in range(READS):
            read_turns.take(BUSY)

    asyncio.run(begin())
    asyncio.run(asyncio.wait_for(order_of(read_turns, [BUSY] * READS), 60))
