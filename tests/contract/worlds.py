"""Test access to each store: put something on sale, let time pass, read the rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from secrets import token_bytes
from typing import Any
from uuid import UUID, uuid4

import psycopg

from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS, hold_from_row
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.adapters.postgres.seats.rows import SEAT_COLUMNS, seat_from_row
from holdfast.domain.catalog.model import Offer, Pool, SeatBlock, SessionCatalog
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.plan import resources_of
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import CheckoutId, HoldId, OrderId, PoolId, SeatId
from holdfast.domain.orders.convert_holds import ConvertHolds
from holdfast.domain.orders.order import SEED_BYTES, Checkout, Order, Purchase
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.seats.seat import Seat
from holdfast.domain.values import Money
from holdfast.ports.orders import OrderFilter
from holdfast.ports.paging import PAGE_SIZE_MAX, PageRequest
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES
from holdfast.ports.store import GroupWrites, Store, Wanted
from tests.contract.managing import MemoryManager, PostgresManager
from tests.contract.seen import AuditSeen, FactSeen, HoldSeen, SeatSeen, seen_hold, seen_seat
from tests.contract.tables import Connection, insert_venue
from tests.contract.venues import ORIGIN, Plan, Venue, empty_venue
from tests.support.memory import MemoryStore


class _World:
    """Everything both worlds share."""

    store: Store

    def venue(
        self,
        pools: Mapping[str, int],
        ticket_types: Mapping[str, tuple[str, ...]],
        ttl_seconds: int = 600,
        quantity_max: int = 10_000,
    ) -> Venue:
        return self.build(Plan(pools, ticket_types, HoldPolicy(ttl_seconds, quantity_max)))

    def build(self, plan: Plan, beside: Venue | None = None) -> Venue:
        raise NotImplementedError

    def sell(self, hold: Hold) -> None:
        """Convert the hold without an engine."""
        command = ConvertHolds(
            hold.organization_id,
            (hold.id,),
            Purchase(OrderId(uuid4()), token_bytes(SEED_BYTES)),
            ORIGIN,
        )
        connection = self.store.connect()
        with connection.group() as group:
            ledger = group.lock_and_read(Wanted(frozenset(resources_of([hold]))))
            decision = command.decide(ledger)
            assert decision.order is not None, decision
            ledger.apply(decision.transitions)
            group.write_and_commit(
                GroupWrites(
                    ledger,
                    decision.transitions,
                    [],
                    orders=[decision.order],
                    changes=[*decision.transitions, decision.order],
                )
            )
        connection.close()

    def lapse_units(self, pool_id: PoolId) -> int:
        return sum(self.lapse(pool_id).values())

    def lapse(self, pool_id: PoolId) -> dict[datetime, int]:
        raise NotImplementedError

    def hold(self, venue: Venue, hold_id: HoldId) -> Hold:
        return next(hold for hold in self.all_holds(venue) if hold.id == hold_id)

    def holds(self, venue: Venue) -> dict[HoldId, HoldSeen]:
        return {hold.id: seen_hold(hold) for hold in self.all_holds(venue)}

    def seats(self, venue: Venue) -> dict[str, SeatSeen]:
        found = self.all_seats(venue)
        return {name: seen_seat(found[place.id]) for name, place in venue.places.items()}

    def held_until(self, venue: Venue) -> dict[str, datetime | None]:
        found = self.all_seats(venue)
        return {name: found[place.id].held_until for name, place in venue.places.items()}

    def position(self, hold: Hold) -> int | None:
        seen = self.readers().waiting_position(hold.organization_id, hold.id)
        return None if seen is None else seen.position

    def is_settled(self, venue: Venue) -> bool:
        unsettled = self.readers().unsettled_sessions(1000)
        return (venue.organization_id, venue.session_id) not in unsettled

    def readers(self) -> MemoryStore | PostgresHolds:
        raise NotImplementedError

    def all_holds(self, venue: Venue) -> list[Hold]:
        raise NotImplementedError

    def all_seats(self, venue: Venue) -> dict[SeatId, Seat]:
        raise NotImplementedError


@dataclass
class MemoryWorld(_World, MemoryManager):
    offset: timedelta = timedelta()
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lambda: datetime.now(UTC) + self.offset)

    def build(self, plan: Plan, beside: Venue | None = None) -> Venue:
        venue = empty_venue(plan, beside)
        organization_id = venue.organization_id
        offers = {
            venue.ticket_types[name]: Offer(
                Money(4500, plan.currency),
                tuple(venue.pools[pool] for pool in drawn),
                plan.policy,
                is_seated=name in plan.hall.seated,
            )
            for name, drawn in plan.all_types.items()
        }
        blocks = {
            venue.blocks[name]: SeatBlock(
                name,
                rank,
                venue.pools.get(f"{name} capacity"),
                {venue.ticket_types[sold]: 4500 for sold in plan.hall.sold_in.get(name, ())},
            )
            for rank, name in enumerate(plan.hall.blocks)
        }
        session = SessionCatalog(
            organization_id,
            venue.session_id,
            1,
            plan.currency,
            offers,
            plan.event_id,
            plan.sale,
            blocks,
        )
        self.store.put_on_sale(
            session,
            [
                Pool(organization_id, venue.pools[name], total)
                for name, total in plan.all_pools.items()
            ],
            [Seat(organization_id, venue.session_id, place) for place in venue.places.values()],
        )
        return venue

    def close(self) -> None:
        """Nothing to close."""

    def readers(self) -> MemoryStore:
        return self.store

    def let_pass(self, venue: Venue, seconds: int) -> None:
        del venue  # one clock for all venues
        self.offset += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return self.store.clock()

    def pool(self, pool_id: PoolId) -> Pool:
        return self.store.pools[pool_id]

    def lapse(self, pool_id: PoolId) -> dict[datetime, int]:
        return dict(self.store.lapse.get(pool_id, {}))

    def all_holds(self, venue: Venue) -> list[Hold]:
        holds = self.store.stored_holds.values()
        return [hold for hold in holds if hold.organization_id == venue.organization_id]

    def all_seats(self, venue: Venue) -> dict[SeatId, Seat]:
        del venue  # ids are unique
        return self.store.seats

    def checkout(self, venue: Venue, checkout_id: CheckoutId) -> Checkout | None:
        return self.store.checkouts.get((venue.organization_id, checkout_id))

    def orders(self, venue: Venue) -> dict[OrderId, Order]:
        return {
            order.id: order
            for order in self.store.orders.values()
            if order.organization_id == venue.organization_id
        }

    def facts(self, venue: Venue) -> list[FactSeen]:
        return [
            FactSeen(fact.type.value, fact.hold_id, fact.version, fact.seat_id)
            for fact in self.store.facts
            if fact.organization_id == venue.organization_id
        ]

    def payloads(self, venue: Venue) -> list[tuple[str, dict[str, Any]]]:
        return [
            (fact.type.value, fact.payload)
            for fact in self.store.facts
            if fact.organization_id == venue.organization_id
        ]

    def audit(self, venue: Venue) -> list[AuditSeen]:
        return [
            AuditSeen(
                row.action,
                row.hold_id,
                row.origin.actor,
                str(row.old["status"]) if row.old else None,
                str(row.new["status"]) if "status" in row.new else None,
                row.seat_id,
            )
            for row in self.store.audit
            if row.organization_id == venue.organization_id
        ]

    def audit_values(self, venue: Venue) -> list[dict[str, Any]]:
        rows = self.store.audit
        return [row.new for row in rows if row.organization_id == venue.organization_id]

    @contextmanager
    def locked_elsewhere(self, venue: Venue, pool_id: PoolId) -> Iterator[None]:
        with self._locked({Resource(ResourceKind.POOL, venue.organization_id, pool_id)}):
            yield

    @contextmanager
    def seats_locked_elsewhere(self, venue: Venue, *names: str) -> Iterator[None]:
        seats = venue.seat_ids(*names)
        with self._locked(
            {Resource(ResourceKind.SEAT, venue.organization_id, seat_id) for seat_id in seats}
        ):
            yield

    @contextmanager
    def _locked(self, resources: set[Resource]) -> Iterator[None]:
        with self.store.changed:
            self.store.locks.update(dict.fromkeys(resources, self))
        try:
            yield
        finally:
            with self.store.changed:
                for resource in resources:
                    del self.store.locks[resource]
                self.store.changed.notify_all()


@dataclass
class PostgresWorld(_World, PostgresManager):
    url: str
    store: PostgresStore = field(init=False)
    _connection: Connection | None = None
    _database: Database | None = None

    def __post_init__(self) -> None:
        self.store = PostgresStore(self.url)

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """The owner's connection, kept open because tests read rows often."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True)
        yield self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._database is not None:
            self._database.close()
            self._database = None

    def build(self, plan: Plan, beside: Venue | None = None) -> Venue:
        venue = empty_venue(plan, beside)
        with self.connected() as connection:
            insert_venue(connection, venue, plan)
        return venue

    def let_pass(self, venue: Venue, seconds: int) -> None:
        """Move all stored times back, since the database's clock cannot be changed."""
        shift = {"shift": timedelta(seconds=seconds), "organization": venue.organization_id}
        with self.connected() as connection:
            connection.execute(
                "UPDATE hold SET created_at = created_at - %(shift)s,"
                " updated_at = updated_at - %(shift)s, held_at = held_at - %(shift)s,"
                " expires_at = expires_at - %(shift)s, due_at = due_at - %(shift)s,"
                " warn_at = warn_at - %(shift)s, expired_at = expired_at - %(shift)s,"
                " given_up_at = given_up_at - %(shift)s"
                " WHERE organization_id = %(organization)s",
                shift,
            )
            for table, column in (("waiting_place", "since"), ("waiting_line", "opened_at")):
                query = (
                    f"UPDATE {table} SET {column} = {column} - %(shift)s"
                    " WHERE organization_id = %(organization)s"
                )
                connection.execute(query.encode(), shift)
            connection.execute(
                "UPDATE seat SET held_until = held_until - %(shift)s,"
                " changed_xid = pg_current_xact_id()"
                " WHERE organization_id = %(organization)s AND held_until IS NOT NULL",
                shift,
            )
            with connection.transaction():
                rows = connection.execute(
                    "DELETE FROM pool_lapse WHERE organization_id = %(organization)s"
                    " RETURNING pool_id, lapses_at - %(shift)s, units",
                    shift,
                ).fetchall()
                for row in rows:
                    connection.execute(
                        "INSERT INTO pool_lapse VALUES (%s, %s, %s, %s)",
                        [venue.organization_id, *row],
                    )

    def _rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self.connected() as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def waitlist_version(self, venue: Venue) -> UUID | None:
        query = "SELECT version FROM waitlist WHERE organization_id = %s AND session_id = %s"
        ((version,),) = self._rows(query, venue.organization_id, venue.session_id)
        return version if version is None else UUID(str(version))

    def now(self) -> datetime:
        ((now,),) = self._rows("SELECT clock_timestamp()")
        assert isinstance(now, datetime)
        return now

    def pool(self, pool_id: PoolId) -> Pool:
        rows = self._rows(
            "SELECT organization_id, id, total, held, sold FROM pool WHERE id = %s", pool_id
        )
        return Pool(*rows[0])

    def lapse(self, pool_id: PoolId) -> dict[datetime, int]:
        rows = self._rows("SELECT lapses_at, units FROM pool_lapse WHERE pool_id = %s", pool_id)
        return dict(rows)

    def all_holds(self, venue: Venue) -> list[Hold]:
        query = f"SELECT {HOLD_COLUMNS} FROM hold h WHERE h.organization_id = %s"
        return [
            hold_from_row(CLEAR_ADDRESSES, row) for row in self._rows(query, venue.organization_id)
        ]

    def all_seats(self, venue: Venue) -> dict[SeatId, Seat]:
        query = f"SELECT {SEAT_COLUMNS} FROM seat s WHERE s.organization_id = %s"
        seats = map(seat_from_row, self._rows(query, venue.organization_id))
        return {seat.id: seat for seat in seats}

    def checkout(self, venue: Venue, checkout_id: CheckoutId) -> Checkout | None:
        seen = PostgresOrders(self._reading()).checkout(venue.organization_id, checkout_id)
        return None if seen is None else seen.checkout

    def orders(self, venue: Venue) -> dict[OrderId, Order]:
        orders = PostgresOrders(self._reading())
        page = orders.orders(venue.organization_id, OrderFilter(), PageRequest(PAGE_SIZE_MAX))
        assert page.next is None
        return {order.id: order for order in page.items}

    def _reading(self) -> Database:
        if self._database is None:
            self._database = Database(self.url)
            self._database.open()
        return self._database

    def readers(self) -> PostgresHolds:
        return PostgresHolds(self._reading())

    def facts(self, venue: Venue) -> list[FactSeen]:
        rows = self._rows(
            "SELECT type, hold_id, version, seat_id FROM outbox"
            " WHERE organization_id = %s ORDER BY xid, seq",
            venue.organization_id,
        )
        return [FactSeen(*row) for row in rows]

    def payloads(self, venue: Venue) -> list[tuple[str, dict[str, Any]]]:
        rows = self._rows(
            "SELECT type, payload FROM outbox WHERE organization_id = %s ORDER BY xid, seq",
            venue.organization_id,
        )
        return [(type_, payload) for type_, payload in rows]

    def audit(self, venue: Venue) -> list[AuditSeen]:
        rows = self._rows(
            "SELECT action, hold_id, actor, old ->> 'status', new ->> 'status', seat_id FROM audit"
            " WHERE organization_id = %s ORDER BY seq",
            venue.organization_id,
        )
        return [AuditSeen(*row) for row in rows]

    def audit_values(self, venue: Venue) -> list[dict[str, Any]]:
        query = "SELECT new FROM audit WHERE organization_id = %s ORDER BY seq"
        return [new for (new,) in self._rows(query, venue.organization_id)]

    @contextmanager
    def locked_elsewhere(self, venue: Venue, pool_id: PoolId) -> Iterator[None]:
        with self._locked("pool", venue, [pool_id]):
            yield

    @contextmanager
    def seats_locked_elsewhere(self, venue: Venue, *names: str) -> Iterator[None]:
        with self._locked("seat", venue, list(venue.seat_ids(*names))):
            yield

    @contextmanager
    def _locked(
        self, table: str, venue: Venue, ids: "list[PoolId] | list[SeatId]"
    ) -> Iterator[None]:
        with psycopg.connect(self.url) as connection, connection.transaction(force_rollback=True):
            query = f"SELECT FROM {table} WHERE organization_id = %s AND id = ANY (%s) FOR UPDATE"
            connection.execute(query.encode(), [venue.organization_id, ids])
            yield
