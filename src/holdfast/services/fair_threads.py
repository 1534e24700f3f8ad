"""Runs blocking calls on threads in fair shares. Each organization has a queue and a limit of
threads. Threads serve the queues in turns, so nobody waits for more than a few calls of others."""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable

T = TypeVar("T")


@immutable
class Shares:
    """`at_once` is how many threads one organization may use; `calls_max` counts calls that run
    and calls in a queue, apart from the first `at_once` of each organization."""

    threads: int
    at_once: int
    calls_max: int

    @property
    def calls_of_one_max(self) -> int:
        """The limit of one organization, which leaves room for others."""
        return max(1, self.calls_max * 3 // 4)


@dataclass(slots=True)
class _Job:
    organization_id: OrganizationId
    call: Callable[[], Any]
    future: "Future[Any]"


class FairThreads:
    """`submit` may be called from any thread. Threads start with the first call."""

    def __init__(self, name: str, shares: Shares) -> None:
        self._name = name
        self._shares = shares
        self._changed = threading.Condition()
        self._queues: OrderedDict[OrganizationId, deque[_Job]] = OrderedDict()
        self._running: Counter[OrganizationId] = Counter()
        self._calls: Counter[OrganizationId] = Counter()
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def submit(self, organization_id: OrganizationId, call: Callable[[], T]) -> "Future[T] | None":
        """None above the limit, in total or for this organization."""
        job = _Job(organization_id, call, Future())
        with self._changed:
            if self._is_closed or not self._has_room_for(organization_id):
                return None
            self._calls[organization_id] += 1
            self._queues.setdefault(organization_id, deque()).append(job)
            if len(self._threads) < self._shares.threads:
                self._start_thread()
            self._changed.notify()
        return job.future

    def _has_room_for(self, organization_id: OrganizationId) -> bool:
        """An organization below its limit of threads always has room, so two busy ones cannot shut
        out a third."""
        calls = self._calls[organization_id]
        return calls < self._shares.at_once or (
            calls < self._shares.calls_of_one_max and self._calls.total() < self._shares.calls_max
        )

    def close(self) -> None:
        """Running calls end by themselves; those in a queue are cancelled."""
        with self._changed:
            self._is_closed = True
            waiting = [job for queue in self._queues.values() for job in queue]
            self._queues.clear()
            self._changed.notify_all()
        for job in waiting:
            job.future.cancel()

    def _start_thread(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while job := self._take():
            is_wanted = job.future.set_running_or_notify_cancel()
            answer = _outcome_of(job) if is_wanted else None
            # Leave first, so that the receiver of the answer finds room.
            self._leave(job.organization_id)
            if answer is not None:
                answer()
            del job, answer  # they would stay in memory until the next call

    def _take(self) -> _Job | None:
        with self._changed:
            while not self._is_closed:
                # Skips at most as many as there are busy threads.
                for organization_id, queue in self._queues.items():
                    if self._running[organization_id] < self._shares.at_once:
                        return self._take_from(organization_id, queue)
                self._changed.wait()
            return None

    def _take_from(self, organization_id: OrganizationId, queue: deque[_Job]) -> _Job:
        job = queue.popleft()
        del self._queues[organization_id]
        if queue:
            # To the end of the round: all others are served before its next call.
            self._queues[organization_id] = queue
        self._running[organization_id] += 1
        return job

    def _leave(self, organization_id: OrganizationId) -> None:
        with self._changed:
            for counter in (self._running, self._calls):
                counter[organization_id] -= 1
                if not counter[organization_id]:
                    del counter[organization_id]


def _outcome_of(job: _Job) -> Callable[[], None]:
    future = job.future
    try:
        return partial(future.set_result, job.call())
    except BaseException as error:
        return partial(future.set_exception, error)
    finally:
        # An error refers to this frame, and the future to the error: a cycle with all that the call
        # was given, perhaps megabytes, until the next full garbage collection.
        del job, future
