"""The entry point of the engine. It owns the queue, the lock queues and the threads."""

import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

import structlog

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.ids import SeatId
from holdfast.engine.group import GroupResult, GroupRunner
from holdfast.engine.limits import Limits
from holdfast.engine.lock_queues import LockQueues
from holdfast.engine.queue import FairQueue, Pending
from holdfast.ports.engine import Answer, Deliver, Observer, Render
from holdfast.ports.store import Store

log = structlog.get_logger()


class Admission:
    """Call `submit` from any thread, `start` once and `stop` once."""

    def __init__(
        self, store: Store, limits: Limits | None = None, observers: Sequence[Observer] = ()
    ) -> None:
        self._store = store
        self._observers = observers
        self._limits = limits or Limits()
        self._queue = FairQueue(self._limits.queue_max, self._limits.share_max)
        self._waiting = LockQueues(self._limits.patient_lanes)
        self._main_lane = threading.Thread(
            target=self._run_main_lane, name="holdfast-lane", daemon=True
        )
        self._patient_lanes = [
            threading.Thread(
                target=self._run_patient_lane, name=f"holdfast-patient-{number}", daemon=True
            )
            for number in range(self._limits.patient_lanes)
        ]

    def start(self) -> None:
        self._main_lane.start()
        for lane in self._patient_lanes:
            lane.start()

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()  # a command cannot be cancelled
        self.submit_for_callback(command, render, future.set_result)
        return future

    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        key = command.idempotency
        assert key is None or key.receipt is not None or render is not None
        pending = Pending(
            command,
            render if key is not None else None,
            time.monotonic() + self._limits.deadline_seconds,
            self._queue.leave,
            deliver,
        )
        if not self._queue.put(pending):
            deliver(Answer(refusals.service_unavailable()))

    def stop(self) -> None:
        """Accept no more commands, answer the queued ones, and stop, within `drain_seconds`."""
        give_up_at = time.monotonic() + self._limits.drain_seconds
        self._queue.close()
        _join(self._main_lane, give_up_at)
        self._waiting.close()
        for lane in self._patient_lanes:
            _join(lane, give_up_at)
        for pending in (*self._queue.empty(), *self._waiting.empty()):
            pending.refuse(refusals.service_unavailable())

    def is_alive(self) -> bool:
        """Whether all lanes are running."""
        return self._main_lane.is_alive() and all(lane.is_alive() for lane in self._patient_lanes)

    def unanswered(self) -> int:
        """The number of commands accepted and not answered yet."""
        return self._queue.unanswered()

    def _run_main_lane(self) -> None:
        connection = self._store.connect()
        runner = GroupRunner(connection, self._observers, self._waiting)
        while pendings := self._queue.take(self._limits.group_max):
            try:
                result = runner.run(pendings)
                # Each of these wakes other threads.
                if result.blocked:
                    self._waiting.join(result.blocked)
                if result.again:
                    self._queue.put_first(result.again)
            except BaseException as error:
                _fail(pendings, error)
        connection.close()

    def _run_patient_lane(self) -> None:
        connection = self._store.connect()
        runner = GroupRunner(connection, self._observers)
        while turn := self._waiting.take(self._limits.group_max):
            resource, pendings = turn
            try:
                result = runner.run(pendings, wait_for=resource)
            except BaseException as error:
                _fail(pendings, error)
                result = GroupResult()
            for pending, seat in self._waiting.put_back(resource, result.blocked, result.again):
                runner.refuse(pending, refusals.lock_not_available([SeatId(seat.name)]))
        connection.close()


def _fail(pendings: list[Pending], error: BaseException) -> None:
    """Answer all futures before logging, so that none is left hanging."""
    for pending in pendings:
        pending.refuse(refusals.internal_error())
    with contextlib.suppress(Exception):
        log.error("group_failed", size=len(pendings), exc_info=error)


def _join(thread: threading.Thread, give_up_at: float) -> None:
    if thread.ident is not None:
        thread.join(max(0.0, give_up_at - time.monotonic()))
