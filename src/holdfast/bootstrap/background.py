"""Which duties run on threads of a server."""

from collections.abc import Iterator

from holdfast.bootstrap.duties import Duty
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.relaying import relay_duty
from holdfast.bootstrap.settings import Settings
from holdfast.services.audit.integrity import BookAudit

PRUNER_SECONDS = 60.0
JOURNAL_SECONDS = 1.0
SECONDS_PER_MINUTE = 60.0


def planned_duties(room: EngineRoom, settings: Settings) -> Iterator[Duty]:
    """The journal holds the attempts of this very process, so it is at work in all of them; the
    other duties may be done by workers instead."""
    journal = room.journal
    yield Duty("journal", lambda: 0.0 if journal.run_once() else JOURNAL_SECONDS)
    if settings.holdfast_duties == "none":
        return
    yield Duty("reaper", lambda: room.reaper.tend(settings.holdfast_reaper_seconds))
    yield Duty("promoter", lambda: room.promoter.tend(settings.holdfast_promoter_seconds))
    yield Duty("pruner", lambda: room.pruner.tend(PRUNER_SECONDS))
    if settings.holdfast_audit_minutes:
        yield _audit_duty(room.book_audit, settings.holdfast_audit_minutes * SECONDS_PER_MINUTE)
    relay = relay_duty(settings)
    if relay is not None:
        yield relay


def _audit_duty(audit: BookAudit, interval_seconds: float) -> Duty:
    """Not before one interval has passed: a server that has just started has better things to do
    than to read whole tables."""
    has_waited = False

    def run_once() -> float:
        nonlocal has_waited
        if has_waited:
            audit.run_once()
        has_waited = True
        return interval_seconds

    return Duty("books", run_once, after_error_seconds=interval_seconds)
