"""Writes the holds of a group and their lines."""

from collections.abc import Collection, Sequence

from holdfast.adapters.postgres.connections.pipeline import Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.holds.rows import (
    changed_hold_row,
    contents_row,
    line_row,
    line_row_with_more,
    new_hold_row,
)
from holdfast.domain.group.transitions import FactType, Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldKey
from holdfast.ports.store import GroupWrites


def write_holds(connection: Statements, writes: GroupWrites, position: str) -> None:
    """Ends come first: a cart may release one hold and get another in the same group. For the same
    reason, a new hold is inserted in its final state."""
    now = writes.ledger.now
    changed = writes.changed_holds()
    new = {
        each.after.key: changed.get(each.after.key, each.after)
        for each in writes.transitions
        if each.before is None
    }
    before = [hold for key, hold in changed.items() if key not in new]
    after = [hold for key, hold in changed.items() if key in new]
    if before:
        _update(connection, before, writes, position)
    if new:
        columns = rows.columns(map(new_hold_row, new.values()))
        connection.execute(sql.INSERT_HOLDS, (now, now, position, *columns))
    if after:
        _update(connection, after, writes, position)
    _write_lines(connection, writes.transitions)


def _update(
    connection: Statements, holds: Collection[Hold], writes: GroupWrites, position: str
) -> None:
    contents = _with_other_contents(writes.transitions)
    other = [contents_row(hold) for hold in holds if hold.key in contents]
    if other:
        connection.execute(sql.UPDATE_CONTENTS, rows.columns(other))
    changed = rows.columns(map(changed_hold_row, holds))
    connection.execute(sql.UPDATE_HOLDS, (position, *changed))


def _with_other_contents(transitions: Sequence[Transition]) -> set[HoldKey]:
    return {
        each.after.key
        for each in transitions
        if each.changes_lines or each.fact_type is FactType.HOLD_PROMOTED
    }


def _write_lines(connection: Statements, transitions: Sequence[Transition]) -> None:
    """A line may be added and removed again in the same group."""
    plain: list[rows.Row] = []
    with_more: list[rows.Row] = []
    removed: list[rows.Row] = []
    for transition in transitions:
        hold = transition.after
        if transition.before is not None and not transition.changes_lines:
            continue
        added = hold.lines if transition.before is None else transition.added_lines()
        for line in added:
            if hold.version == 1 and line.item is None and line.wish is None:
                plain.append(line_row(hold, line))
            else:
                with_more.append(line_row_with_more(hold, line))
        if transition.before is not None:
            removed += (
                (hold.organization_id, hold.id, line.number, hold.version)
                for line in transition.removed_lines()
            )
    if plain:
        connection.execute(sql.INSERT_LINES, rows.columns(plain))
    if with_more:
        connection.execute(sql.INSERT_LINES_WITH_MORE, rows.columns(with_more))
    if removed:
        connection.execute(sql.REMOVE_LINES, rows.columns(removed))
