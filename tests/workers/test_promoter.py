"""The promoter's runs without a database or an engine."""

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
class StubWaitlists:
    """Waitlists that stay as unsettled as configured, whatever is promoted."""

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
    """Promotes this many in each session, refuses (None), or never answers."""

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


def test_the_promoter_continues_at_once_after_a_promotion() -> None:
    engine = StubEngine(promotes=3)
    promoter = Promoter(StubWaitlists(some_sessions(2)), engine)
    assert promoter.tend(PAUSE) == 0.0
    assert promoter.run_once() == 6


@pytest.mark.parametrize("promotes", [0, None], ids=["nobody is promoted", "all is refused"])
def test_the_promoter_pauses_if_a_waitlist_cannot_be_settled(promotes: int | None) -> None:
    sessions = some_sessions(2)
    engine = StubEngine(promotes)
    assert Promoter(StubWaitlists(sessions), engine).tend(PAUSE) == PAUSE
    assert engine.asked == list(sessions), "it tried"


def test_the_promoter_pauses_if_all_is_settled() -> None:
    engine = StubEngine(promotes=1)
    assert Promoter(StubWaitlists(), engine).tend(PAUSE) == PAUSE
    assert not engine.asked


def test_the_promoter_pauses_if_the_store_is_unavailable() -> None:
    with capture_logs() as logs:
        assert Promoter(StubWaitlists(is_away=True), StubEngine()).tend(PAUSE) == PAUSE
    assert [(log["event"], log["problem"]) for log in logs] == [
        ("promoter.failed", "StoreUnavailable")
    ]


def test_a_sweep_examines_every_waitlist_page_by_page() -> None:
    sessions = some_sessions(2 * SESSIONS_PER_RUN + 1)
    engine = StubEngine(promotes=1)
    assert Promoter(StubWaitlists(waiting=sessions), engine).sweep() == len(sessions)
    assert engine.asked == list(sessions)


def test_a_due_sweep_examines_a_few_waitlists_each_turn() -> None:
    sessions = some_sessions(2 * SESSIONS_PER_RUN + 1)
    engine = StubEngine()
    waitlists = StubWaitlists(waiting=sessions, is_sweep_due=True)
    promoter = Promoter(waitlists, engine)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions[:SESSIONS_PER_RUN])
    promoter.tend(PAUSE)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions), "again before the pause was over"


def test_a_promoter_without_the_lease_does_nothing() -> None:
    sessions = some_sessions(2)
    engine = StubEngine()
    waitlists = StubWaitlists(sessions, sessions, is_our_turn=False, is_sweep_due=True)
    assert Promoter(waitlists, engine).tend(PAUSE) == PAUSE
    assert not Promoter(waitlists, engine).sweep()
    assert not engine.asked


def test_a_session_without_an_answer_is_not_submitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waitlist, "TURN_SECONDS", 0.01)
    sessions = some_sessions(2)
    engine = StubEngine(hangs=True)
    promoter = Promoter(StubWaitlists(sessions), engine)
    promoter.tend(PAUSE)
    promoter.tend(PAUSE)
    assert engine.asked == list(sessions)
    engine.futures[0].set_result(Answer(service_unavailable()))
    promoter.tend(PAUSE)
    assert engine.asked == [*sessions, sessions[0]]
