"""The duties without a database or an engine."""

from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from holdfast.bootstrap.duties import Duty, DutyThread, inventory_duties, planned_duties
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Expired, Warned
from holdfast.domain.holds.due_holds import DUE_BATCH_MAX, ExpireHolds, WarnHolds
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.refusals import service_unavailable
from holdfast.ports.audit.books import Checked
from holdfast.ports.engine import Answer, Render
from holdfast.ports.facts.log import PARTITIONS
from holdfast.ports.holds import DueHold
from holdfast.ports.store import StoreError, StoreUnavailable
from holdfast.services import pruner as pruning
from holdfast.services.audit.integrity import BookAudit
from holdfast.services.holds import reaper as expiring
from holdfast.services.holds import sweep as sweeping
from holdfast.services.holds.reaper import AFTER_DUE_SECONDS, HOLDS_PER_RUN, Reaper
from holdfast.services.holds.sweep import Swept, sweep
from holdfast.services.pruner import Keeping, Pruned, Pruner


@dataclass
class StubHousekeeping:
    due: tuple[DueHold, ...] = ()
    error: StoreError | None = None
    until_due: float | None = None
    is_our_turn: bool = True

    def reaping(self) -> AbstractContextManager[bool]:
        return nullcontext(self.is_our_turn)

    def due_holds(self, limit: int, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        if self.error:
            raise self.error
        return tuple(hold for hold in self.due if hold.session_id not in skipped)[:limit]

    def seconds_until_due(self) -> float | None:
        return self.until_due


@dataclass
class StubEngine:
    """Obeys, refuses, or never answers. Holds it has processed are removed from `housekeeping`."""

    refuses: bool = False
    hangs: bool = False
    finds_nothing: bool = False
    commands: list[ExpireHolds | WarnHolds] = field(default_factory=list)
    futures: list[Future[Answer]] = field(default_factory=list)
    housekeeping: StubHousekeeping | None = None

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        assert isinstance(command, ExpireHolds | WarnHolds)
        self.commands.append(command)
        future: Future[Answer] = Future()
        self.futures.append(future)
        if self.refuses:
            future.set_result(Answer(service_unavailable()))
        elif not self.hangs:
            now = datetime.now(UTC)
            is_end = isinstance(command, ExpireHolds)
            done = () if self.finds_nothing else command.hold_ids
            outcome = Expired(done, now) if is_end else Warned(done, now)
            self._forget(done)
            future.set_result(Answer(outcome))
        return future

    def _forget(self, hold_ids: tuple[HoldId, ...]) -> None:
        if self.housekeeping is not None:
            left = (hold for hold in self.housekeeping.due if hold.hold_id not in hold_ids)
            self.housekeeping.due = tuple(left)


def due(
    organization: int, session: int, count: int, *, is_lapsed: bool = True, tickets: int = 2
) -> tuple[DueHold, ...]:
    """Holds with this many tickets each; waiting parties have none."""
    organization_id = OrganizationId(UUID(int=organization))
    session_id = SessionId(UUID(int=session))
    return tuple(
        DueHold(organization_id, session_id, HoldId(uuid4()), is_lapsed, tickets)
        for _ in range(count)
    )


class TestReaper:
    def test_it_submits_one_organization_at_a_time_in_bounded_batches(self) -> None:
        found = due(1, 1, DUE_BATCH_MAX + 1) + due(1, 2, 1) + due(2, 1, 1)
        engine = StubEngine()
        reaped = Reaper(StubHousekeeping(found), engine).run_once()
        count = len(found)
        assert (reaped.expired_holds, reaped.processed_successfully) == (count, count)
        assert (reaped.processed_failed, reaped.tickets_released) == (0, 2 * count)
        sizes = [len(command.hold_ids) for command in engine.commands]
        assert sizes == [DUE_BATCH_MAX, 2, 1]
        assert len({command.origin.request_id for command in engine.commands}) == 1

    def test_it_expires_lapsed_holds_and_warns_of_expiring_ones(self) -> None:
        found = due(1, 1, 2) + due(1, 1, 3, is_lapsed=False)
        engine = StubEngine()
        reaped = Reaper(StubHousekeeping(found), engine).run_once()
        assert (reaped.expired_holds, reaped.warned, reaped.tickets_released) == (2, 3, 4)
        assert [type(command) for command in engine.commands] == [ExpireHolds, WarnHolds]

    def test_holds_and_waiting_parties_are_counted_separately(self) -> None:
        found = due(1, 1, 2) + due(1, 1, 3, tickets=0)
        with capture_logs() as logs:
            reaped = Reaper(StubHousekeeping(found), StubEngine()).run_once()
        assert (reaped.expired_holds, reaped.expired_waiting, reaped.tickets_released) == (2, 3, 4)
        assert (reaped.processed_successfully, reaped.processed_failed) == (5, 0)
        (run,) = (line for line in logs if line["event"] == "reaper.run")
        assert (run["expired_holds"], run["expired_waiting"]) == (2, 3)
        housekeeping = StubHousekeeping(found)
        engine = StubEngine()
        engine.housekeeping = housekeeping
        assert sweep(Reaper(housekeeping, engine)) == Swept(2, 4, waiting=3)

    def test_a_full_run_asks_for_another(self) -> None:
        full = StubHousekeeping(due(1, 1, 2_000))
        assert Reaper(full, StubEngine()).run_once().may_be_more
        assert not Reaper(StubHousekeeping(due(1, 1, 1)), StubEngine()).run_once().may_be_more

    @pytest.mark.parametrize(
        "engine", [StubEngine(refuses=True), StubEngine(hangs=True)], ids=["refused", "hanging"]
    )
    def test_blocked_sessions_are_skipped_by_the_next_turns(
        self, engine: StubEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(expiring, "TURN_SECONDS", 0.01)
        found = due(1, 1, HOLDS_PER_RUN) + due(2, 2, 1)
        reaper = Reaper(StubHousekeeping(found, until_due=-1.0), engine)
        assert reaper.tend(30.0) == 0.0
        assert {command.organization_id for command in engine.commands} == {UUID(int=1)}
        engine.commands.clear()
        assert reaper.tend(30.0) == 1.0
        assert [command.hold_ids for command in engine.commands] == [(found[-1].hold_id,)]
        engine.commands.clear()
        assert reaper.tend(30.0) == 1.0
        assert not engine.commands, "all sessions are resting"

    def test_holds_already_ended_by_others_block_nothing(self) -> None:
        engine = StubEngine(finds_nothing=True)
        reaped = Reaper(StubHousekeeping(due(1, 1, HOLDS_PER_RUN)), engine).run_once()
        assert (reaped.processed_failed, reaped.blocked) == (HOLDS_PER_RUN, frozenset())
        assert not reaped.may_be_more, "another run would find the same"

    def test_a_session_is_retried_after_its_commands_were_answered(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(expiring, "TURN_SECONDS", 0.01)
        engine = StubEngine(hangs=True)
        reaper = Reaper(StubHousekeeping(due(1, 1, 1), until_due=-1.0), engine)
        reaper.tend(30.0)
        engine.hangs = False
        reaper.tend(30.0)
        assert len(engine.commands) == 1
        engine.futures[0].set_result(Answer(service_unavailable()))
        reaper.tend(30.0)
        assert len(engine.commands) == 2

    def test_a_blocked_session_gets_its_own_batch(self) -> None:
        found = due(1, 1, 1) + due(1, 2, 1)
        engine = StubEngine(refuses=True)
        reaper = Reaper(StubHousekeeping(found), engine)
        reaper.run_once()
        reaper.run_once()
        assert [len(command.hold_ids) for command in engine.commands] == [2, 1, 1]
        engine.refuses = False
        reaper.run_once()
        reaper.run_once()
        assert [len(command.hold_ids) for command in engine.commands][-1] == 2

    def test_failed_holds_are_counted(self) -> None:
        one = StubHousekeeping(due(1, 1, 1))
        hanging = Reaper(one, StubEngine(hangs=True), wait_seconds=0.01).run_once()
        refused = Reaper(one, StubEngine(refuses=True)).run_once()
        assert (hanging.processed_failed, refused.processed_failed) == (1, 1)
        assert (hanging.tickets_released, refused.tickets_released) == (0, 0)

    @pytest.mark.parametrize(
        ("housekeeping", "waits"),
        [
            (StubHousekeeping(), 30.0),
            (StubHousekeeping(until_due=2.0), 2.0 + AFTER_DUE_SECONDS),
            (StubHousekeeping(until_due=600.0), 30.0),
            (StubHousekeeping(until_due=-5.0), 1.0),
            (StubHousekeeping(error=StoreUnavailable()), 30.0),
            (StubHousekeeping(due(1, 1, 2_000)), 0.0),
        ],
    )
    def test_it_wakes_when_the_next_hold_is_due(
        self, housekeeping: StubHousekeeping, waits: float
    ) -> None:
        assert Reaper(housekeeping, StubEngine()).tend(30.0) == waits

    def test_only_one_reaper_runs_at_a_time(self) -> None:
        engine = StubEngine()
        housekeeping = StubHousekeeping(due(1, 1, 1), is_our_turn=False, until_due=-1.0)
        assert Reaper(housekeeping, engine).tend(30.0) > 0
        assert not engine.commands


class TestSweep:
    def test_it_continues_until_no_lapsed_hold_is_left(self) -> None:
        housekeeping = StubHousekeeping(due(1, 1, HOLDS_PER_RUN + 1))
        progress: list[Swept] = []
        engine = StubEngine(housekeeping=housekeeping)
        swept = sweep(Reaper(housekeeping, engine), progress.append)
        assert swept == Swept(HOLDS_PER_RUN + 1, 2 * (HOLDS_PER_RUN + 1))
        assert progress == [Swept(HOLDS_PER_RUN, 2 * HOLDS_PER_RUN)]

    def test_it_gives_up_on_stuck_holds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sweeping, "PAUSE_SECONDS", 0.0)
        engine = StubEngine(refuses=True)
        swept = sweep(Reaper(StubHousekeeping(due(1, 1, 1)), engine))
        assert swept == Swept(failed=1)
        assert len(engine.commands) == sweeping.FRUITLESS_MAX

    def test_it_raises_if_the_store_is_unavailable(self) -> None:
        with pytest.raises(StoreUnavailable):
            sweep(Reaper(StubHousekeeping(error=StoreUnavailable()), StubEngine()))


@dataclass
class StubPruning:
    answers: int = 0
    facts: dict[int, int] = field(default_factory=dict)  # by partition
    receipts: int = 0
    error: StoreError | None = None
    kept: set[int] = field(default_factory=set)

    def prune_answers(self, kept_seconds: int, limit: int) -> int:
        if self.error:
            raise self.error
        self.kept.add(kept_seconds)
        deleted = min(limit, self.answers)
        self.answers -= deleted
        return deleted

    def prune_facts(self, partition: int, kept_seconds: int, limit: int) -> int:
        self.kept.add(kept_seconds)
        deleted = min(limit, self.facts.get(partition, 0))
        self.facts[partition] = self.facts.get(partition, 0) - deleted
        return deleted

    def prune_revocations(self, kept_seconds: int, limit: int) -> int:
        return 0

    def prune_receipts(self, kept_seconds: int, limit: int) -> int:
        self.kept.add(kept_seconds)
        deleted = min(limit, self.receipts)
        self.receipts -= deleted
        return deleted


class TestPruner:
    KEEPING = Keeping(answers_seconds=1, facts_seconds=2, receipts_seconds=3)

    def test_it_continues_until_nothing_old_is_left(self) -> None:
        batch = pruning.BATCH_SIZE
        store = StubPruning(2 * batch + 1, {0: batch + 1, PARTITIONS - 1: 5}, 7)
        pruner = Pruner(store, self.KEEPING)
        assert pruner.run_once() == Pruned(answers=2 * batch + 1, facts=batch + 6, receipts=7)
        assert pruner.run_once() == Pruned()
        assert store.kept == {1, 2, 3}

    def test_a_run_is_bounded_and_asks_for_another(self) -> None:
        pruner = Pruner(StubPruning(facts={3: pruning.FULL_RUN + 1}), self.KEEPING)
        assert pruner.tend(60.0) == 0.0
        assert pruner.run_once() == Pruned(facts=1)
        assert pruner.tend(60.0) == 60.0

    def test_it_retries_later_if_the_store_is_unavailable(self) -> None:
        assert Pruner(StubPruning(error=StoreUnavailable()), self.KEEPING).tend(60.0) == 60.0


@dataclass
class StubBooks:
    checks: tuple[Checked, ...]

    def checked(self, grace_seconds: int) -> Iterator[Checked]:
        assert grace_seconds == 120
        yield from self.checks


class TestIntegrityAudit:
    SOUND = Checked("a lost seat", 5, 0, (), 0.5)
    UNSOUND = Checked("a lost pool", 5, 2, ('{"id": 1}',), 0.25)

    def test_a_sound_database_is_logged(self) -> None:
        with capture_logs() as lines:
            assert BookAudit(StubBooks((self.SOUND,)), 120).run_once()
        (line,) = lines
        assert (line["event"], line["log_level"]) == ("books.audited", "info")
        assert (line["checks"], line["rows"], line["duration_ms"]) == (1, 5, 500)

    def test_damage_is_logged_as_an_error(self) -> None:
        with capture_logs() as lines:
            assert not BookAudit(StubBooks((self.SOUND, self.UNSOUND)), 120).run_once()
        error, summary = lines
        assert (error["event"], error["log_level"]) == ("books.unsound", "error")
        assert (error["looks_for"], error["found"]) == ("a lost pool", 2)
        assert error["examples"] == self.UNSOUND.examples
        assert summary["unsound"] == 1


class TestPlan:
    """Nothing here connects to anything."""

    DATABASE = "postgresql://holdfast@127.0.0.1:1/nothing"

    @pytest.mark.parametrize(
        ("settings", "names"),
        [
            ({}, {"journal", "reaper", "promoter", "pruner", "audit", "books"}),
            ({"holdfast_audit_minutes": 0}, {"journal", "reaper", "promoter", "pruner", "audit"}),
            (
                {"amqp_url": "amqp://localhost"},
                {"journal", "reaper", "promoter", "pruner", "audit", "books", "relay"},
            ),
            ({"amqp_url": "amqp://localhost", "holdfast_duties": "none"}, {"journal"}),
            (
                {
                    "holdfast_inventory_url": "http://localhost",
                    "holdfast_inventory_key": "the key of the service",
                    "holdfast_audit_minutes": 0,
                },
                {"journal", "reaper", "promoter", "pruner", "audit", "reconciler", "comparison"},
            ),
        ],
    )
    def test_a_server_runs_the_configured_duties(
        self, settings: dict[str, Any], names: set[str]
    ) -> None:
        configured = Settings(database_url=self.DATABASE, **settings)
        planned = planned_duties(EngineRoom(configured))
        assert {duty.name for duty in planned} == names

    @pytest.mark.parametrize(
        ("settings", "names"),
        [
            ({"amqp_url": "amqp://localhost"}, {"journal", "pruner", "audit", "books"}),
            ({"holdfast_duties": "none"}, {"journal"}),
        ],
    )
    def test_an_inventory_service_neither_expires_nor_relays(
        self, settings: dict[str, Any], names: set[str]
    ) -> None:
        configured = Settings(database_url=self.DATABASE, **settings)
        assert {duty.name for duty in inventory_duties(EngineRoom(configured))} == names

    def test_the_first_audit_runs_after_its_interval(self) -> None:
        configured = Settings(database_url=self.DATABASE, holdfast_audit_minutes=2)
        planned = planned_duties(EngineRoom(configured))
        (books,) = (duty for duty in planned if duty.name == "books")
        assert (books.first_after_seconds, books.after_error_seconds) == (120.0, 120.0)
        with pytest.raises(StoreUnavailable):
            books.run_once()

    @pytest.mark.parametrize(("first_after_seconds", "runs"), [(60.0, 0), (0.0, 1)])
    def test_the_first_run_waits_if_the_duty_says_so(
        self, first_after_seconds: float, runs: int
    ) -> None:
        done = Event()
        counted = []

        def run_once() -> float:
            counted.append(1)
            done.set()
            return 60.0

        thread = DutyThread(Duty("test", run_once, first_after_seconds=first_after_seconds))
        thread.start()
        done.wait(10.0 if runs else 0.2)
        thread.stop(timeout_seconds=10.0)
        assert len(counted) == runs
