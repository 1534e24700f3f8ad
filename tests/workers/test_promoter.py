"""The promoter's runs, without a database or an engine."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from holdfast.domain.commands import Command, PromoteWaiting
from holdfast.domain.ids import OrganizationId, SessionId, SessionKey
from holdfast.domain.outcomes import Promoted
from holdfast.domain.refusals import service_unavailable
from holdfast.ports.engine import Answer, Render
from holdfast.ports.store import StoreUnavailable
from holdfast.services import promoting
from holdfast.services.promoting import SESSIONS_PER_RUN, Promoter

PAUSE = 0.5


def some_sessions(count: int) -> tuple[SessionKey, ...]:
    keys = ((OrganizationId(uuid4()), SessionId(uuid4())) for _ in range(count))
    return tuple(sorted(keys))


@dataclass
class StubLines:
    """Whatever is promoted, the lines stay as unsettled as they are said to be."""

    unsettled: tuple[SessionKey, ...] = ()
    waiting: tuple[SessionKey, ...] = ()
    is_away: bool = False

    def unsettled_sessions(self, limit: int) -> tuple[SessionKey, ...]:
        if self.is_away:
            raise StoreUnavailable
        return self.unsettled[:limit]

    def waiting_sessions(self, after: SessionKey | None, limit: int) -> tuple[SessionKey, ...]:
        return tuple(key for key in self.waiting if after is None or key > after)[:limit]


@dataclass
class StubEngine:
    """Promotes so many in each session, or refuses (None)."""

    promotes: int | None = 0
    asked: list[SessionKey] = field(default_factory=list)

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        assert isinstance(command, PromoteWaiting)
        self.asked.append(command.session_key)
        future: Future[Answer] = Future()
        if self.promotes is None:
            future.set_result(Answer(service_unavailable()))
        else:
            future.set_result(Answer(Promoted(self.promotes, datetime.now(UTC))))
        return future


def test_the_promoter_goes_on_at_once_where_somebody_was_promoted() -> None:
    engine = StubEngine(promotes=3)
    promoter = Promoter(StubLines(some_sessions(2)), engine)
    assert promoter.tend(PAUSE) == 0.0
    assert promoter.run_once() == 6


@pytest.mark.parametrize("promotes", [0, None], ids=["nobody is promoted", "all is refused"])
def test_the_promoter_pauses_where_a_line_cannot_be_settled(promotes: int | None) -> None:
    sessions = some_sessions(2)
    engine = StubEngine(promotes)
    assert Promoter(StubLines(sessions), engine).tend(PAUSE) == PAUSE
    assert engine.asked == list(sessions), "it tried"


def test_the_promoter_pauses_where_all_is_settled() -> None:
    engine = StubEngine(promotes=1)
    assert Promoter(StubLines(), engine).tend(PAUSE) == PAUSE
    assert not engine.asked


def test_the_promoter_pauses_when_the_store_is_away() -> None:
    with capture_logs() as logs:
        assert Promoter(StubLines(is_away=True), StubEngine()).tend(PAUSE) == PAUSE
    assert [(log["event"], log["problem"]) for log in logs] == [
        ("promoter.failed", "StoreUnavailable")
    ]


def test_a_sweep_looks_at_every_line_page_by_page() -> None:
    sessions = some_sessions(2 * SESSIONS_PER_RUN + 1)
    engine = StubEngine(promotes=1)
    assert Promoter(StubLines(waiting=sessions), engine).sweep() == len(sessions)
    assert engine.asked == list(sessions)


def test_every_line_is_looked_at_now_and_then_and_not_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions = some_sessions(1)
    engine = StubEngine()
    promoter = Promoter(StubLines(waiting=sessions), engine)
    promoter.tend(PAUSE)
    assert not engine.asked
    monkeypatch.setattr(promoting, "SWEEP_SECONDS", -1.0)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions)
