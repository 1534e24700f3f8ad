"""The journal: one log entry per transition, and a bounded record of failed attempts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import HolderToken
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.placement import SeatAsk
from holdfast.domain.ids import ApiKeyId, HoldId, OrganizationId, SeatId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from holdfast.ports.audit.attempts import EndedKey, FailedAttempt, Stranger
from holdfast.ports.store import Rejected, StoreUnavailable
from holdfast.services.audit import attempt_buffer
from holdfast.services.audit import journal as journal_module
from holdfast.services.audit.journal import Journal
from tests.contract.venues import STRANGER, Hall, Plan
from tests.contract.worlds import MemoryWorld


@dataclass
class Attempts:
    """A sink for failed attempts; unavailable while `is_away`. It rejects attempts of
    `rejected_action`."""

    is_away: bool = False
    rejected_action: str | None = None
    written: list[FailedAttempt] = field(default_factory=list)
    ended: dict[bytes, EndedKey] = field(default_factory=dict)

    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        if self.is_away:
            raise StoreUnavailable("away")
        if any(attempt.action == self.rejected_action for attempt in attempts):
            raise Rejected("cannot be written down")
        self.written += attempts

    def ended_keys(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, EndedKey]:
        if self.is_away:
            raise StoreUnavailable("away")
        return {each: self.ended[each] for each in secret_hashes if each in self.ended}


class Stage:
    def __init__(self) -> None:
        self.world = MemoryWorld()
        self.venue = self.world.venue({"floor": 2}, {"standing": ("floor",)})
        self.attempts = Attempts()
        self.journal = Journal(self.attempts)
        self.engine = Admission(self.world.store, observers=[self.journal])
        self.engine.start()

    def place(self, quantity: int = 1) -> object:
        return self.engine.submit(self.venue.place(("standing", quantity))).result(60).outcome


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_every_transition_is_one_log_entry_including_evictions(stage: Stage) -> None:
    with capture_logs() as logs:
        lapsed = stage.place(2)
        stage.world.let_pass(stage.venue, 700)
        stage.place(2)
        stage.engine.stop()
    assert isinstance(lapsed, Placed)
    lines = [line for line in logs if line["event"].startswith("hold.")]
    assert [line["event"] for line in lines] == ["hold.created", "hold.expired", "hold.created"]
    assert lines[1]["hold_id"] == lapsed.hold.id
    assert lines[0]["customer_email"] == "b***@example.com"
    assert lines[0]["request_id"] == "request-1"


def test_failed_attempts_are_recorded_with_actor_and_code(stage: Stage) -> None:
    stage.place(3)
    stage.engine.stop()
    assert stage.attempts.written == []
    assert not stage.journal.run_once()
    (attempt,) = stage.attempts.written
    assert (attempt.action, attempt.code) == ("hold.create_failed", "insufficient_inventory")
    assert attempt.origin.actor == "test"


def test_attempts_are_kept_while_the_database_is_unavailable(stage: Stage) -> None:
    stage.place(3)
    stage.engine.stop()
    stage.attempts.is_away = True
    stage.journal.run_once()
    stage.attempts.is_away = False
    stage.journal.run_once()
    assert len(stage.attempts.written) == 1


def test_too_many_attempts_drop_the_oldest_with_a_warning(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_buffer, "ATTEMPTS_KEPT_MAX", 3)
    for quantity in range(3, 8):
        stage.place(quantity)
    stage.engine.stop()
    with capture_logs() as logs:
        stage.journal.run_once()
    assert len(stage.attempts.written) == 3
    assert {"event": "attempts.dropped", "count": 2, "log_level": "warning"} in logs


def test_an_attempt_rejected_by_the_database_costs_no_other(stage: Stage) -> None:
    stage.attempts.rejected_action = "hold.release_failed"
    for quantity in (3, 4):
        stage.place(quantity)
    stage.engine.submit(stage.venue.release(HoldId(uuid4()))).result(60)
    for quantity in (5, 6):
        stage.place(quantity)
    stage.engine.stop()
    with capture_logs() as logs:
        assert not stage.journal.run_once()
    assert [attempt.action for attempt in stage.attempts.written] == ["hold.create_failed"] * 4
    assert [entry["event"] for entry in logs] == ["attempts.rejected"]


def test_a_refused_payment_is_logged_and_recorded(stage: Stage) -> None:
    holds = [stage.place(), stage.place()]
    with capture_logs() as logs:
        for placed in holds:
            assert isinstance(placed, Placed)
            stage.engine.submit(stage.venue.pay_once(placed.hold.id)).result(60)
        stage.engine.stop()
    stage.journal.run_once()
    (attempt,) = stage.attempts.written
    assert (attempt.action, attempt.code) == ("hold.convert_failed", "payment_already_used")
    (line,) = (line for line in logs if line["event"] == "payment.refused")
    assert (line["log_level"], line["code"]) == ("warning", "payment_already_used")
    assert (line["hold_id"], line["actor"]) == (str(attempt.hold_id), "test")
    assert "pay-1" not in str(line)


def test_a_failed_extension_of_an_unknown_hold_is_not_logged(stage: Stage) -> None:
    placed = stage.place()
    assert isinstance(placed, Placed)
    unknown = HoldId(uuid4())
    with capture_logs() as logs:
        for hold_id in (unknown, placed.hold.id):
            stage.engine.submit(stage.venue.extend(hold_id, 60, holder=STRANGER)).result(60)
        stage.engine.submit(stage.venue.check_out(unknown)).result(60)
        stage.world.let_pass(stage.venue, 700)
        stage.engine.submit(stage.venue.extend(placed.hold.id, 60)).result(60)
        stage.engine.stop()
    alarms = [line["code"] for line in logs if line["event"] == "hold.extension_failed"]
    assert alarms == ["hold_expired"]


@pytest.fixture
def hall() -> Stage:
    stage = Stage()
    plan = Plan({}, {}, hall=Hall({"Stalls": {"A": 3}}, {"seat": ()}))
    stage.venue = stage.world.build(plan)
    return stage


class TestRefusedSeats:
    """The audit says which seat a buyer did not get."""

    def test_the_contested_seat_is_recorded(self, hall: Stage) -> None:
        names = ("Stalls A 1", "Stalls A 2")
        hall.engine.submit(hall.venue.seats(names[1], holder=STRANGER)).result(60)
        hall.engine.submit(hall.venue.seats(*names)).result(60)
        hall.engine.stop()
        hall.journal.run_once()
        (attempt,) = hall.attempts.written
        assert attempt.code == "seat_held_by_another_user"
        assert attempt.seat_id == hall.venue.places[names[1]].id

    def test_the_first_named_seat_is_recorded_if_none_was_contested(self, hall: Stage) -> None:
        nowhere = (SeatId(uuid4()), SeatId(uuid4()))
        hall.engine.submit(hall.venue.place(SeatAsk(nowhere))).result(60)
        hall.engine.stop()
        hall.journal.run_once()
        (attempt,) = hall.attempts.written
        assert (attempt.code, attempt.seat_id) == ("invalid_seat", nowhere[0])

    def test_no_seat_is_recorded_if_none_was_named(self, stage: Stage) -> None:
        stage.place(3)
        stage.engine.stop()
        stage.journal.run_once()
        (attempt,) = stage.attempts.written
        assert attempt.seat_id is None


class TestBlockedSeats:
    """One log entry per call; refusals go to the audit."""

    def test_a_call_is_one_log_entry_however_many_seats_it_names(self, hall: Stage) -> None:
        names = ("Stalls A 1", "Stalls A 2", "Stalls A 3")
        with capture_logs() as logs:
            hall.engine.submit(hall.venue.block(*names, reason="camera")).result(60)
            hall.engine.submit(hall.venue.unblock(*names[:2])).result(60)
            hall.engine.stop()
        blocked, unblocked = (line for line in logs if line["event"].startswith("seat."))
        assert (blocked["event"], blocked["seats"]) == ("seat.blocked", 3)
        assert blocked["actor"] == "test"
        assert "camera" not in str(blocked), "people write names into reasons"
        assert blocked["session_id"] == str(hall.venue.session_id)
        assert (unblocked["event"], unblocked["seats"]) == ("seat.unblocked", 2)

    def test_refused_calls_are_recorded(self, hall: Stage) -> None:
        unknown = replace(hall.venue.block("Stalls A 1"), seat_ids=(SeatId(uuid4()),))
        hall.engine.submit(unknown).result(60)
        hall.engine.submit(replace(unknown, is_lifted=True)).result(60)
        hall.engine.stop()
        hall.journal.run_once()
        written = [(each.action, each.code) for each in hall.attempts.written]
        assert written == [
            ("seat.block_failed", "invalid_seat"),
            ("seat.unblock_failed", "invalid_seat"),
        ]
        assert {each.seat_id for each in hall.attempts.written} == set(unknown.seat_ids)
        assert {each.hold_id for each in hall.attempts.written} == {None}


def test_only_a_checkout_refused_for_its_holds_is_logged(stage: Stage) -> None:
    held = stage.place()
    assert isinstance(held, Placed)
    key = stage.venue.key()
    other = stage.venue.place(("standing", 1), key=key)
    with capture_logs() as logs:
        stage.engine.submit(other, lambda _: b"").result(60)
        reused = replace(
            stage.venue.check_out(held.hold.id), idempotency=replace(key, fingerprint=b"another")
        )
        assert isinstance(stage.engine.submit(reused, lambda _: b"").result(60).outcome, Refusal)
        stage.world.let_pass(stage.venue, 700)
        stage.engine.submit(stage.venue.check_out(held.hold.id)).result(60)
        stage.engine.stop()
    warnings = [line["event"] for line in logs if line["log_level"] == "warning"]
    assert warnings == ["hold.expired_before_checkout"]


def test_an_empty_checkout_with_a_reused_key_costs_no_other_entry(stage: Stage) -> None:
    """The checkout and the neighbor's refusals are decided in one group."""
    engine = Admission(stage.world.store, observers=[stage.journal])
    neighbor = stage.world.venue({"floor": 1}, {"standing": ("floor",)})
    key = stage.venue.key()
    used = stage.venue.place(("standing", 1), key=key)
    assert isinstance(stage.engine.submit(used, lambda _: b"").result(60).outcome, Placed)
    stage.engine.stop()
    empty = replace(stage.venue.check_out(), idempotency=replace(key, fingerprint=b"another"))
    futures = [
        engine.submit(command, lambda _: b"")
        for command in (neighbor.place(("standing", 2)), empty, neighbor.place(("standing", 3)))
    ]
    engine.start()
    assert all(isinstance(future.result(60).outcome, Refusal) for future in futures)
    engine.stop()
    stage.journal.run_once()
    written = [(each.organization_id, each.action) for each in stage.attempts.written]
    assert sorted(written, key=str) == sorted(
        [
            (neighbor.organization_id, "hold.create_failed"),
            (neighbor.organization_id, "hold.create_failed"),
            (stage.venue.organization_id, "checkout.start_failed"),
        ],
        key=str,
    )


def attempt_of(organization_id: OrganizationId, code: str = "x", **more: Any) -> FailedAttempt:
    return FailedAttempt("hold.create_failed", organization_id, code, Origin("key:1", "r"), **more)


def test_a_flood_of_one_organization_drops_nothing_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempt_buffer, "ATTEMPTS_KEPT_MAX", 100)
    attempts = Attempts()
    journal = Journal(attempts)
    quiet, loud = (OrganizationId(uuid4()) for _ in range(2))
    for number in range(10):
        journal.failed(attempt_of(quiet, f"quiet-{number}"))
    for number in range(5_000):
        journal.failed(attempt_of(loud, f"loud-{number}"))
    with capture_logs() as logs:
        while journal.run_once():
            pass
    written = [each.code for each in attempts.written]
    assert [code for code in written if code.startswith("quiet")] == [
        f"quiet-{number}" for number in range(10)
    ]
    assert len(written) == 100
    assert [entry["count"] for entry in logs] == [4_910]


def test_attempts_of_all_organizations_are_written_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_module, "BATCH_SIZE", 4)
    attempts = Attempts()
    journal = Journal(attempts)
    loud, quiet = (OrganizationId(uuid4()) for _ in range(2))
    for number in range(10):
        journal.failed(attempt_of(loud, f"loud-{number}"))
    journal.failed(attempt_of(quiet))
    journal.run_once()
    assert [each.organization_id for each in attempts.written].count(quiet) == 1


def test_equal_attempts_become_one_entry_with_their_number() -> None:
    attempts = Attempts()
    journal = Journal(attempts)
    own = OrganizationId(uuid4())
    seat = SeatId(uuid4())
    for _ in range(3):
        journal.failed(attempt_of(own, details={"available_quantity": 1}))
    journal.failed(attempt_of(own, details={"available_quantity": 0}))
    journal.failed(attempt_of(own, seat_id=seat, details={"available_quantity": 1}))
    journal.run_once()
    assert [(each.times, each.seat_id) for each in attempts.written] == [
        (3, None),
        (1, None),
        (1, seat),
    ]


def stranger(hashed: bytes | None, address: str = "203.0.113.7") -> Stranger:
    return Stranger(hashed, Origin("unknown", "r", address), {"status": 401}, address)


def test_an_ended_key_is_recorded_with_each_address_that_uses_it() -> None:
    attempts = Attempts(ended={b"ended": EndedKey(OrganizationId(uuid4()), ApiKeyId(uuid4()))})
    journal = Journal(attempts)
    for address in ("203.0.113.7", "198.51.100.1", "203.0.113.7"):
        journal.unauthorized(stranger(b"ended", address))
    journal.run_once()
    assert {each.origin.ip: each.times for each in attempts.written} == {
        "203.0.113.7": 2,
        "198.51.100.1": 1,
    }


def test_an_ended_key_is_recorded_for_its_organization_and_others_are_counted() -> None:
    key = EndedKey(OrganizationId(uuid4()), ApiKeyId(uuid4()))
    attempts = Attempts(ended={b"ended": key})
    journal = Journal(attempts)
    for hashed in (b"ended", b"ended", b"never", None):
        journal.unauthorized(stranger(hashed))
    with capture_logs() as logs:
        journal.run_once()
    (attempt,) = attempts.written
    assert (attempt.organization_id, attempt.key_id) == (key.organization_id, key.key_id)
    assert (attempt.code, attempt.times) == ("unauthorized", 2)
    assert (attempt.origin.actor, attempt.origin.ip) == (f"key:{key.key_id}", "203.0.113.7")
    assert logs == [{"event": "requests.unauthorized", "count": 2, "log_level": "warning"}]


def test_an_ended_token_is_recorded_for_its_holder_without_a_look_up() -> None:
    now = datetime.now(UTC)
    organization_id, holder = OrganizationId(uuid4()), Holder(user_id="ada")
    key_id = ApiKeyId(uuid4())
    token = HolderToken(uuid4(), organization_id, Mode.TEST, key_id, holder, now, now)
    attempts = Attempts()
    journal = Journal(attempts)
    for address in ("203.0.113.7", "203.0.113.7", "198.51.100.1"):
        journal.unauthorized(replace(stranger(None, address), token=token))
    with capture_logs() as logs:
        journal.run_once()
    first, second = attempts.written
    assert (first.organization_id, first.asked.holder) == (organization_id, holder)
    assert (first.code, first.origin.actor) == ("unauthorized", f"token:{token.id}")
    assert (first.times, second.times) == (2, 1)
    assert not logs, "it is no stranger's"


def test_a_flood_of_unknown_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_buffer, "STRANGERS_KEPT_MAX", 10)
    asked: list[int] = []
    attempts = Attempts()

    def ended_keys(secret_hashes: Sequence[bytes]) -> Mapping[bytes, EndedKey]:
        asked.append(len(secret_hashes))
        return {}

    monkeypatch.setattr(attempts, "ended_keys", ended_keys)
    journal = Journal(attempts)
    for number in range(1_000):
        journal.unauthorized(stranger(str(number).encode()))
    with capture_logs() as logs:
        journal.run_once()
    assert asked == [10]
    assert [entry["count"] for entry in logs] == [1_000]
