"""Writes the reconciler's tasks, in the transaction that changes the holds."""

from itertools import groupby
from operator import attrgetter

from holdfast.adapters.postgres.connections.pipeline import Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldKey
from holdfast.domain.orders.cancellation import Cancellation
from holdfast.ports.inventory.service import SECONDS_TO_SETTLE, SECONDS_TO_TELL
from holdfast.ports.store import GroupWrites


def write_inventory_tasks(connection: Statements, writes: GroupWrites, position: str) -> None:
    """A hold that has become active is settled: the Inventory Service has reserved its places. So
    is one for which it certainly reserved nothing. Later, only the end of a hold and cancelled
    tickets concern that service."""
    remote = _remote_transitions(writes)
    if not (remote or writes.order_changes):
        return
    final = {each.after.key: each.after for each in remote}
    changed = {each.after.key for each in remote if _concerns_inventory(each)}
    agreed = {each.after.key for each in remote if each.is_agreed}
    settled = [key for key in changed if key in agreed or final[key].occupies_places()]
    tasks = {key: _seconds_for(final[key]) for key in changed.difference(settled)}
    tasks |= {key: SECONDS_TO_TELL for each in writes.cancellations for key in _remote_holds(each)}
    if tasks:
        columns = rows.wire_columns((*key, seconds) for key, seconds in tasks.items())
        connection.execute(sql.UPSERT_INVENTORY_TASKS, (position, writes.ledger.now, *columns))
    if settled:
        connection.execute(sql.DELETE_INVENTORY_TASKS, rows.wire_columns(settled))


def _remote_transitions(writes: GroupWrites) -> list[Transition]:
    """Nearly all holds draw from a pool: this costs them no call."""
    return [
        each
        for each in writes.transitions
        if (lines := each.after.lines) and not lines[0].pool_ids and lines[0].is_remote
    ]


def _concerns_inventory(transition: Transition) -> bool:
    before = transition.before
    return before is None or before.status is not transition.after.status


def _seconds_for(hold: Hold) -> int:
    return SECONDS_TO_SETTLE if hold.is_pending() else SECONDS_TO_TELL


def _remote_holds(cancellation: Cancellation) -> set[HoldKey]:
    """There may be thousands of places, of a few holds."""
    holds = groupby(cancellation.places, attrgetter("hold"))
    return {hold.key for hold, _ in holds if hold.is_remote}
