"""Awaits the engine and blocking calls without blocking the event loop."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import structlog

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api.fairness.turns import BYTES_PER_TURN, ReadTurns
from holdfast.ports.engine import Answer, Render, SubmitForCallback

# How long after its deadline the engine may still answer.
GRACE_SECONDS = 5.0

# A key begins with its organization.
K = TypeVar("K", bound=tuple[OrganizationId, *tuple[Any, ...]])
T = TypeVar("T")

_log = structlog.get_logger("holdfast.api")

# Runs a call on a thread.
Run = Callable[[Callable[[K], T], K], Awaitable[T]]

_Waiter: TypeAlias = "asyncio.Future[Answer]"


class EngineAnswers:
    """Submits commands and awaits their answers.

    The engine answers a whole group at once from its own thread. Waking the event loop costs a
    system call and contention for the interpreter lock, so it is woken once for all answers that
    are ready by the time it looks. A caller that gives up or disconnects cancels nothing.
    """

    def __init__(self, submit: SubmitForCallback, bound_seconds: float) -> None:
        self._submit = submit
        self._bound_seconds = bound_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        # When each gives up, and its request id. Used on the event loop only. All wait equally
        # long, so the first is the oldest.
        self._waiters: dict[_Waiter, tuple[float, str]] = {}
        self._timer: asyncio.TimerHandle | None = None
        # Filled by the engine's threads, emptied on the event loop.
        self._finished: deque[tuple[_Waiter, Answer]] = deque()
        self._is_woken = False

    def answer(self, command: Command, render: Render | None) -> Awaitable[Answer]:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._begin(loop)
        waiter: _Waiter = loop.create_future()
        self._waiters[waiter] = (loop.time() + self._bound_seconds, command.origin.request_id)
        if self._timer is None:
            self._timer = loop.call_later(self._bound_seconds, self._give_up)
        self._submit.submit_for_callback(command, render, partial(self._finish, waiter))
        return waiter

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiters.clear()
        self._timer = None
        self._is_woken = False

    def _finish(self, waiter: _Waiter, answer: Answer) -> None:
        """Runs on an engine thread. The answer is queued before the flag is read: if the flag is
        set, `_collect` is still to run and finds it."""
        self._finished.append((waiter, answer))
        if not self._is_woken and self._loop is not None:
            self._is_woken = True
            try:
                self._loop.call_soon_threadsafe(self._collect)
            except RuntimeError:  # the event loop is closed: nobody waits any more
                self._finished.clear()

    def _collect(self) -> None:
        self._is_woken = False
        while self._finished:
            waiter, answer = self._finished.popleft()
            # A waiter of an earlier event loop is not among them.
            if self._waiters.pop(waiter, None) is not None and not waiter.done():
                waiter.set_result(answer)

    def _give_up(self) -> None:
        """Give up on those that have waited too long, and schedule the next check."""
        assert self._loop is not None
        self._timer = None
        now = self._loop.time()
        while self._waiters:
            waiter, (until, request_id) = next(iter(self._waiters.items()))
            if until > now:
                self._timer = self._loop.call_later(until - now, self._give_up)
                return
            del self._waiters[waiter]
            if not waiter.done():
                _log.error("engine.unanswered", request_id=request_id)
                waiter.set_result(Answer(refusals.service_unavailable()))


class SharedLookups(Generic[K, T]):
    """Concurrent calls with the same key share one look-up."""

    def __init__(self, run: Run[K, T], look_up: Callable[[K], T]) -> None:
        self._run_blocking = run
        self._look_up = look_up
        self._pending: dict[K, asyncio.Task[T]] = {}

    async def get(self, key: K) -> T:
        pending = self._pending.get(key)
        if pending is None:
            pending = asyncio.ensure_future(self._run_blocking(self._look_up, key))
            self._pending[key] = pending
            pending.add_done_callback(lambda _: self._pending.pop(key, None))
        # Others may share the look-up: a cancelled request must not cancel it.
        return await asyncio.shield(pending)


class FreshLookups(Generic[K, T]):
    """Calls that arrive during a look-up of their key share the next one, so no answer is older
    than its request. Callers resume in turns; `size_of` is the number of bytes that each will send.
    """

    def __init__(
        self,
        run: Run[K, T],
        look_up: Callable[[K], T],
        turns: ReadTurns,
        size_of: Callable[[T], int] = lambda _: 0,
    ) -> None:
        self._run_blocking = run
        self._look_up = look_up
        self._turns = turns
        self._size_of = size_of
        self._running: dict[K, asyncio.Task[T]] = {}
        self._next: dict[K, asyncio.Task[T]] = {}

    async def get(self, key: K) -> T:
        following = self._next.get(key)
        if following is None:
            following = asyncio.ensure_future(self._run(key, self._running.get(key)))
            self._next[key] = following
        found = await asyncio.shield(following)
        await self._turns.take(key[0], 1 + self._size_of(found) // BYTES_PER_TURN)
        return found

    async def _run(self, key: K, before: asyncio.Task[T] | None) -> T:
        if before is not None:
            await asyncio.wait({before})
        own = self._running[key] = self._next.pop(key)
        try:
            return await self._run_blocking(self._look_up, key)
        finally:
            if self._running.get(key) is own:
                del self._running[key]
