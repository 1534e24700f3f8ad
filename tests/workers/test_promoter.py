"""The promoter's runs, without a database or an engine."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Promoted
from holdfast.domain.ids import OrganizationId, SessionId, SessionKey
from holdfast.domain.refusals import service_unavailable
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.ports.engine import Answer, Render
from holdfast.ports.holds import PromoterTurn
from holdfast.ports.store import StoreUnavailable
from holdfast.services import waitlist
from holdfast.services.waitlist import SESSIONS_PER_RUN, Promoter

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
    is_our_turn: bool = True
    is_sweep_due: bool = False
    swept_to: SessionKey | None = None

    def promoter_turn(self, promoter: UUID) -> PromoterTurn | None:
        return PromoterTurn(self.swept_to, self.is_sweep_due) if self.is_our_turn else None

    def swept(self, promoter: UUID, swept_to: SessionKey | None, pause_seconds: float) -> None:
        self.swept_to, self.is_sweep_due = swept_to, pause_seconds == 0.0

    def unsettled_sessions(self, limit: int) -> tuple[SessionKey, ...]:
        if self.is_away:
            raise StoreUnavailable
        return self.unsettled[:limit]

    def waiting_sessions(self, after: SessionKey | None, limit: int) -> tuple[SessionKey, ...]:
        return tuple(key for key in self.waiting if after is None or key > after)[:limit]


@dataclass
class StubEngine:
    """Promotes so many in each session, refuses (None), or leaves everything hanging."""

    promotes: int | None = 0
    hangs: bool = False
    asked: list[SessionKey] = field(default_factory=list)
    futures: list[Future[Answer]] = field(default_factory=list)

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        assert isinstance(command, PromoteWaiting)
        self.asked.append(command.session_key)
        future: Future[Answer] = Future()
        self.futures.append(future)
        if self.hangs:
            return future
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


def test_all_waitlists_are_looked_at_when_it_is_time_a_few_in_each_turn() -> None:
    sessions = some_sessions(2 * SESSIONS_PER_RUN + 1)
    engine = StubEngine()
    lines = StubLines(waiting=sessions, is_sweep_due=True)
    promoter = Promoter(lines, engine)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions[:SESSIONS_PER_RUN])
    promoter.tend(PAUSE)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions), "not again before it is time"


def test_a_promoter_without_the_lease_does_nothing() -> None:
    sessions = some_sessions(2)
    engine = StubEngine()
    lines = StubLines(sessions, sessions, is_our_turn=False, is_sweep_due=True)
    assert Promoter(lines, engine).tend(PAUSE) == PAUSE
    assert not Promoter(lines, engine).sweep()
    assert not engine.asked


def test_a_session_that_is_not_answered_is_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waitlist, "TURN_SECONDS", 0.01)
    sessions = some_sessions(2)
    engine = StubEngine(hangs=True)
    promoter = Promoter(StubLines(sessions), engine)
    promoter.tend(PAUSE)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions)
    engine.futures[0].set_result(Answer(service_unavailable()))
    promoter.tend(PAUSE)
    assert engine.asked == [*sessions, sessions[0]]
