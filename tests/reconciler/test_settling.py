"""What the reconciler does about each hold of which it is not known that both services agree."""

import pytest
from structlog.testing import capture_logs

from holdfast.domain.refusal_codes import Refusal
from holdfast.services.inventory.circuit import CircuitState
from holdfast.services.inventory.reconciler import CALLS_AT_ONCE_MAX
from tests.contract.asking import cancelled
from tests.reconciler.pair import Pair
from tests.support.auditing import assert_sound
from tests.support.inventory_service import Fault


def test_a_hold_whose_process_died_before_the_call_fails(pair: Pair) -> None:
    hold = pair.intended()
    assert len(pair.tasks()) == 1
    pair.reconcile()
    assert pair.status(hold.id) == "failed"
    assert pair.service.status(hold.id) == "released", "its call may still arrive"
    assert not pair.tasks()
    assert_sound(pair.world.url)


def test_a_hold_whose_process_died_after_the_call_fails_and_is_released(pair: Pair) -> None:
    hold = pair.intended()
    ticket_type = str(hold.lines[0].ticket_type_id)
    body = {"hold_id": str(hold.id), "session_id": str(hold.session_id)}
    line = {"ticket_type_id": ticket_type, "quantity": 2}
    pair.service.hold({**body, "lines": [line]})
    pair.reconcile()
    assert (pair.status(hold.id), pair.service.status(hold.id)) == ("failed", "released")
    assert pair.service.taken(ticket_type) == 0
    assert not pair.tasks()


@pytest.mark.parametrize(
    ("fault", "there"),
    [
        (Fault.FAIL_BEFORE, None),
        (Fault.FAIL_AFTER, "held"),
        (Fault.HANG_AFTER, "held"),
        (Fault.HANG_BEFORE, None),
    ],
)
def test_an_unknown_outcome_ends_with_both_sides_released(
    pair: Pair, fault: Fault, there: str | None
) -> None:
    pair.service.break_next("hold", fault)
    assert isinstance(pair.place(), Refusal)
    ((hold_id, *_),) = pair.tasks()
    assert (pair.status(hold_id), pair.service.status(hold_id)) == ("failed", there)
    pair.reconcile()
    pair.service.resume()  # a call that arrives late is refused
    assert (pair.status(hold_id), pair.service.status(hold_id)) == ("failed", "released")
    assert not pair.tasks()


def test_a_lost_answer_is_asked_for_again(pair: Pair) -> None:
    pair.service.break_next("hold", Fault.LOSE_ANSWER, Fault.LOSE_CALL)
    pair.placed()
    assert not pair.tasks()


@pytest.mark.parametrize("end", ["released", "expired"])
def test_an_ended_hold_is_released_without_any_message(pair: Pair, end: str) -> None:
    hold = pair.placed()
    getattr(pair, end)(hold)
    assert pair.service.status(hold.id) == "held"
    pair.reconcile()
    assert pair.service.status(hold.id) == "released"
    assert not pair.tasks()
    assert_sound(pair.world.url)


def test_a_hold_that_a_message_has_released_is_only_looked_at(pair: Pair) -> None:
    hold = pair.placed()
    pair.released(hold)
    pair.service.release({"hold_id": str(hold.id), "session_id": str(hold.session_id)})
    pair.reconcile()
    assert not pair.tasks()
    assert pair.service.count("release") == 0


def test_a_sale_is_committed(pair: Pair) -> None:
    hold = pair.placed(3)
    pair.sold(hold)
    pair.reconcile()
    assert pair.service.status(hold.id) == "committed"
    assert sum(pair.service.lines(hold.id).values()) == 3
    assert not pair.tasks()


def test_cancelled_tickets_are_for_sale_again_there(pair: Pair) -> None:
    hold = pair.placed(3)
    order = pair.sold(hold)
    pair.reconcile()
    cancelled(pair.engine, pair.venue.cancel(order.id, order.tickets[0].id))
    pair.reconcile()
    assert sum(pair.service.lines(hold.id).values()) == 2
    cancelled(pair.engine, pair.venue.cancel(order.id))
    pair.reconcile()
    assert (pair.service.status(hold.id), pair.service.lines(hold.id)) == ("committed", {})
    assert not pair.tasks()
    assert_sound(pair.world.url)


def test_an_order_that_was_cancelled_at_once_is_committed_without_tickets(pair: Pair) -> None:
    hold = pair.placed(3)
    cancelled(pair.engine, pair.venue.cancel(pair.sold(hold).id))
    pair.reconcile()
    assert (pair.service.status(hold.id), pair.service.lines(hold.id)) == ("committed", {})


def test_a_sale_that_was_released_there_needs_a_person(pair: Pair) -> None:
    hold = pair.placed()
    pair.sold(hold)
    pair.service.release({"hold_id": str(hold.id), "session_id": str(hold.session_id)})
    with capture_logs() as logs:
        pair.reconcile()
    difference = "sold here, released there"
    assert pair.tasks()[0][2:] == (difference, True)
    (error, *_) = (line for line in logs if line["event"] == "reconciler.contradiction")
    assert (error["log_level"], error["problem"]) == ("error", difference)
    state = pair.reconciliation.reconciler.state()
    assert (state.tasks, state.tried, state.contradictions) == (1, 0, 1)


def test_a_released_hold_that_is_committed_there_needs_a_person(pair: Pair) -> None:
    hold = pair.placed()
    pair.released(hold)
    pair.service.kept[str(hold.id)].status = "committed"
    pair.reconcile()
    assert pair.tasks()[0][2:] == ("cancelled here, committed there", True)


def test_a_contradiction_ends_when_somebody_has_resolved_it(pair: Pair) -> None:
    hold = pair.placed()
    pair.released(hold)
    pair.service.kept[str(hold.id)].status = "committed"
    pair.reconcile()
    pair.service.kept[str(hold.id)].status = "held"
    pair.reconcile()
    assert not pair.tasks()


def test_an_unavailable_service_stops_the_run_and_nothing_is_lost(pair: Pair) -> None:
    holds = [pair.placed() for _ in range(12)]
    for hold in holds:
        pair.released(hold)
    pair.service.is_down = True
    reconciler = pair.reconciliation.reconciler
    pair.make_due()
    run = reconciler.run_once()
    assert run.agreed == 0
    assert CALLS_AT_ONCE_MAX <= run.postponed < len(holds), "the circuit breaker opens"
    asked = pair.service.count("find")
    pair.make_due()
    assert reconciler.run_once() == type(run)()
    assert pair.service.count("find") == asked, "nothing is sent while it is open"
    state = reconciler.state()
    assert (state.tasks, state.tried, state.contradictions) == (12, run.postponed, 0)
    pair.service.is_down = False
    reconciler._circuit.succeeded()
    pair.reconcile()
    assert not pair.tasks()
    assert {pair.service.status(hold.id) for hold in holds} == {"released"}


def test_problems_name_no_hosts(pair: Pair) -> None:
    pair.released(pair.placed())
    pair.service.break_next("find", Fault.FAIL_BEFORE)
    pair.make_due()
    pair.reconciliation.reconciler.run_once()
    ((_, attempts, problem, is_contradiction),) = pair.tasks()
    assert (attempts, problem, is_contradiction) == (1, "it answered 500", False)


def test_a_slow_call_does_not_delay_the_others(pair: Pair) -> None:
    holds = [pair.placed() for _ in range(20)]
    for hold in holds:
        pair.released(hold)
    pair.service.break_next("release", Fault.HANG_BEFORE)
    pair.make_due()
    run = pair.reconciliation.reconciler.run_once()
    assert (run.agreed, run.postponed) == (19, 1)


def test_the_circuit_stays_closed_after_refusals(pair: Pair) -> None:
    for _ in range(10):
        hold = pair.placed()
        pair.released(hold)
        pair.service.kept[str(hold.id)].status = "committed"
    pair.make_due()
    assert pair.reconciliation.reconciler.run_once().contradicted == 10
    assert pair.reconciliation.reconciler._circuit.state is CircuitState.CLOSED
