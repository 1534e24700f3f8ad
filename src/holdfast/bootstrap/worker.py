"""Releases expired holds without serving, as the command does."""

from threading import Event, Thread

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.domain.holds.hold import Hold
from holdfast.ports.holds import DueHold
from holdfast.services.holds.sweep import Report, Swept, sweep

LOOKED_AT_MAX = 100_000


class Worker(EngineRoom):
    """Each of its methods may raise StoreError."""

    def release_expired(self, report: Report | None = None) -> Swept:
        return sweep(self.reaper, report)

    def lapsed(self) -> tuple[DueHold, ...]:
        """The holds that a release would end, oldest first, up to LOOKED_AT_MAX."""
        due = self.holds.due_holds(LOOKED_AT_MAX)
        return tuple(hold for hold in due if hold.is_lapsed)

    def described(self, hold: DueHold) -> Hold | None:
        seen = self.holds.hold(hold.organization_id, hold.hold_id)
        return None if seen is None else seen.hold

    def keep_releasing(self, stopped: Event) -> None:
        """Release holds whenever they are due, and promote from the waitlist, until stopped. Waits
        for a database that is down."""
        promoting = Thread(target=self._keep_promoting, args=(stopped,), daemon=True)
        promoting.start()
        while not stopped.wait(self.reaper.tend(self.settings.holdfast_reaper_seconds)):
            pass
        promoting.join()

    def _keep_promoting(self, stopped: Event) -> None:
        while not stopped.wait(self.promoter.tend(self.settings.holdfast_promoter_seconds)):
            pass
