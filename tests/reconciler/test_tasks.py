"""The reconciler's tasks on PostgreSQL: leases, several reconcilers at once, and the fence."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.adapters.postgres.inventory import reconciler_statements
from holdfast.adapters.postgres.inventory.tasks import PostgresInventoryTasks
from holdfast.ports.inventory.reconciliation import InventoryTask
from holdfast.ports.inventory.service import SECONDS_TO_SETTLE, SECONDS_TO_TELL
from holdfast.services.inventory.reconciler import LEASE_SECONDS
from tests.contract.asking import cancelled
from tests.reconciler.pair import Pair
from tests.support.auditing import rows

DUE_IN = "SELECT extract(epoch FROM due_at - since)::integer FROM inventory_task"
LATER = "UPDATE inventory_task SET due_at = due_at - interval '30 seconds'"


def one_task(pair: Pair) -> InventoryTask:
    pair.make_due()
    (task,) = pair.reconciliation.tasks.take(10, LEASE_SECONDS)
    return task


def test_a_task_is_due_when_its_process_or_a_message_should_have_settled_it(pair: Pair) -> None:
    hold = pair.intended()
    assert rows(pair.world.url, DUE_IN) == [(SECONDS_TO_SETTLE,)]
    assert not pair.reconciliation.tasks.take(10, LEASE_SECONDS), "it is not due yet"
    pair.reconcile()
    assert pair.status(hold.id) == "failed"
    pair.released(pair.placed())
    assert rows(pair.world.url, DUE_IN) == [(SECONDS_TO_TELL,)]


def test_a_hold_that_is_active_has_no_task(pair: Pair) -> None:
    pair.placed()
    assert not pair.tasks()


def test_a_taken_task_is_taken_again_after_its_lease(pair: Pair) -> None:
    """As after `kill -9` of its reconciler."""
    pair.released(pair.placed())
    first = one_task(pair)
    tasks = pair.reconciliation.tasks
    assert not tasks.take(10, LEASE_SECONDS)
    with pair.world.connected() as connection:
        connection.execute(LATER)
    assert list(tasks.take(10, LEASE_SECONDS)) == [first]


def test_two_reconcilers_share_the_tasks(pair: Pair) -> None:
    holds = [pair.placed() for _ in range(40)]
    for hold in holds:
        pair.released(hold)
    another = pair.another()
    pair.make_due()
    with ThreadPoolExecutor() as threads:
        both = [pair.reconciliation.reconciler, another.reconciler]
        runs = list(threads.map(lambda each: each.run_once(), both))
    another.stop()
    assert sum(run.agreed for run in runs) == len(holds)
    assert all(run.agreed for run in runs), "both have work to do"
    found = Counter(hold_id for called, hold_id in pair.service.calls if called == "release")
    assert set(found.values()) == {1}
    assert not pair.tasks()


def test_no_more_tasks_are_taken_than_asked_for(pair: Pair) -> None:
    """Whatever the planner believes: a plan for a single row read the due tasks again for each."""
    pair.released(pair.placed())
    with pair.world.connected() as connection:
        connection.execute("ANALYZE inventory_task")
    for _ in range(12):
        pair.released(pair.placed())
    pair.make_due()
    taken = [len(pair.reconciliation.tasks.take(count, LEASE_SECONDS)) for count in (1, 4, 100)]
    assert taken == [1, 4, 8]


def test_a_task_that_is_locked_delays_no_other(pair: Pair) -> None:
    for _ in range(2):
        pair.released(pair.placed())
    pair.make_due()
    with pair.world.connected() as connection, connection.transaction():
        connection.execute("SELECT FROM inventory_task LIMIT 1 FOR UPDATE")
        assert len(pair.reconciliation.tasks.take(10, LEASE_SECONDS)) == 1


def changed_between_asking_and_done(pair: Pair) -> None:
    """All tickets but one are cancelled after the reconciler has seen that the sale is committed,
    and before it says so."""
    hold = pair.placed(3)
    order = pair.sold(hold)
    pair.reconcile()
    cancelled(pair.engine, pair.venue.cancel(order.id, order.tickets[0].id))
    task = one_task(pair)
    cancelled(pair.engine, pair.venue.cancel(order.id, order.tickets[1].id))
    pair.reconciliation.tasks.done(task)


def test_a_hold_that_changes_meanwhile_keeps_its_task(pair: Pair) -> None:
    changed_between_asking_and_done(pair)
    assert len(pair.tasks()) == 1


def test_without_the_fence_the_change_would_be_lost(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfenced = reconciler_statements.DELETE_TASK.replace("position =", "'0' <>")
    monkeypatch.setattr(reconciler_statements, "DELETE_TASK", unfenced)
    changed_between_asking_and_done(pair)
    assert not pair.tasks()


def test_a_hold_that_changes_meanwhile_is_not_postponed(pair: Pair) -> None:
    hold = pair.placed(3)
    order = pair.sold(hold)
    task = one_task(pair)
    cancelled(pair.engine, pair.venue.cancel(order.id, order.tickets[0].id))
    tasks = pair.reconciliation.tasks
    tasks.postpone(task, 600, "it answered 500", is_contradiction=False)
    assert pair.tasks() == [(hold.id, 0, None, False)]
    tasks.postpone(one_task(pair), 600, "it answered 500", is_contradiction=False)
    assert pair.tasks() == [(hold.id, 1, "it answered 500", False)]
    cancelled(pair.engine, pair.venue.cancel(order.id, order.tickets[1].id))
    assert pair.tasks() == [(hold.id, 0, None, False)], "a change is tried at once"


def test_a_task_can_be_added_once(pair: Pair) -> None:
    hold = pair.placed()
    tasks: PostgresInventoryTasks = pair.reconciliation.tasks
    added = tasks.add(hold.organization_id, hold.id, LEASE_SECONDS)
    assert added is not None
    assert added.attempts == 0
    assert tasks.add(hold.organization_id, hold.id, LEASE_SECONDS) is None
    assert not tasks.take(10, LEASE_SECONDS), "it is taken already"
    assert tasks.done(added)
    assert not tasks.done(added)


def test_the_state_says_how_late_it_is(pair: Pair) -> None:
    pair.intended()
    state = pair.reconciliation.tasks.state()
    assert (state.tasks, state.tried, state.lag_seconds) == (1, 0, 0.0), "not due yet"
    with pair.world.connected() as connection:
        connection.execute(
            "UPDATE inventory_task SET since = since - interval '1 minute', due_at = now()"
        )
    state = pair.reconciliation.tasks.state()
    assert 60 <= state.lag_seconds < 120
    assert state.compared_at is None


def test_only_one_process_compares_at_a_time(pair: Pair) -> None:
    tasks = pair.reconciliation.tasks
    assert tasks.take_comparison(600)
    assert not tasks.take_comparison(600)
    assert 500 < tasks.seconds_until_comparison() <= 600
