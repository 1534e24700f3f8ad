"""One organization's reads leave the event loop free for the others."""

import asyncio
import time
from collections.abc import Callable, Iterable
from uuid import uuid4

import pytest

from holdfast.domain.ids import OrganizationId
from holdfast.domain.slices import Presence
from holdfast.entrypoints.api.fairness import turns
from holdfast.entrypoints.api.fairness.turns import PAUSE_SECONDS_MAX, TURNS_IN_ROUND_MAX, ReadTurns
from holdfast.entrypoints.api.http.problems import Problem
from tests.api.world import World

BUSY, QUIET = (OrganizationId(uuid4()) for _ in range(2))
READS = 10 * TURNS_IN_ROUND_MAX


@pytest.fixture(autouse=True)
def _nobody_was_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Presence, "shared_until", 0.0)


class Machine:
    """A manual clock and process time. Each query of the latter reports another `busy_seconds` of
    work."""

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
    """Starts each round of turns at once, and records the pause it asked for."""

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


async def order_of(read_turns: ReadTurns, organizations: Iterable[OrganizationId]) -> list[object]:
    """The order in which the reads went on."""
    went: list[object] = []

    async def go(organization_id: OrganizationId) -> None:
        await read_turns.take(organization_id)
        went.append(organization_id)

    await asyncio.gather(*map(go, organizations))
    return went


def test_a_read_does_not_wait_for_another_organizations_reads() -> None:
    async def scenario() -> None:
        went = await order_of(ReadTurns(), [*[BUSY] * READS, QUIET])
        assert len(went) == READS + 1
        assert went.index(QUIET) == TURNS_IN_ROUND_MAX

    asyncio.run(scenario())


def test_without_turns_a_read_waits_for_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control for the test above."""
    monkeypatch.setattr(turns, "TURNS_IN_ROUND_MAX", READS)

    async def scenario() -> None:
        went = await order_of(ReadTurns(), [*[BUSY] * READS, QUIET])
        assert went.index(QUIET) == READS

    asyncio.run(scenario())


@pytest.mark.parametrize("is_shared", [True, False])
def test_rounds_pause_only_while_other_organizations_are_active(
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


def test_a_busy_process_pauses_longer_up_to_a_bound(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        loop = Loop(monkeypatch)
        read_turns = ReadTurns()
        read_turns.saw(QUIET)
        await order_of(read_turns, [BUSY] * 2 * READS)
        assert loop.pauses == sorted(loop.pauses)
        assert 0 < loop.pauses[0] < PAUSE_SECONDS_MAX
        assert loop.pauses[-1] == PAUSE_SECONDS_MAX

    asyncio.run(scenario())


def test_an_idle_process_does_not_pause(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        loop = Loop(monkeypatch)
        read_turns = ReadTurns()
        for _ in range(READS):
            read_turns.saw(QUIET)
            read_turns.saw(BUSY)
            await read_turns.take(BUSY)
            await asyncio.sleep(0)
            machine.now += 0.01
        assert not loop.pauses

    asyncio.run(scenario())


def test_a_large_answer_takes_several_turns() -> None:
    async def scenario() -> None:
        read_turns = ReadTurns()
        large = [asyncio.ensure_future(read_turns.take(BUSY, TURNS_IN_ROUND_MAX)) for _ in range(3)]
        done_in_round = []
        for _ in range(3):
            await asyncio.sleep(0)
            done_in_round.append(sum(each.done() for each in large))
            await asyncio.sleep(0)
        assert done_in_round == [1, 2, 3]

    asyncio.run(scenario())


@pytest.mark.parametrize(("turns_taken", "rounds"), [(1, 1), (2, 2), (5, 5), (100, 5)])
def test_a_very_large_answer_uses_up_the_next_rounds_too(
    turns_taken: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        begun = []
        read_turns = ReadTurns()
        begin_round = read_turns._begin_round

        def counted(loop: asyncio.AbstractEventLoop) -> None:
            begun.append(loop)
            begin_round(loop)

        monkeypatch.setattr(read_turns, "_begin_round", counted)
        await read_turns.take(BUSY, turns_taken * TURNS_IN_ROUND_MAX)
        await read_turns.take(BUSY)
        assert len(begun) == rounds

    asyncio.run(scenario())


def test_cancelled_reads_use_no_turns() -> None:
    async def scenario() -> None:
        read_turns = ReadTurns()
        reads = [asyncio.ensure_future(read_turns.take(BUSY)) for _ in range(READS)]
        await asyncio.sleep(0)
        for each in reads[TURNS_IN_ROUND_MAX:-1]:
            each.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert reads[-1].done(), "in the next round"

    asyncio.run(scenario())


def test_too_many_waiting_reads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WAITING_MAX", 1)

    async def scenario() -> None:
        read_turns = ReadTurns()
        reads = [read_turns.take(BUSY) for _ in range(TURNS_IN_ROUND_MAX + 2)]
        outcomes = await asyncio.gather(*reads, read_turns.take(QUIET), return_exceptions=True)
        refused = [outcome for outcome in outcomes if outcome is not None]
        assert len(refused) == 1
        assert isinstance(refused[0], Problem)
        assert outcomes[-1] is None

    asyncio.run(scenario())


def test_turns_go_on_in_another_event_loop() -> None:
    read_turns = ReadTurns()

    async def begin() -> None:
        for _ in range(READS):
            asyncio.ensure_future(read_turns.take(BUSY))  # noqa: RUF006
        await asyncio.sleep(0)

    asyncio.run(begin())
    went = asyncio.run(asyncio.wait_for(order_of(read_turns, [BUSY] * READS), 60))
    assert went == [BUSY] * READS


@pytest.mark.parametrize("path", ["/api/events", "/api/stats"])
def test_the_api_reads_in_turns(world: World, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read that gets no turn is refused eventually; commands need none."""
    _nobody_gets_a_turn(monkeypatch)
    assert world.call("GET", path).status_code == 503
    assert world.place(quantity=1).status_code == 201


def test_invalid_requests_are_refused_in_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.call("POST", "/api/holds", json={}).status_code == 400
    _nobody_gets_a_turn(monkeypatch)
    assert world.call("POST", "/api/holds", json={}).status_code == 503


def _nobody_gets_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURNS_IN_ROUND_MAX", 0)
    monkeypatch.setattr(turns, "WAITING_MAX", 0)
