"""A group's transaction: one round trip locks and reads, one writes and commits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg

from holdfast.adapters.postgres.catalog.cache import OfferCache
from holdfast.adapters.postgres.connections.connection import Link, begin
from holdfast.adapters.postgres.connections.pipeline import Pipeline, Row, Rows, Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.adapters.postgres.engine.holdings import HoldingQueries
from holdfast.adapters.postgres.engine.writes import write_group
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.orders import statements as orders_sql
from holdfast.adapters.postgres.orders.rows import order_from_row
from holdfast.adapters.postgres.seats.map_cache import SeatMaps
from holdfast.adapters.postgres.seats.rows import seat_from_row
from holdfast.adapters.postgres.waitlist import statements as waiting_sql
from holdfast.adapters.postgres.waitlist.cache import KeptWaitlist, QueueReading, WaitlistCache
from holdfast.adapters.postgres.waitlist.rows import BusyWaitlists
from holdfast.domain.catalog.model import Pool, SessionCatalog
from holdfast.domain.group.footprint import Resource, ResourceKind, lock_order
from holdfast.domain.group.ledger import Ledger, RecordedAnswer
from holdfast.domain.group.origin import Receipt
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.new_hold import reference_of
from holdfast.domain.ids import OrganizationId, PoolId, SeatId, SessionId, SessionKey
from holdfast.domain.orders.order import Order
from holdfast.domain.seats.seat_plan import Seating
from holdfast.domain.slices import giving_way
from holdfast.ports.privacy.addresses import Addresses
from holdfast.ports.store import CommitToken, CommitUnknown, GroupWrites, Rejected, Wanted

_WAITED_FOR = {
    ResourceKind.WAITLIST: sql.AWAIT_WAITLIST,
    ResourceKind.POOL: sql.AWAIT_POOL,
    ResourceKind.SEAT: sql.AWAIT_SEAT,
    ResourceKind.HOLD: sql.AWAIT_HOLD,
}
_A_SECOND = timedelta(seconds=1)
REFERENCES_PER_BLOCK = 256

# Odd constants that spread neighbouring ids over the 64 bits of a lock's name. A collision only
# makes two resources share a lock.
_ORGANIZATION = 0x9E3779B97F4A7C15F39CC0605CEDC835
_NAME = 0xC2B2AE3D27D4EB4F165667B19E3779F9
_MASK = (1 << 64) - 1


def advisory_name(resource: Resource) -> int:
    """The name of an advisory lock: a signed 64-bit number, the same in every process."""
    mixed = resource.organization_id.int * _ORGANIZATION + resource.name.int * _NAME + resource.kind
    folded = (mixed ^ (mixed >> 64)) & _MASK
    return folded - (1 << 64) if folded >> 63 else folded


class ReferenceNumbers:
    """Numbers in blocks, to ask the sequence once for many holds. The rest of a block is lost when
    the process ends."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0

    def take(self, connection: Statements) -> str:
        if self._next == self._end:
            ((block,),) = connection.execute(sql.REFERENCE_BLOCK)
            self._next = block * REFERENCES_PER_BLOCK
            self._end = self._next + REFERENCES_PER_BLOCK
        self._next += 1
        return reference_of(self._next - 1)


class Memories(NamedTuple):
    """The caches and the stored form of addresses that the lanes of a process share."""

    offers: OfferCache
    seat_maps: SeatMaps
    busy_waitlists: BusyWaitlists
    waitlists: WaitlistCache
    addresses: Addresses


class PostgresGroup:
    def __init__(self, link: Link, memories: Memories, references: ReferenceNumbers) -> None:
        self._link = link
        self._offers, self._seat_maps, self._busy_waitlists, self._waitlists, self._addresses = (
            memories
        )
        self._references = references
        self._queues: Mapping[SessionKey, KeptWaitlist] = {}  # of the locked waitlists
        self._transaction_id = 0
        self.position = 0  # of its facts in their log
        self.is_over = True  # until a transaction is open, there is nothing to roll back

    def lock_and_read(self, wanted: Wanted, wait_for: Resource | None = None) -> Ledger:
        ordered = sorted(wanted.resources, key=lock_order)
        organizations = {resource.organization_id for resource in ordered}
        self._seal(wanted)
        self.is_over = False
        self._link.precedence.is_taken = (
            wait_for is None
        )  # not in a patient lane: its work is large
        with self._link.exchange() as connection:
            begin(connection, organizations, sql.SET_ORGANIZATIONS_OF_GROUP)
            if wait_for is not None and wait_for.kind in _WAITED_FOR:
                connection.execute(_WAITED_FOR[wait_for.kind], wait_for[1:])
            reading = Reading(connection, ordered, wanted, self._waitlists, self._addresses)
            ledger = reading.ledger()
            self._transaction_id = reading.transaction_id
            self.position = reading.position
            ledger.sessions = self._current_sessions(connection, reading.session_versions)
            if ledger.waitlists:
                self._queues = reading.queues
                self._busy_waitlists.saw(ledger.waitlists.values())
                ledger.seatings = self._seatings(connection, ledger, wanted)
            for key in wanted.new_holds:
                ledger.references[key] = self._references.take(connection)
        return ledger

    def _seal(self, wanted: Wanted) -> None:
        """Both are remembered for the write."""
        for organization_id, email in wanted.emails:
            self._addresses.stored(organization_id, email)
        if wanted.attendees:
            for organization_id, attendee in giving_way(wanted.attendees):
                self._addresses.stored_attendee(organization_id, attendee)

    def _seatings(
        self, connection: Pipeline, ledger: Ledger, wanted: Wanted
    ) -> dict[SessionKey, Seating]:
        """With a waitlist, only the owner of its lock changes seats, so this read is exact, unlike
        the survey. The transaction has an id, so its snapshot is not cached."""
        seatings = {}
        for key in wanted.seatings & ledger.waitlists.keys():
            blocks = ledger.sessions[key].blocks
            ranks = {block_id: block.rank for block_id, block in blocks.items()}
            seating = self._seat_maps.follow(connection, key, ranks)
            if seating is not None:
                seatings[key] = seating
        return seatings

    def _current_sessions(
        self, connection: Statements, versions: Iterable[Row]
    ) -> dict[SessionKey, SessionCatalog]:
        """Use cached sessions if their version is current, and load the others."""
        current: dict[SessionKey, int] = {
            (organization_id, session_id): version
            for organization_id, session_id, version in versions
        }
        known = self._offers.known(current)
        stale = [
            key
            for key, version in current.items()
            if key not in known or known[key].version != version
        ]
        return known | self._offers.load(connection, stale) if stale else known

    def write_and_commit(self, writes: GroupWrites) -> None:
        versions = self._new_versions(writes.ledger) if writes.ledger.waitlists else {}
        with self._link.exchange() as connection:
            try:
                write_group(connection, writes, str(self.position), versions, self._addresses)
                commit = connection.execute(sql.COMMIT)
                connection.send()
            except psycopg.Error as error:
                if connection.is_closed or not _is_certainly_rolled_back(error):
                    raise CommitUnknown(self._token(writes)) from None
                raise
            # After a swallowed error, COMMIT rolls back without raising.
            if commit.tag != b"COMMIT":
                raise Rejected(f"COMMIT answered {commit.tag.decode()}")
            self.is_over = True
        if writes.ledger.waitlists:
            self._busy_waitlists.saw(writes.ledger.waitlists.values())
        for key, version in versions.items():
            kept = self._queues[key].after(version, writes.ledger.waitlists[key], self.position)
            self._waitlists.keep(key, kept)

    def _new_versions(self, ledger: Ledger) -> dict[SessionKey, UUID]:
        """The new versions of waitlists that have changed, or have none yet."""
        version = uuid4()
        return {
            key: version
            for key, waitlist in ledger.waitlists.items()
            if waitlist.is_dirty() or self._queues[key].version is None
        }

    def _token(self, writes: GroupWrites) -> CommitToken:
        return CommitToken(self._transaction_id, writes.witness())


def _is_certainly_rolled_back(error: psycopg.Error) -> bool:
    """Whether the error came before COMMIT: true of a plain ERROR, and of a value that the driver
    refuses to send. FATAL, PANIC and a lost connection may have come after it."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.DataError | psycopg.ProgrammingError)
    return error.diag.severity_nonlocalized == "ERROR"


class Reading:
    """The statements of the first round trip, sent together and read afterwards."""

    def __init__(
        self,
        connection: Pipeline,
        ordered: Sequence[Resource],
        wanted: Wanted,
        waitlists: WaitlistCache,
        addresses: Addresses,
    ) -> None:
        self._connection = connection
        self._addresses = addresses
        self._waitlists_kept = waitlists
        self.queues: dict[SessionKey, KeptWaitlist] = {}  # of the locked waitlists
        of_kind: dict[ResourceKind, list[Resource]] = {}
        for resource in ordered:
            of_kind.setdefault(resource.kind, []).append(resource)
        self._advisory = [each for each in ordered if each.kind < ResourceKind.WAITLIST]
        self._waitlists = of_kind.get(ResourceKind.WAITLIST, [])
        self._pools = of_kind.get(ResourceKind.POOL, [])
        self._seats = of_kind.get(ResourceKind.SEAT, [])
        self._holds = of_kind.get(ResourceKind.HOLD, [])
        self._wanted = wanted
        self._known = wanted.known
        names = [advisory_name(resource) for resource in self._advisory]
        shared = [resource.kind is ResourceKind.SESSION for resource in self._advisory]
        self._got = connection.execute(
            sql.TRY_ADVISORY_LOCKS, (rows.wire_array(names), rows.wire_array(shared))
        )
        self._waitlist_rows = self._send(sql.LOCK_WAITLISTS, self._waitlists)
        self._pool_rows = self._send(sql.LOCK_POOLS, self._pools)
        self._seat_rows = self._send(sql.LOCK_SEATS, self._seats)
        self._hold_rows = self._send(sql.LOCK_HOLDS, self._holds)
        self._send_reads(of_kind)
        self._clock = connection.execute(sql.CLOCK)

    def _send(self, statement: str, resources: Sequence[Resource]) -> Rows | None:
        """Skip empty queries."""
        return self._connection.execute(statement, _names(resources)) if resources else None

    def _send_reads(self, of_kind: Mapping[ResourceKind, list[Resource]]) -> None:
        """Send the reads that need the locks."""
        connection, wanted = self._connection, self._wanted
        unseen = [hold for hold in self._holds if hold[1:] not in wanted.known]
        self._existing = self._send(sql.EXISTING_HOLDS, unseen)
        self._queues = self._send_queues() if self._waitlists else None
        self._holdings = (
            HoldingQueries(connection, wanted.holdings, self._addresses.hashes)
            if wanted.holdings
            else None
        )
        sessions = of_kind.get(ResourceKind.SESSION, [])
        self.session_versions: Iterable[Row] = self._send(sql.SESSION_VERSIONS, sessions) or ()
        self._lapsed = self._send(sql.LAPSED_UNITS, self._pools)
        keys = of_kind.get(ResourceKind.IDEMPOTENCY_KEY, [])
        self._answers = self._send(sql.RECORDED_ANSWERS, keys)
        self._receipts = _read_receipts(connection, wanted) if wanted.receipts else None
        payments = rows.wire_columns(wanted.payments) if wanted.payments else None
        self._paid = connection.execute(sql.PAID_ORDERS, payments) if payments else None
        orders = rows.wire_columns(wanted.orders) if wanted.orders else None
        self._orders = connection.execute(orders_sql.ORDER_VERSIONS, orders) if orders else None
        carts = rows.wire_columns(wanted.carts) if wanted.carts else None
        self._carts = connection.execute(waiting_sql.NEWEST_OF_CARTS, carts) if carts else None

    def _send_queues(self) -> QueueReading:
        keys = _session_keys(self._waitlists)
        return QueueReading(self._connection, self._waitlists_kept, keys, self._wanted.parties)

    def ledger(self) -> Ledger:
        ((now, transaction_id, *_),) = self._clock  # tests slow it with one more column
        ledger = Ledger(now=now)
        self.transaction_id: int = transaction_id
        self.position = transaction_id
        for organization_id, pool_id, total, held, sold in self._pool_rows or ():
            ledger.pools[pool_id] = Pool(organization_id, pool_id, total, held, sold)
        for pool_id, second, units, next_units in self._lapsed or ():
            ledger.lapse[pool_id] = {second: units, second + _A_SECOND: next_units}
        for xid, *columns in self._seat_rows or ():
            seat = seat_from_row(columns)
            ledger.seats[seat.id] = seat
            self.position = max(self.position, xid)
        if self._hold_rows is not None:
            ledger.holds = {hold.key: hold for hold in self._locked_holds(self._hold_rows)}
        if self._holdings is not None:
            ledger.holdings = self._holdings.holdings()
        if self._queues is not None:
            self._read_waitlists(ledger, self._queues)
        for organization_id, digest, fingerprint, body in self._answers or ():
            ledger.answers[organization_id, digest] = RecordedAnswer(fingerprint, body)
        for organization_id, consumer, event_id in self._receipts or ():
            ledger.receipts.add((organization_id, Receipt(consumer, event_id)))
        for organization_id, reference, order_id in self._paid or ():
            ledger.paid[organization_id, reference] = order_id
        if self._orders is not None:
            ledger.orders = {order.key: order for order in self._current_orders(self._orders)}
        ledger.carts.update(dict.fromkeys(self._wanted.carts))
        for organization_id, cart, hold_id in self._carts or ():
            ledger.carts[organization_id, cart] = (organization_id, hold_id)
        ledger.skipped = self._skipped(ledger)
        if ledger.holdings and ledger.skipped:
            ledger.forget_unlocked_holdings()
        return ledger

    def _read_waitlists(self, ledger: Ledger, queues: QueueReading) -> None:
        is_settled: dict[SessionKey, bool] = {}
        versions: dict[SessionKey, UUID | None] = {}
        for organization_id, session_id, value, version in self._waitlist_rows or ():
            key: SessionKey = (organization_id, session_id)
            is_settled[key], versions[key] = value, version
        self.queues = queues.states(versions)
        for key, kept in self.queues.items():
            ledger.waitlists[key] = kept.waitlist.copy(is_settled=is_settled[key])
            self.position = max(self.position, kept.position)

    def _locked_holds(self, locked: Rows) -> Iterator[Hold]:
        """As the survey saw them; those changed since are read again."""
        changed = []
        for organization_id, hold_id, version, xid, has_address in locked:
            self.position = max(self.position, xid)
            hold = self._known.get((organization_id, hold_id))
            if (
                hold is not None
                and hold.version == version
                and (hold.holder.email is not None) is has_address
            ):
                yield hold
            else:
                changed.append((organization_id, hold_id))
        if changed:
            columns = rows.wire_columns(changed)
            found = self._connection.execute(sql.SURVEY_HOLDS, columns)
            yield from map(partial(hold_from_row, self._addresses), found)

    def _current_orders(self, versions: Rows) -> Iterator[Order]:
        """As the survey saw them; those changed since are read again."""
        changed = []
        for organization_id, order_id, version in versions:
            order = self._wanted.orders[organization_id, order_id]
            if order.version == version:
                yield order
            else:
                changed.append(order.key)
        if changed:
            columns = rows.wire_columns(changed)
            found = self._connection.execute(orders_sql.SURVEY_ORDERS, columns)
            yield from map(partial(order_from_row, self._addresses), found)

    def _skipped(self, ledger: Ledger) -> frozenset[Resource]:
        skipped = [
            resource
            for resource, (is_mine,) in zip(self._advisory, self._got, strict=True)
            if not is_mine
        ]
        skipped += [each for each in self._waitlists if each[1:] not in ledger.waitlists]
        skipped += [pool for pool in self._pools if PoolId(pool.name) not in ledger.pools]
        if self._seats:
            skipped += self._skipped_seats(ledger)
        existing = set(self._existing or ())
        skipped += [
            hold
            for hold in self._holds
            if hold[1:] not in ledger.holds and (hold[1:] in self._known or hold[1:] in existing)
        ]
        return frozenset(skipped)

    def _skipped_seats(self, ledger: Ledger) -> list[Resource]:
        """A missing seat is locked or does not exist: only then does another query find out."""
        missing = [seat for seat in self._seats if SeatId(seat.name) not in ledger.seats]
        if not missing:
            return []
        existing = set(self._connection.execute(sql.EXISTING_SEATS, _names(missing)))
        return [seat for seat in missing if seat[1:] in existing]


def _read_receipts(connection: Pipeline, wanted: Wanted) -> Rows:
    return connection.execute(sql.RECEIPTS, rows.wire_columns(map(_receipt_row, wanted.receipts)))


def _receipt_row(taken_in: tuple[OrganizationId, Receipt]) -> rows.Row:
    organization_id, receipt = taken_in
    return (organization_id, receipt.consumer, receipt.event_id)


def _session_keys(waitlists: Sequence[Resource]) -> list[SessionKey]:
    return [(resource.organization_id, SessionId(resource.name)) for resource in waitlists]


def _names(resources: Sequence[Resource]) -> tuple[Any, Any]:
    return (
        rows.wire_array([resource.organization_id for resource in resources]),
        rows.wire_array([resource.name for resource in resources]),
    )
