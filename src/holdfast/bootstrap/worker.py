"""A process that runs duties without serving: a worker or a command."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.holds.hold import Hold
from holdfast.ports.audit.books import Checked
from holdfast.ports.holds import DueHold
from holdfast.services.holds.sweep import Report, Swept, sweep

LOOKED_AT_MAX = 100_000


class Worker:
    """Create it after any fork: it has threads and connections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._room = EngineRoom(settings)

    def start(self) -> None:
        self._room.start()

    def stop(self) -> None:
        self._room.stop()

    # Each of these may raise StoreError.

    def release_expired(self, report: Report | None = None) -> Swept:
        return sweep(self._room.reaper, report)

    def lapsed(self) -> tuple[DueHold, ...]:
        """The holds that a release would end, oldest first, up to LOOKED_AT_MAX."""
        due = self._room.holds.due_holds(LOOKED_AT_MAX)
        return tuple(hold for hold in due if hold.is_lapsed)

    def described(self, hold: DueHold) -> Hold | None:
        seen = self._room.holds.hold(hold.organization_id, hold.hold_id)
        return None if seen is None else seen.hold

    def keep_releasing(self, stopped: Event) -> None:
        """Release holds whenever they are due, and promote from the waitlist, until stopped. Waits
        for a database that is down."""
        room, settings = self._room, self._settings
        promoting = Thread(target=self._keep_promoting, args=(stopped,), daemon=True)
        promoting.start()
        while not stopped.wait(room.reaper.tend(settings.holdfast_reaper_seconds)):
            pass
        promoting.join()

    def _keep_promoting(self, stopped: Event) -> None:
        interval = self._settings.holdfast_promoter_seconds
        while not stopped.wait(self._room.promoter.tend(interval)):
            pass

    def promote_waiting(self) -> int:
        """Settle every waitlist; returns the number of parties promoted."""
        return self._room.promoter.sweep()

    def prune(self) -> None:
        while self._room.pruner.run_once().may_be_more:
            pass

    def audit_books(self) -> bool:
        """Whether all checks pass; failures are logged."""
        return self._room.book_audit.run_once()


@contextmanager
def started_worker(settings: Settings) -> Iterator[Worker]:
    worker = Worker(settings)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def checked_books(settings: Settings) -> Iterator[Checked]:
    """The checks as they finish; needs neither engine nor readers. May raise StoreError."""
    return EngineRoom(settings).book_audit.checked()
