"""The reconciler's tasks and its comparisons."""

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.adapters.postgres.engine.rows import ids_array
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.inventory import reconciler_statements as sql
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.ports.inventory.reconciliation import (
    PROBLEM_LENGTH_MAX,
    Compared,
    InventoryTask,
    ReconcilerState,
    StuckTask,
)


class PostgresInventoryTasks:
    """Implements InventoryTasks and Comparisons."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, limit: int, lease_seconds: float) -> Sequence[InventoryTask]:
        with self._database.transaction() as connection:
            rows = connection.execute(sql.TAKE_TASKS, (limit, lease_seconds)).fetchall()
        return [InventoryTask(*row) for row in rows]

    def add(
        self, organization_id: OrganizationId, hold_id: HoldId, lease_seconds: float
    ) -> InventoryTask | None:
        with self._database.transaction(organization_id) as connection:
            asked = (organization_id, hold_id, lease_seconds)
            row = connection.execute(sql.ADD_TASK, asked).fetchone()
        return None if row is None else InventoryTask(*row)

    def done(self, task: InventoryTask) -> bool:
        return self._change(task, sql.DELETE_TASK)

    def postpone(
        self, task: InventoryTask, seconds: float, problem: str, *, is_contradiction: bool
    ) -> None:
        shown = problem[:PROBLEM_LENGTH_MAX]
        self._change(task, sql.POSTPONE_TASK, seconds, shown, is_contradiction)

    def _change(self, task: InventoryTask, statement: str, *values: Any) -> bool:
        same = (task.organization_id, task.hold_id, task.position)
        with self._database.transaction(task.organization_id) as connection:
            return connection.execute(statement, (*values, *same)).rowcount == 1

    def stuck(self, organizations: Iterable[OrganizationId], limit: int) -> Sequence[StuckTask]:
        named = tuple(organizations)
        with self._database.transaction(*named) as connection:
            rows = connection.execute(sql.STUCK_TASKS, (ids_array(named), limit)).fetchall()
        return [StuckTask(*row) for row in rows]

    def state(self) -> ReconcilerState:
        with self._database.transaction() as connection:
            row = connection.execute(sql.STATE).fetchone()
        assert row is not None
        tasks, tried, contradictions, lag_seconds, compared_at, *counts = row
        return ReconcilerState(
            tasks, tried, contradictions, max(0.0, lag_seconds), compared_at, Compared(*counts)
        )

    def take_comparison(self, interval_seconds: float) -> bool:
        with self._database.transaction() as connection:
            return connection.execute(sql.TAKE_COMPARISON, (interval_seconds,)).rowcount == 1

    def seconds_until_comparison(self) -> float:
        with self._database.transaction() as connection:
            row = connection.execute(sql.SECONDS_UNTIL_COMPARISON).fetchone()
        assert row is not None
        return float(row[0])

    def compared(self, result: Compared) -> None:
        counts = (result.reservations, result.holds, result.differences, result.mended)
        with self._database.transaction() as connection:
            connection.execute(sql.COMPARED, counts)
