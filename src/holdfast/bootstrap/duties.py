"""Background duties. Each can run in several places at once: on threads of servers and in
workers."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import structlog

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.immutable import immutable
from holdfast.services.audit.journal import Journal
from holdfast.services.holds.sweep import sweep

if TYPE_CHECKING:
    from holdfast.bootstrap.inventory.reconciliation import Reconciliation

PRUNER_SECONDS = 60.0
PRUNER_BEAT_SECONDS = 300
JOURNAL_SECONDS = 1.0
RETENTION_SECONDS = 3_600
RETENTION_RETRY_SECONDS = 30.0
SECONDS_PER_MINUTE = 60
RELAY_BEAT_SECONDS = 5
# The next task publishes the rest.
RELAY_TURN_SECONDS = 20.0
RECONCILER_SECONDS = 2.0
RECONCILER_BEAT_SECONDS = 10
COMPARISON_SECONDS = 600
COMPARISON_BEAT_SECONDS = 60  # whoever comes first when it is due

log = structlog.get_logger()


@immutable
class Duty:
    """A recurring task of a thread. Each run returns the seconds to wait before the next."""

    name: str
    run_once: Callable[[], float]
    after_error_seconds: float = 1.0
    first_after_seconds: float = 0.0


class BackgroundThread:
    def __init__(self, name: str, run: Callable[[threading.Event], None]) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=run, args=(self._stopped,), name=f"holdfast-{name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_seconds: float) -> None:
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)


class DutyThread(BackgroundThread):
    """One duty on one thread. Errors are logged, and the duty is retried later."""

    def __init__(self, duty: Duty) -> None:
        super().__init__(duty.name, self._run)
        self._duty = duty

    def _run(self, stopped: threading.Event) -> None:
        wait_seconds = self._duty.first_after_seconds
        while not stopped.wait(wait_seconds):
            try:
                wait_seconds = self._duty.run_once()
            except Exception:
                wait_seconds = self._duty.after_error_seconds
                with contextlib.suppress(Exception):
                    log.exception("duty_failed", duty=self._duty.name)


class TaskQueue(StrEnum):
    """The queues of tasks. A worker can serve one of them alone: what waits for the broker or for
    a mail server does not delay the end of holds."""

    CLEANUP = "holdfast.cleanup"
    RELAY = "holdfast.relay"
    MESSAGES = "holdfast.messages"
    DEFAULT = "holdfast.default"


@immutable(kw_only=True)
class BeatTask:
    """What a worker completes, in a bounded time, whenever beat sends the task."""

    task: str
    complete: Callable[[EngineRoom], object]
    beat_seconds: Callable[[Settings], int]  # how often beat sends it; 0 if it is switched off
    queue: TaskQueue = TaskQueue.DEFAULT


@immutable(kw_only=True)
class SharedDuty(BeatTask):
    """A duty of all processes together. A server tends it on a thread: a little at a time, with
    the seconds to wait as the result. It is switched off there, too, if beat does not send it."""

    name: str
    tend: Callable[[EngineRoom], float]
    is_of_inventory: bool = False  # an Inventory Service needs it, too
    is_costly: bool = False  # reads whole tables, so neither at the start nor right after an error

    def on_thread(self, room: EngineRoom) -> Duty:
        run_once = partial(self.tend, room)
        if not self.is_costly:
            return Duty(self.name, run_once)
        pause_seconds = float(self.beat_seconds(room.settings))
        return Duty(self.name, run_once, pause_seconds, first_after_seconds=pause_seconds)


def _prune_all(room: EngineRoom) -> None:
    while room.pruner.run_once().may_be_more:
        pass


def _relay_waiting(room: EngineRoom) -> None:
    """Publish until nothing waits. The relay logs what fails, and beat sends the next task."""
    until = time.monotonic() + RELAY_TURN_SECONDS
    while time.monotonic() < until and not room.relay.tend():
        pass


def _audit(room: EngineRoom) -> float:
    room.book_audit.run_once()
    return _audit_seconds(room.settings)


def _audit_seconds(settings: Settings) -> int:
    return settings.holdfast_audit_minutes * SECONDS_PER_MINUTE


def _reconciliation(room: EngineRoom) -> "Reconciliation":
    assert room.reconciliation is not None, "these duties are off without an Inventory Service"
    return room.reconciliation


def _with_inventory(settings: Settings, seconds: int) -> int:
    return 0 if settings.holdfast_inventory_url is None else seconds


SHARED_DUTIES = (
    SharedDuty(
        name="reaper",
        tend=lambda room: room.reaper.tend(room.settings.holdfast_reaper_seconds),
        task="holdfast.release_expired",
        complete=lambda room: sweep(room.reaper),
        beat_seconds=lambda settings: settings.holdfast_reaper_beat_seconds,
        queue=TaskQueue.CLEANUP,
    ),
    SharedDuty(
        name="promoter",
        tend=lambda room: room.promoter.tend(room.settings.holdfast_promoter_seconds),
        task="holdfast.promote_waiting",
        complete=lambda room: room.promoter.sweep(),
        beat_seconds=lambda settings: settings.holdfast_reaper_beat_seconds,
    ),
    SharedDuty(
        name="pruner",
        tend=lambda room: room.pruner.tend(PRUNER_SECONDS),
        task="holdfast.prune",
        complete=_prune_all,
        beat_seconds=lambda _: PRUNER_BEAT_SECONDS,
        is_of_inventory=True,
    ),
    SharedDuty(
        name="audit",
        tend=lambda room: room.retention.tend(RETENTION_SECONDS, RETENTION_RETRY_SECONDS),
        task="holdfast.keep_audit",
        complete=lambda room: room.retention.run_once(),
        beat_seconds=lambda _: RETENTION_SECONDS,
        is_of_inventory=True,
    ),
    SharedDuty(
        name="books",
        tend=_audit,
        task="holdfast.audit_books",
        complete=lambda room: room.book_audit.run_once(),
        beat_seconds=_audit_seconds,
        is_of_inventory=True,
        is_costly=True,
    ),
    SharedDuty(
        name="relay",
        tend=lambda room: room.relay.tend(),
        task="holdfast.relay",
        complete=_relay_waiting,
        beat_seconds=lambda settings: 0 if settings.broker is None else RELAY_BEAT_SECONDS,
        queue=TaskQueue.RELAY,
    ),
    SharedDuty(
        name="reconciler",
        tend=lambda room: _reconciliation(room).reconciler.tend(RECONCILER_SECONDS),
        task="holdfast.reconcile",
        complete=lambda room: _reconciliation(room).reconciler.run_once(),
        beat_seconds=lambda settings: _with_inventory(settings, RECONCILER_BEAT_SECONDS),
        queue=TaskQueue.CLEANUP,
    ),
    SharedDuty(
        name="comparison",
        tend=lambda room: _reconciliation(room).comparison_duty.tend(COMPARISON_SECONDS),
        task="holdfast.compare_inventory",
        complete=lambda room: _reconciliation(room).comparison_duty.tend(COMPARISON_SECONDS),
        beat_seconds=lambda settings: _with_inventory(settings, COMPARISON_BEAT_SECONDS),
    ),
)


def planned_duties(room: EngineRoom) -> Iterator[Duty]:
    """The journal runs in every process, because it holds that process's attempts; workers may do
    the other duties instead."""
    yield journal_duty(room.journal)
    if room.settings.holdfast_duties == "none":
        return
    for duty in SHARED_DUTIES:
        if duty.beat_seconds(room.settings):
            yield duty.on_thread(room)


def inventory_duties(room: EngineRoom) -> Iterator[Duty]:
    """Of an Inventory Service. Nothing expires there, nobody waits, and its facts are only kept."""
    yield journal_duty(room.journal)
    if room.settings.holdfast_duties == "none":
        return
    for duty in SHARED_DUTIES:
        if duty.is_of_inventory and duty.beat_seconds(room.settings):
            yield duty.on_thread(room)


def journal_duty(journal: Journal) -> Duty:
    return Duty("journal", lambda: 0.0 if journal.run_once() else JOURNAL_SECONDS)


def keep_releasing(room: EngineRoom, stopped: threading.Event) -> None:
    """Release holds whenever they are due, and promote from the waitlist, until stopped. Waits for
    a database that is down."""

    def keep_promoting() -> None:
        while not stopped.wait(room.promoter.tend(room.settings.holdfast_promoter_seconds)):
            pass

    promoting = threading.Thread(target=keep_promoting, daemon=True)
    promoting.start()
    while not stopped.wait(room.reaper.tend(room.settings.holdfast_reaper_seconds)):
        pass
    promoting.join()
