"""One organization's reads, however many and slow, leave the others their share."""

import asyncio
import gc
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

import httpx
import pytest

from holdfast.domain.access.scopes import ALL_SCOPES
from holdfast.domain.catalog.changes import CatalogChange
from holdfast.domain.catalog.model import Event
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api import app
from holdfast.entrypoints.api.fairness import calls as fair_calls
from holdfast.entrypoints.api.fairness.calls import IMPORTS, READS, FairCalls
from holdfast.entrypoints.api.fairness.turns import ReadTurns
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.ports.catalog import CatalogAnswer, CatalogOutcome, EventFilter
from holdfast.ports.paging import Page, PageRequest
from holdfast.services.fair_threads import FairThreads, Shares
from tests.api.fairness.gate import BOUND_SECONDS, Gate
from tests.api.world import ORGANIZATION, SESSION, StubCatalog, World

BUSY, QUIET, THIRD = (OrganizationId(UUID(int=number)) for number in (1, 2, 3))


@contextmanager
def threads_for(shares: Shares) -> Iterator[tuple[FairThreads, Gate]]:
    threads, gate = FairThreads("test", shares), Gate()
    try:
        yield threads, gate
    finally:
        gate.open()
        threads.close()


def submitted(
    threads: FairThreads, organization_id: OrganizationId, call: Callable[[], object]
) -> "Future[object]":
    future = threads.submit(organization_id, call)
    assert future is not None
    return future


def test_a_blocked_organization_leaves_threads_to_the_others() -> None:
    with threads_for(Shares(threads=2, at_once=1, calls_max=100)) as (threads, gate):
        busy = [submitted(threads, BUSY, gate.pass_through) for _ in range(10)]
        gate.await_entered(1)
        assert submitted(threads, QUIET, lambda: "read").result(BOUND_SECONDS) == "read"
        assert not any(future.done() for future in busy)
        gate.open()
        assert not wait(busy, BOUND_SECONDS).not_done


def test_without_shares_it_takes_every_thread() -> None:
    """Control for the test above."""
    with threads_for(Shares(threads=2, at_once=2, calls_max=100)) as (threads, gate):
        for _ in range(2):
            submitted(threads, BUSY, gate.pass_through)
        gate.await_entered(2)
        quiet = submitted(threads, QUIET, lambda: "read")
        assert not quiet.running()
        gate.open()
        assert quiet.result(BOUND_SECONDS) == "read"


def test_queues_take_turns() -> None:
    order: list[str] = []
    with threads_for(Shares(threads=1, at_once=1, calls_max=100)) as (threads, gate):
        submitted(threads, BUSY, gate.pass_through)
        gate.await_entered(1)
        rest = [submitted(threads, BUSY, lambda: order.append("busy")) for _ in range(5)]
        rest += [submitted(threads, QUIET, lambda: order.append("quiet")) for _ in range(2)]
        rest.append(submitted(threads, THIRD, lambda: order.append("third")))
        gate.open()
        assert not wait(rest, BOUND_SECONDS).not_done
    assert order == ["busy", "quiet", "third", "busy", "quiet", "busy", "busy", "busy"]


def test_one_organizations_full_queue_leaves_room_for_others() -> None:
    with threads_for(Shares(threads=1, at_once=1, calls_max=4)) as (threads, gate):
        taken = [threads.submit(BUSY, gate.pass_through) for _ in range(4)]
        assert [future is None for future in taken] == [False, False, False, True]
        quiet = submitted(threads, QUIET, gate.pass_through)
        assert threads.submit(QUIET, gate.pass_through) is None
        third = submitted(threads, THIRD, gate.pass_through)
        assert threads.submit(THIRD, gate.pass_through) is None
        gate.open()
        assert not wait([quiet, third], BOUND_SECONDS).not_done


def test_finished_calls_free_their_room() -> None:
    with threads_for(Shares(threads=1, at_once=1, calls_max=1)) as (threads, gate):
        gate.open()
        for organization_id in (BUSY, QUIET, BUSY):
            submitted(threads, organization_id, gate.pass_through).result(BOUND_SECONDS)


def test_an_error_reaches_its_caller_and_the_thread_goes_on() -> None:
    with threads_for(Shares(threads=1, at_once=1, calls_max=9)) as (threads, _):
        with pytest.raises(ZeroDivisionError):
            submitted(threads, BUSY, lambda: 1 // 0).result(BOUND_SECONDS)
        assert submitted(threads, BUSY, lambda: "next").result(BOUND_SECONDS) == "next"


def test_a_cancelled_call_is_never_started() -> None:
    begun: list[str] = []
    with threads_for(Shares(threads=1, at_once=1, calls_max=9)) as (threads, gate):
        submitted(threads, BUSY, gate.pass_through)
        gate.await_entered(1)
        assert submitted(threads, QUIET, lambda: begun.append("given up")).cancel()
        last = submitted(threads, THIRD, lambda: begun.append("third"))
        gate.open()
        last.result(BOUND_SECONDS)
    assert begun == ["third"]


def test_closing_cancels_queued_calls() -> None:
    with threads_for(Shares(threads=1, at_once=1, calls_max=9)) as (threads, gate):
        running = submitted(threads, BUSY, gate.pass_through)
        gate.await_entered(1)
        queued = submitted(threads, BUSY, gate.pass_through)
        threads.close()
        assert queued.cancelled()
        assert threads.submit(BUSY, gate.pass_through) is None
        gate.open()
        running.result(BOUND_SECONDS)


def test_a_caller_without_room_is_told_to_retry() -> None:
    gate = Gate()

    async def scenario() -> None:
        calls = FairCalls(
            "test", Shares(threads=1, at_once=1, calls_max=1), BOUND_SECONDS, ReadTurns()
        )
        first = asyncio.ensure_future(calls.run(BUSY, gate.pass_through))
        await asyncio.to_thread(gate.await_entered, 1)
        with pytest.raises(Problem) as refused:
            await calls.run(BUSY, gate.pass_through)
        assert refused.value.code is RefusalCode.SERVICE_UNAVAILABLE
        assert (b"retry-after", b"1") in refused.value.reply("request-1").headers
        gate.open()
        await first
        calls.close()

    asyncio.run(scenario())


class SlowCatalog(StubCatalog):
    """Answers one organization and blocks the other at a gate."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def events(
        self, organization_id: OrganizationId, only: EventFilter, page: PageRequest
    ) -> Page[Event]:
        if organization_id == ORGANIZATION:
            self.gate.pass_through()
        return super().events(organization_id, only, page)

    def apply(
        self,
        change: CatalogChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogOutcome], bytes],
        seen: str | None = None,
    ) -> CatalogAnswer:
        if change.organization_id == ORGANIZATION:
            self.gate.pass_through()
        return super().apply(change, origin, idempotency, render, seen)


async def reads_beside(world: World, gate: Gate, busy: int, entered: int) -> httpx.Response | None:
    """The quiet organization's answer while the busy one has this many blocked reads; None when it
    gets no answer before they are released."""
    quiet = world.keys.new_key(*ALL_SCOPES, organization_id=QUIET)
    transport = httpx.ASGITransport(app=world.api)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:

        async def read(secret: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {secret}"}
            return await client.get("/api/events", headers=headers)

        reads = [asyncio.ensure_future(read(world.secret)) for _ in range(busy)]
        await asyncio.to_thread(gate.await_entered, entered)
        asked = asyncio.ensure_future(read(quiet))
        if entered < READS.threads:
            answer = await asked
        else:
            await asyncio.sleep(0)
            answer = None
            assert not asked.done()
        gate.open()
        await asyncio.gather(*reads, asked)
        return answer


@pytest.fixture
def slow_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Shares], World]]:
    worlds: list[World] = []

    def make(shares: Shares) -> World:
        monkeypatch.setattr(app, "READS", shares)
        monkeypatch.setattr("tests.api.world.StubCatalog", lambda: SlowCatalog(Gate()))
        worlds.append(World())
        return worlds[0]

    yield make
    for world in worlds:
        world.close()


def test_a_crowd_of_slow_reads_does_not_delay_another_organization(
    slow_world: Callable[[Shares], World],
) -> None:
    world = slow_world(READS)
    assert isinstance(world.catalog, SlowCatalog)
    answer = asyncio.run(reads_beside(world, world.catalog.gate, 50, READS.at_once))
    assert answer is not None
    assert answer.status_code == 200


def test_without_shares_slow_reads_delay_everybody(slow_world: Callable[[Shares], World]) -> None:
    """Control for the test above."""
    world = slow_world(replace(READS, at_once=READS.threads))
    assert isinstance(world.catalog, SlowCatalog)
    assert asyncio.run(reads_beside(world, world.catalog.gate, 50, READS.threads)) is None


def test_imports_of_one_organization_delay_nobody_else(
    slow_world: Callable[[Shares], World],
) -> None:
    """Neither another organization's import nor any read. The stub refuses: it knows no session."""
    world = slow_world(READS)
    assert isinstance(world.catalog, SlowCatalog)
    gate = world.catalog.gate
    quiet = world.keys.new_key(*ALL_SCOPES, organization_id=QUIET)

    async def scenario() -> None:
        transport = httpx.ASGITransport(app=world.api)
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:

            async def imported(secret: str) -> httpx.Response:
                headers = {"Authorization": f"Bearer {secret}", "Content-Type": "text/csv"}
                path = f"/api/sessions/{SESSION}/seats"
                return await client.post(path, content="block,row,number\nA,1,1", headers=headers)

            held_up = [asyncio.ensure_future(imported(world.secret)) for _ in range(5)]
            await asyncio.to_thread(gate.await_entered, IMPORTS.at_once)
            assert (await imported(quiet)).status_code == 404
            headers = {"Authorization": f"Bearer {quiet}"}
            assert (await client.get("/api/events", headers=headers)).status_code == 200
            assert not any(each.done() for each in held_up)
            gate.open()
            await asyncio.gather(*held_up)

    asyncio.run(scenario())


def test_one_organization_never_has_all_the_threads() -> None:
    for shares in (fair_calls.READS, fair_calls.LARGE_READS, fair_calls.IMPORTS):
        assert 2 * shares.at_once <= shares.threads
        assert shares.calls_of_one_max < shares.calls_max


class Body:
    """Something large that a call is given."""


def test_a_failed_call_leaves_nothing_in_memory() -> None:
    """Without waiting for the garbage collector, which seldom looks at old objects."""
    fair = FairCalls("test", READS, BOUND_SECONDS, ReadTurns())

    def fail(_body: Body) -> None:
        raise ZeroDivisionError

    async def failed_call() -> "weakref.ref[Body]":
        body = Body()
        with pytest.raises(ZeroDivisionError):
            await fair.run(BUSY, fail, body)
        return weakref.ref(body)

    gc.disable()
    try:
        kept = asyncio.run(failed_call())
        fair.close()
        deadline = time.monotonic() + BOUND_SECONDS
        while kept() is not None and time.monotonic() < deadline:
            time.sleep(0.01)  # until the thread has left the call
        assert kept() is None
    finally:
        gc.enable()


class NoTurns(ReadTurns):
    async def take(self, organization_id: OrganizationId, turns: int = 1) -> None:
        await asyncio.Event().wait()


def test_a_call_for_a_command_does_not_wait_for_a_turn() -> None:
    fair = FairCalls("test", READS, BOUND_SECONDS, NoTurns())

    async def scenario() -> None:
        assert await fair.run_for_command(BUSY, str.upper, "paid") == "PAID"
        with pytest.raises(Problem):  # control
            await fair.run_for(0.01, BUSY, lambda: "read")

    asyncio.run(scenario())
    fair.close()
