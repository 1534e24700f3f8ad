"""Writes a group's results in a few set-based statements."""

from collections.abc import Sequence
from itertools import islice

from holdfast.adapters.postgres.audit.rows import audit_row
from holdfast.adapters.postgres.connections.pipeline import Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.facts.rows import fact_row
from holdfast.adapters.postgres.holds.writes import write_holds
from holdfast.adapters.postgres.orders.rows import checkout_row, order_row, ticket_rows
from holdfast.adapters.postgres.seats.rows import changed_seat_row
from holdfast.adapters.postgres.waitlist.rows import write_places, write_queues
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.transitions import Transition, lapse_moves, pool_moves
from holdfast.ports.store import GroupWrites

# Converting more rows at once would keep the interpreter busy for too long.
TICKETS_PER_STATEMENT = 1_000


def write_group(connection: Statements, writes: GroupWrites, position: str) -> None:
    """`position` is the position of the group's facts in the log."""
    now, transitions = writes.ledger.now, writes.transitions
    if transitions:
        _write_pools(connection, writes)
        _write_lapse(connection, writes.ledger, transitions)
        write_holds(connection, writes, position)
        if any(each.after.waiting or (each.before and each.before.waiting) for each in transitions):
            write_places(connection, writes.waiting_places())
    if writes.ledger.waitlists:
        write_queues(connection, writes.ledger.waitlists.values())
    seats = writes.changed_seats() if writes.ledger.seats else []
    if seats:
        changed = rows.columns(map(changed_seat_row, seats))
        connection.execute(sql.UPDATE_SEATS, (position, *changed))
    if transitions or seats:
        facts = rows.columns(map(fact_row, writes.facts()))
        connection.execute(sql.INSERT_FACTS, (now, position, *facts))
        entries = rows.columns(map(audit_row, writes.audit()))
        connection.execute(sql.INSERT_AUDIT, (now, *entries))
    if writes.checkouts or writes.orders:
        _write_orders(connection, writes)
    if writes.answers:
        _write_answers(connection, writes)


def _write_orders(connection: Statements, writes: GroupWrites) -> None:
    now = writes.ledger.now
    if writes.checkouts:
        checkouts = rows.columns(map(checkout_row, writes.checkouts))
        connection.execute(sql.INSERT_CHECKOUTS, (now, *checkouts))
    if writes.orders:
        orders = rows.columns(map(order_row, writes.orders))
        connection.execute(sql.INSERT_ORDERS, (now, *orders))
        tickets = (ticket for order in writes.orders for ticket in ticket_rows(order))
        while some := list(islice(tickets, TICKETS_PER_STATEMENT)):
            connection.execute(sql.INSERT_TICKETS, rows.columns(some))


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
        connection.execute(sql.INSERT_ANSWERS, (now, *rows.columns(answers)))
    if receipts:
        connection.execute(sql.INSERT_RECEIPTS, (now, *rows.columns(receipts)))


def _write_pools(connection: Statements, writes: GroupWrites) -> None:
    moved = [writes.ledger.pools[pool_id] for pool_id in pool_moves(writes.transitions)]
    if moved:
        counters = rows.columns(
            (pool.organization_id, pool.id, pool.held, pool.sold) for pool in moved
        )
        connection.execute(sql.UPDATE_POOLS, counters)


def _write_lapse(connection: Statements, ledger: Ledger, transitions: Sequence[Transition]) -> None:
    added: list[rows.Row] = []
    subtracted: list[rows.Row] = []
    for (pool_id, second), units in lapse_moves(transitions).items():
        move = (ledger.pools[pool_id].organization_id, pool_id, second, units)
        if units:
            (added if units > 0 else subtracted).append(move)
    if added:
        connection.execute(sql.ADD_LAPSE, rows.columns(added))
    if subtracted:
        *buckets, subtractions = rows.columns(subtracted)
        connection.execute(sql.SUBTRACT_LAPSE, (*buckets, subtractions))
        connection.execute(sql.DELETE_EMPTY_LAPSE, buckets)
