"""The journal: one line per transition, and failed attempts written aside, bounded."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from holdfast.domain.outcomes import Placed
from holdfast.engine import Admission
from holdfast.ports.attempts import FailedAttempt
from holdfast.ports.store import StoreUnavailable
from holdfast.services import journal as journal_module
from holdfast.services.journal import Journal
from tests.contract.worlds import MemoryWorld


@dataclass
class Attempts:
    """Where failed attempts end up; away while `is_away`."""

    is_away: bool = False
    written: list[FailedAttempt] = field(default_factory=list)

    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        if self.is_away:
            raise StoreUnavailable("away")
        self.written += attempts


class Stage:
    def __init__(self) -> None:
        self.world = MemoryWorld()
        self.venue = self.world.venue({"floor": 2}, {"standing": ("floor",)})
        self.attempts = Attempts()
        self.journal = Journal(self.attempts)
        self.engine = Admission(self.world.store, observer=self.journal)
        self.engine.start()

    def place(self, quantity: int = 1) -> object:
        return self.engine.submit(self.venue.place(("standing", quantity))).result(5).outcome


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_every_transition_is_one_line_evictions_included(stage: Stage) -> None:
    with capture_logs() as logs:
        lapsed = stage.place(2)
        stage.world.let_pass(stage.venue, 700)
        stage.place(2)
        stage.engine.stop()
    assert isinstance(lapsed, Placed)
    lines = [line for line in logs if line["event"].startswith("hold.")]
    assert [line["event"] for line in lines] == ["hold.created", "hold.expired", "hold.created"]
    assert lines[1]["hold_id"] == str(lapsed.hold.id)
    assert lines[0]["customer_email"] == "b***@example.com"
    assert lines[0]["request_id"] == "request-1"


def test_failed_attempts_are_written_aside_with_who_and_why(stage: Stage) -> None:
    stage.place(3)
    stage.engine.stop()
    assert stage.attempts.written == []
    assert not stage.journal.run_once()
    (attempt,) = stage.attempts.written
    assert (attempt.action, attempt.code) == ("hold.create_failed", "insufficient_inventory")
    assert attempt.origin.actor == "test"


def test_attempts_wait_while_the_database_is_away(stage: Stage) -> None:
    stage.place(3)
    stage.engine.stop()
    stage.attempts.is_away = True
    stage.journal.run_once()
    stage.attempts.is_away = False
    stage.journal.run_once()
    assert len(stage.attempts.written) == 1


def test_too_many_attempts_drop_the_oldest_and_say_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "ATTEMPTS_KEPT_MAX", 3)
    for quantity in range(3, 8):
        stage.place(quantity)
    stage.engine.stop()
    with capture_logs() as logs:
        stage.journal.run_once()
    assert len(stage.attempts.written) == 3
    assert {"event": "attempts.dropped", "count": 2, "log_level": "warning"} in logs
