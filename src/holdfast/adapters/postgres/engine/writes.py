"""Writes a group's results in a few set-based statements."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain, groupby, islice
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.audit.rows import audit_rows
from holdfast.adapters.postgres.connections.pipeline import Pipeline, Row, Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.facts.rows import fact_row, ticket_fact_row
from holdfast.adapters.postgres.holds.rows import (
    changed_hold_row,
    contents_row,
    line_row,
    line_row_with_more,
    new_hold_row,
)
from holdfast.adapters.postgres.inventory.task_writes import write_inventory_tasks
from holdfast.adapters.postgres.orders.rows import (
    changed_order_row,
    checkout_row,
    order_row,
    ticket_rows,
    void_ticket_rows,
)
from holdfast.adapters.postgres.seats.rows import changed_seat_row
from holdfast.adapters.postgres.waitlist.rows import write_places, write_queues
from holdfast.domain.facts import Fact
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.transitions import FactType, Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldKey, SessionKey
from holdfast.domain.slices import Rests
from holdfast.ports.privacy.addresses import Addresses
from holdfast.ports.store import GroupWrites

# PostgreSQL inserts them in a few milliseconds, in which it keeps one processor busy.
TICKETS_PER_STATEMENT = FACTS_PER_STATEMENT = 250
# PostgreSQL begins to write the holds of larger groups while their facts are prepared.
WRITTEN_AT_ONCE_MAX = 4

# To a hold that had none before.
_GIVES_PLACES = {FactType.HOLD_PROMOTED, FactType.HOLD_CREATED}

_TABLE = re.compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


class JoinedStatements:
    """Statements that write to different tables, executed as one: every statement has a fixed
    price, in PostgreSQL and here, that a group of one hold pays alone. The parts see the same
    snapshot and run in no particular order, so each may write to one table and read no other.
    Statements for the same table run one after the other, in the order given."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._tables: set[str] = set()
        self._statements: list[str] = []
        self._parameters: list[Any] = []

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Iterable[Row]:
        """Returns no rows."""
        table = _table_of(statement)
        if table in self._tables:
            self.queue()
        self._tables.add(table)
        self._statements.append(statement)
        self._parameters += parameters
        return ()

    def queue(self) -> None:
        """Queue the statements so far as one."""
        if self._statements:
            self._pipeline.execute(_joined(tuple(self._statements)), self._parameters)
        self._tables, self._statements, self._parameters = set(), [], []

    def start(self) -> None:
        self.queue()
        self._pipeline.start()

    def send(self) -> None:
        self.queue()
        self._pipeline.send()


@cache
def _table_of(statement: str) -> str:
    match = _TABLE.match(statement)
    assert match is not None, statement
    return match[1]


@cache
def _joined(statements: Sequence[str]) -> str:
    *others, last = statements
    if not others:
        return last
    named = ", ".join(f"s{number} AS ({each})" for number, each in enumerate(others))
    return f"WITH {named} {last}"


def write_group(
    pipeline: Pipeline,
    writes: GroupWrites,
    position: str,
    versions: Mapping[SessionKey, UUID],
    addresses: Addresses,
) -> None:
    """`position` is the position of the group's facts in the log; `versions` are the new ones of
    waitlists."""
    connection = JoinedStatements(pipeline)
    now, transitions = writes.ledger.now, writes.transitions
    if transitions or writes.order_changes:
        _write_pools(connection, writes)
    if transitions:
        _write_lapse(connection, writes.ledger)
        _write_holds(connection, writes, position, addresses)
        waiting = [
            each
            for each in transitions
            if each.after.waiting or (each.before and each.before.waiting)
        ]
        if waiting:
            # Otherwise, other processes would not notice the change.
            assert all(each.after.session_key in versions for each in waiting)
            write_places(connection, writes.waiting_places())
    if versions:
        write_queues(connection, writes.ledger.waitlists, versions)
    seats = writes.ledger.moved_seats
    if seats:
        changed = rows.wire_columns(map(changed_seat_row, seats.values()))
        connection.execute(sql.UPDATE_SEATS, (position, *changed))
    if len(transitions) > WRITTEN_AT_ONCE_MAX:
        connection.start()
    if writes.order_changes:
        _write_order_changes(connection, writes, position)
    if writes.cancellations:
        _write_facts_in_turns(connection, writes, position)
    elif transitions or writes.seat_transitions:
        facts = rows.wire_columns(map(fact_row, writes.facts()))
        connection.execute(sql.INSERT_FACTS, (now, position, *facts))
    if transitions or seats or writes.order_changes or writes.entries:
        entries = rows.wire_columns(audit_rows(writes.audit(), addresses.hashes))
        connection.execute(sql.INSERT_AUDIT, (now, *entries))
    if writes.checkouts or writes.orders:
        _write_orders(connection, writes, addresses)
    write_inventory_tasks(connection, writes, position)
    if writes.answers:
        _write_answers(connection, writes)
    connection.queue()


def _write_orders(connection: JoinedStatements, writes: GroupWrites, addresses: Addresses) -> None:
    """PostgreSQL and this thread take turns on a large order, with pauses for everybody else."""
    now = writes.ledger.now
    if writes.checkouts:
        checkouts = rows.wire_columns(map(checkout_row, writes.checkouts))
        connection.execute(sql.INSERT_CHECKOUTS, (now, *checkouts))
    if writes.orders:
        orders = rows.wire_columns(order_row(addresses, order) for order in writes.orders)
        connection.execute(sql.INSERT_ORDERS, (now, *orders))
        tickets = (ticket for order in writes.orders for ticket in ticket_rows(addresses, order))
        is_large = any(len(order.tickets) > TICKETS_PER_STATEMENT for order in writes.orders)
        count = sum(len(order.tickets) for order in writes.orders)
        rests = Rests(count // TICKETS_PER_STATEMENT)
        while some := list(islice(tickets, TICKETS_PER_STATEMENT)):
            connection.execute(sql.INSERT_TICKETS, rows.wire_columns(some))
            if is_large:
                with rests.after_step():
                    connection.send()


def _write_order_changes(connection: JoinedStatements, writes: GroupWrites, position: str) -> None:
    """Of an order or a ticket that was changed twice, the last state counts."""
    orders = {each.after.key: each.after for each in writes.order_changes}
    changed = rows.wire_columns(map(changed_order_row, orders.values()))
    connection.execute(sql.UPDATE_ORDERS, changed)
    cancelled = {
        (each.after.organization_id, hold_id)
        for each in writes.cancellations
        for hold_id in each.after.hold_ids
    }
    if cancelled:
        connection.execute(sql.FOLLOW_HOLDS, (position, *rows.wire_columns(cancelled)))
    void = chain.from_iterable(map(void_ticket_rows, writes.order_changes))
    tickets = iter({row[:2]: row for row in void}.values())
    while some := list(islice(tickets, TICKETS_PER_STATEMENT)):
        connection.execute(sql.VOID_TICKETS, rows.wire_columns(some))
        if len(some) == TICKETS_PER_STATEMENT:
            connection.send()


def _write_facts_in_turns(connection: JoinedStatements, writes: GroupWrites, position: str) -> None:
    """Those of tickets have a statement of their own. In turns, all facts keep their order."""
    now = writes.ledger.now
    for is_of_ticket, facts in groupby(writes.facts(), _is_of_ticket):
        statement = sql.INSERT_TICKET_FACTS if is_of_ticket else sql.INSERT_FACTS
        found = map(ticket_fact_row if is_of_ticket else fact_row, facts)
        while some := list(islice(found, FACTS_PER_STATEMENT)):
            connection.execute(statement, (now, position, *rows.wire_columns(some)))
            if len(some) == FACTS_PER_STATEMENT:
                connection.send()


def _is_of_ticket(fact: Fact) -> bool:
    return fact.ticket_id is not None


def _write_answers(connection: Statements, writes: GroupWrites) -> None:
    now = writes.ledger.now
    answers = [
        (key.organization_id, key.digest, answer.fingerprint, answer.body)
        for key, answer in writes.answers
        if key.receipt is None
    ]
    receipts = [
        (key.organization_id, key.receipt.consumer, key.receipt.event_id)
        for key, _ in writes.answers
        if key.receipt is not None
    ]
    if answers:
        connection.execute(sql.INSERT_ANSWERS, (now, *rows.wire_columns(answers)))
    if receipts:
        connection.execute(sql.INSERT_RECEIPTS, (now, *rows.wire_columns(receipts)))


def _write_pools(connection: Statements, writes: GroupWrites) -> None:
    moved = [writes.ledger.pools[pool_id] for pool_id in writes.ledger.moved_pools]
    if moved:
        counters = rows.wire_columns(
            (pool.organization_id, pool.id, pool.held, pool.sold) for pool in moved
        )
        connection.execute(sql.UPDATE_POOLS, counters)


def _write_lapse(connection: Statements, ledger: Ledger) -> None:
    added: list[rows.Row] = []
    subtracted: list[rows.Row] = []
    for (pool_id, second), units in ledger.moved_lapse.items():
        move = (ledger.pools[pool_id].organization_id, pool_id, second, units)
        if units:
            (added if units > 0 else subtracted).append(move)
    if added:
        connection.execute(sql.ADD_LAPSE, rows.wire_columns(added))
    if subtracted:
        *buckets, subtractions = rows.wire_columns(subtracted)
        connection.execute(sql.SUBTRACT_LAPSE, (*buckets, subtractions))
        connection.execute(sql.DELETE_EMPTY_LAPSE, buckets)


def _write_holds(
    connection: Statements, writes: GroupWrites, position: str, addresses: Addresses
) -> None:
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
        _update_holds(connection, before, writes, position, addresses)
    if new:
        columns = rows.wire_columns(map(partial(new_hold_row, addresses), new.values()))
        connection.execute(sql.INSERT_HOLDS, (now, now, position, *columns))
    if after:
        _update_holds(connection, after, writes, position, addresses)
    _write_lines(connection, writes.transitions)


def _update_holds(
    connection: Statements,
    holds: Collection[Hold],
    writes: GroupWrites,
    position: str,
    addresses: Addresses,
) -> None:
    contents = _with_other_contents(writes.transitions)
    other = [contents_row(addresses, hold) for hold in holds if hold.key in contents]
    if other:
        connection.execute(sql.UPDATE_CONTENTS, rows.wire_columns(other))
    changed = rows.wire_columns(map(changed_hold_row, holds))
    connection.execute(sql.UPDATE_HOLDS, (position, *changed))


def _with_other_contents(transitions: Sequence[Transition]) -> set[HoldKey]:
    return {
        each.after.key
        for each in transitions
        if each.changes_lines or (each.before is not None and each.fact_type in _GIVES_PLACES)
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
        connection.execute(sql.INSERT_LINES, rows.wire_columns(plain))
    if with_more:
        connection.execute(sql.INSERT_LINES_WITH_MORE, rows.wire_columns(with_more))
    if removed:
        connection.execute(sql.REMOVE_LINES, rows.wire_columns(removed))
