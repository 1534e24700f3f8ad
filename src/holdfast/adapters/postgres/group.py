"""One group's transaction: one round trip locks and reads, one writes and commits."""

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from holdfast.adapters.postgres import rows
from holdfast.adapters.postgres import statements as sql
from holdfast.adapters.postgres.connecting import Connection, Link, begin
from holdfast.adapters.postgres.locks import advisory_name
from holdfast.adapters.postgres.offers import OfferCache
from holdfast.adapters.postgres.references import ReferenceNumbers
from holdfast.domain.commands import Receipt
from holdfast.domain.footprint import Holding, Resource, ResourceKind, lock_order
from holdfast.domain.hold import Hold
from holdfast.domain.ids import OrganizationId, PoolId, SeatId, SessionId, SessionKey
from holdfast.domain.ledger import Ledger, RecordedAnswer
from holdfast.domain.pool import Pool
from holdfast.domain.transitions import Transition, lapse_moves, pool_moves
from holdfast.ports.store import CommitToken, CommitUnknown, GroupWrites, Rejected, Wanted

_WAITED_FOR = {
    ResourceKind.POOL: sql.AWAIT_POOL,
    ResourceKind.SEAT: sql.AWAIT_SEAT,
    ResourceKind.HOLD: sql.AWAIT_HOLD,
}
Cursor = psycopg.Cursor[tuple[Any, ...]]


class PostgresGroup:
    def __init__(self, link: Link, offers: OfferCache, references: ReferenceNumbers) -> None:
        self._link = link
        self._offers = offers
        self._references = references
        self._transaction_id = 0
        self._position = 0  # in the log of facts
        self.is_over = True  # until a transaction is open, there is nothing to roll back

    def lock_and_read(self, wanted: Wanted, wait_for: Resource | None = None) -> Ledger:
        ordered = sorted(wanted.resources, key=lock_order)
        organizations = {resource.organization_id for resource in ordered}
        self.is_over = False
        with self._link.exchange() as connection:
            with connection.pipeline():
                begin(connection, organizations)
                if wait_for is not None and wait_for.kind in _WAITED_FOR:
                    connection.execute(_WAITED_FOR[wait_for.kind], wait_for[1:])
                reading = _Reading(connection, ordered, wanted)
            ledger = reading.ledger()
            self._transaction_id = reading.transaction_id
            self._position = reading.position
            self._check_versions(connection, ledger, reading.session_versions())
            for key in wanted.new_holds:
                ledger.references[key] = self._references.take(connection)
        return ledger

    def _check_versions(
        self, connection: Connection, ledger: Ledger, versions: dict[SessionKey, int]
    ) -> None:
        """What we know of a session counts if its version is still the one in the table."""
        known = self._offers.known(versions)
        stale = [
            key
            for key, version in versions.items()
            if key not in known or known[key].version != version
        ]
        ledger.sessions = known | self._offers.load(connection, stale)

    def write_and_commit(self, writes: GroupWrites) -> None:
        commit: Cursor | None = None
        with self._link.exchange() as connection:
            try:
                with connection.pipeline():
                    _write(connection, writes, str(self._position))
                    commit = connection.execute(sql.COMMIT)
            except psycopg.Error as error:
                if connection.closed or not _is_certainly_rolled_back(error):
                    raise CommitUnknown(self._token(writes)) from None
                raise
            # After an error that somebody swallowed, COMMIT answers ROLLBACK and raises nothing.
            if commit.statusmessage != "COMMIT":
                raise Rejected(f"COMMIT answered {commit.statusmessage}")
            self.is_over = True

    def _token(self, writes: GroupWrites) -> CommitToken:
        return CommitToken(self._transaction_id, writes.witness())


def _is_certainly_rolled_back(error: psycopg.Error) -> bool:
    """A plain ERROR of the server ends the transaction before its COMMIT, and so does a value that
    the driver refuses to send. Whatever ends the session (FATAL, PANIC, silence) may have come
    after it."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.DataError | psycopg.ProgrammingError)
    return error.diag.severity_nonlocalized == "ERROR"


class _Reading:
    """The statements of the first round trip, sent together; their results, read afterwards."""

    def __init__(self, connection: Connection, ordered: Sequence[Resource], wanted: Wanted) -> None:
        self._connection = connection
        self._advisory = [resource for resource in ordered if not resource.kind.is_row]
        self._pools = _of_kind(ordered, ResourceKind.POOL)
        self._seats = _of_kind(ordered, ResourceKind.SEAT)
        self._holds = _of_kind(ordered, ResourceKind.HOLD)
        sessions = _of_kind(ordered, ResourceKind.SESSION)
        keys = _of_kind(ordered, ResourceKind.IDEMPOTENCY_KEY)
        names = [advisory_name(resource) for resource in self._advisory]
        shared = [resource.kind is ResourceKind.SESSION for resource in self._advisory]
        execute = connection.execute
        self._got = execute(sql.TRY_ADVISORY_LOCKS, (rows.array(names), rows.array(shared)))
        self._pool_rows = execute(sql.LOCK_POOLS, _names(self._pools)) if self._pools else None
        self._seat_rows = execute(sql.LOCK_SEATS, _names(self._seats)) if self._seats else None
        self._hold_rows = execute(sql.LOCK_HOLDS, _names(self._holds)) if self._holds else None
        self._known = wanted.known
        unseen = [hold for hold in self._holds if hold[1:] not in wanted.known]
        # Whatever is read below is read when the locks are held.
        self._existing = execute(sql.EXISTING_HOLDS, _names(unseen)) if unseen else None
        self._holdings = [
            (holding, _read_holding(connection, holding)) for holding in wanted.holdings
        ]
        self._versions = execute(sql.SESSION_VERSIONS, _names(sessions)) if sessions else None
        self._lapsed = execute(sql.LAPSED_UNITS, _names(self._pools)) if self._pools else None
        self._answers = execute(sql.RECORDED_ANSWERS, _names(keys)) if keys else None
        self._receipts = _read_receipts(connection, wanted) if wanted.receipts else None
        payments = rows.columns(wanted.payments) if wanted.payments else None
        self._paid = execute(sql.PAID_ORDERS, payments) if payments else None
        self._clock = execute(sql.CLOCK)

    def ledger(self) -> Ledger:
        clock = self._clock.fetchone()
        assert clock is not None
        ledger = Ledger(now=clock[0])
        self.transaction_id: int = clock[1]
        self.position = self.transaction_id
        for organization_id, pool_id, total, held, sold in self._pool_rows or ():
            ledger.pools[pool_id] = Pool(organization_id, pool_id, total, held, sold)
        for pool_id, second, units in self._lapsed or ():
            ledger.lapse.setdefault(pool_id, {})[second] = units
        for row in self._seat_rows or ():
            seat = rows.seat_from_row(row)
            ledger.seats[seat.id] = seat
            self.position = max(self.position, row[-1])
        for hold in self._locked_holds():
            ledger.holds[hold.key] = hold
        for holding, found in self._holdings:
            ledger.holdings[holding.session_key, holding.holder.key] = tuple(
                hold
                for hold in map(rows.hold_from_row, found)
                if hold.holder.is_person(holding.holder)
            )
        for organization_id, digest, fingerprint, body in self._answers or ():
            ledger.answers[organization_id, digest] = RecordedAnswer(fingerprint, body)
        for organization_id, consumer, event_id in self._receipts or ():
            ledger.receipts.add((organization_id, Receipt(consumer, event_id)))
        for organization_id, reference, order_id in self._paid or ():
            ledger.paid[organization_id, reference] = order_id
        ledger.skipped = self._skipped(ledger)
        return ledger

    def _locked_holds(self) -> Iterator[Hold]:
        """As the look ahead saw them; those that have changed since are read anew."""
        changed = []
        for organization_id, hold_id, version, xid in self._hold_rows or ():
            self.position = max(self.position, xid)
            hold = self._known.get((organization_id, hold_id))
            if hold is not None and hold.version == version:
                yield hold
            else:
                changed.append((organization_id, hold_id))
        if changed:
            columns = rows.columns(changed)
            yield from map(rows.hold_from_row, self._connection.execute(sql.SURVEY_HOLDS, columns))

    def _skipped(self, ledger: Ledger) -> frozenset[Resource]:
        skipped = [
            resource
            for resource, (is_mine,) in zip(self._advisory, self._got, strict=True)
            if not is_mine
        ]
        skipped += [pool for pool in self._pools if PoolId(pool.name) not in ledger.pools]
        skipped += self._skipped_seats(ledger)
        existing = set(self._existing or ())
        skipped += [
            hold
            for hold in self._holds
            if hold[1:] not in ledger.holds and (hold[1:] in self._known or hold[1:] in existing)
        ]
        return frozenset(skipped)

    def _skipped_seats(self, ledger: Ledger) -> list[Resource]:
        """A seat that is missing is locked, or it does not exist. The second is rare, so it is
        asked for only then."""
        missing = [seat for seat in self._seats if SeatId(seat.name) not in ledger.seats]
        if not missing:
            return []
        existing = set(self._connection.execute(sql.EXISTING_SEATS, _names(missing)))
        return [seat for seat in missing if seat[1:] in existing]

    def session_versions(self) -> dict[SessionKey, int]:
        return {
            (OrganizationId(organization_id), SessionId(session_id)): version
            for organization_id, session_id, version in self._versions or ()
        }


def _read_holding(connection: Connection, holding: Holding) -> Cursor:
    holder = holding.holder
    if holder.user_id is not None:
        return connection.execute(sql.HOLDINGS_BY_USER, (*holding.session_key, holder.user_id))
    assert holder.email is not None
    parameters = (*holding.session_key, holder.email.normalized)
    return connection.execute(sql.HOLDINGS_BY_EMAIL, parameters)


def _read_receipts(connection: Connection, wanted: Wanted) -> Cursor:
    return connection.execute(sql.RECEIPTS, rows.columns(map(_receipt_row, wanted.receipts)))


def _receipt_row(taken_in: tuple[OrganizationId, Receipt]) -> rows.Row:
    organization_id, receipt = taken_in
    return (organization_id, receipt.consumer, receipt.event_id)


def _of_kind(resources: Sequence[Resource], kind: ResourceKind) -> list[Resource]:
    return [resource for resource in resources if resource.kind is kind]


def _names(resources: Sequence[Resource]) -> tuple[str, str]:
    return (
        rows.array([resource.organization_id for resource in resources]),
        rows.array([resource.name for resource in resources]),
    )


def _write(connection: Connection, writes: GroupWrites, position: str) -> None:
    """Everything in a handful of set-based statements."""
    now, transitions = writes.ledger.now, writes.transitions
    if transitions:
        _write_pools(connection, writes)
        _write_lapse(connection, writes.ledger, transitions)
        _write_holds(connection, writes, position)
    seats = writes.changed_seats()
    if seats:
        changed = rows.columns(map(rows.changed_seat_row, seats))
        connection.execute(sql.UPDATE_SEATS, (position, *changed))
    if transitions or seats:
        facts = rows.columns(map(rows.fact_row, writes.facts()))
        connection.execute(sql.INSERT_FACTS, (now, position, *facts))
        entries = rows.columns(map(rows.audit_row, writes.audit()))
        connection.execute(sql.INSERT_AUDIT, (now, *entries))
    if writes.checkouts or writes.orders:
        _write_orders(connection, writes)
    if writes.answers:
        _write_answers(connection, writes)


def _write_orders(connection: Connection, writes: GroupWrites) -> None:
    now = writes.ledger.now
    if writes.checkouts:
        checkouts = rows.columns(map(rows.checkout_row, writes.checkouts))
        connection.execute(sql.INSERT_CHECKOUTS, (now, *checkouts))
    if writes.orders:
        orders = rows.columns(map(rows.order_row, writes.orders))
        connection.execute(sql.INSERT_ORDERS, (now, *orders))
        tickets = (ticket for order in writes.orders for ticket in rows.ticket_rows(order))
        connection.execute(sql.INSERT_TICKETS, rows.columns(tickets))


def _write_answers(connection: Connection, writes: GroupWrites) -> None:
    now = writes.ledger.now
    answers = [
        (key.organization_id, key.digest, answer.fingerprint, answer.body)
        for key, answer in writes.answers
        if key.receipt is None
    ]
    receipts = [
        _receipt_row((key.organization_id, key.receipt))
        for key, _ in writes.answers
        if key.receipt is not None
    ]
    if answers:
        connection.execute(sql.INSERT_ANSWERS, (now, *rows.columns(answers)))
    if receipts:
        connection.execute(sql.INSERT_RECEIPTS, (now, *rows.columns(receipts)))


def _write_pools(connection: Connection, writes: GroupWrites) -> None:
    moved = [writes.ledger.pools[pool_id] for pool_id in pool_moves(writes.transitions)]
    if moved:
        counters = rows.columns(
            (pool.organization_id, pool.id, pool.held, pool.sold) for pool in moved
        )
        connection.execute(sql.UPDATE_POOLS, counters)


def _write_lapse(connection: Connection, ledger: Ledger, transitions: Sequence[Transition]) -> None:
    moves = [
        (ledger.pools[pool_id].organization_id, pool_id, second, units)
        for (pool_id, second), units in lapse_moves(transitions).items()
    ]
    added = [move for move in moves if move[3] > 0]
    subtracted = [move for move in moves if move[3] < 0]
    if added:
        connection.execute(sql.ADD_LAPSE, rows.columns(added))
    if subtracted:
        columns = rows.columns(subtracted)
        connection.execute(sql.SUBTRACT_LAPSE, columns)
        connection.execute(sql.DELETE_EMPTY_LAPSE, columns[:3])


def _write_holds(connection: Connection, writes: GroupWrites, position: str) -> None:
    now = writes.ledger.now
    new = [transition.after for transition in writes.transitions if transition.before is None]
    # A hold may change more than once in a group; its last state is the one to write.
    changed = {
        transition.after.key: transition.after
        for transition in writes.transitions
        if transition.before is not None
    }
    if new:
        connection.execute(
            sql.INSERT_HOLDS, (now, now, now, position, *rows.columns(map(rows.new_hold_row, new)))
        )
        lines = (line for hold in new for line in rows.line_rows(hold))
        connection.execute(sql.INSERT_LINES, rows.columns(lines))
    if changed:
        columns = rows.columns(map(rows.changed_hold_row, changed.values()))
        connection.execute(sql.UPDATE_HOLDS, (position, *columns))
