"""Background duties, on threads of a server. Each can also run elsewhere, in several places at
once."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import structlog

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.relay import configured_relay
from holdfast.bootstrap.settings import Settings
from holdfast.services.audit.integrity import BookAudit
from holdfast.services.audit.journal import Journal

PRUNER_SECONDS = 60.0
JOURNAL_SECONDS = 1.0
SECONDS_PER_MINUTE = 60.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Duty:
    """A recurring task. Each run returns the seconds to wait before the next."""

    name: str
    run_once: Callable[[], float]
    after_error_seconds: float = 1.0


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
        wait_seconds = 0.0
        while not stopped.wait(wait_seconds):
            try:
                wait_seconds = self._duty.run_once()
            except Exception:
                wait_seconds = self._duty.after_error_seconds
                with contextlib.suppress(Exception):
                    log.exception("duty_failed", duty=self._duty.name)


def planned_duties(room: EngineRoom, settings: Settings) -> Iterator[Duty]:
    """The journal runs in every process, because it holds that process's attempts; workers may do
    the other duties instead."""
    yield journal_duty(room.journal)
    if settings.holdfast_duties == "none":
        return
    yield Duty("reaper", lambda: room.reaper.tend(settings.holdfast_reaper_seconds))
    yield Duty("promoter", lambda: room.promoter.tend(settings.holdfast_promoter_seconds))
    yield Duty("pruner", lambda: room.pruner.tend(PRUNER_SECONDS))
    if settings.holdfast_audit_minutes:
        yield _audit_duty(room.book_audit, settings.holdfast_audit_minutes * SECONDS_PER_MINUTE)
    relay = configured_relay(settings)
    if relay is not None:
        yield Duty("relay", relay.tend)


def journal_duty(journal: Journal) -> Duty:
    return Duty("journal", lambda: 0.0 if journal.run_once() else JOURNAL_SECONDS)


def _audit_duty(audit: BookAudit, interval_seconds: float) -> Duty:
    """Wait one interval first: a server that has just started should not read whole tables."""
    has_waited = False

    def run_once() -> float:
        nonlocal has_waited
        if has_waited:
            audit.run_once()
        has_waited = True
        return interval_seconds

    return Duty("books", run_once, after_error_seconds=interval_seconds)
