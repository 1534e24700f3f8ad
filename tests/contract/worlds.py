"""The same small world on every store: put something on sale, let time pass, look at the rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import uuid4

import psycopg

from holdfast.adapters.memory import MemoryStore
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.domain.catalogue import Offer, SeatBlock, SessionCatalogue
from holdfast.domain.footprint import Resource, ResourceKind
from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.ids import EventId, HoldId, PoolId, SeatId
from holdfast.domain.planning import resources_of_hold
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.pool import Pool
from holdfast.domain.seat import Seat
from holdfast.domain.transitions import Transition
from holdfast.domain.values import Money
from holdfast.ports.store import GroupWrites, Store, Wanted
from tests.contract.tables import Connection, insert_venue
from tests.contract.venues import ORIGIN, Plan, Venue, empty_venue


class FactSeen(NamedTuple):
    type: str
    hold_id: HoldId | None
    version: int
    seat_id: SeatId | None = None


class AuditSeen(NamedTuple):
    action: str
    hold_id: HoldId | None
    actor: str
    old_status: str | None
    new_status: str
    seat_id: SeatId | None = None


class SeatSeen(NamedTuple):
    status: str
    hold_id: HoldId | None = None
    version: int = 1
    blocked_reason: str | None = None


class HoldSeen(NamedTuple):
    status: str
    version: int
    units: tuple[int, ...]  # of each line
    seat_ids: tuple[SeatId | None, ...]


class World(Protocol):
    @property
    def store(self) -> Store: ...

    def venue(
        self,
        pools: Mapping[str, int],
        ticket_types: Mapping[str, tuple[str, ...]],
        ttl_seconds: int = 600,
        quantity_max: int = 10_000,
    ) -> Venue: ...

    def build(self, plan: Plan) -> Venue: ...

    def let_pass(self, venue: Venue, seconds: int) -> None: ...

    def pool(self, pool_id: PoolId) -> Pool: ...

    def lapse_units(self, pool_id: PoolId) -> int: ...

    def seats(self, venue: Venue) -> dict[str, SeatSeen]: ...

    def holds(self, venue: Venue) -> dict[HoldId, HoldSeen]: ...

    def sell(self, hold: Hold) -> None: ...

    def facts(self, venue: Venue) -> list[FactSeen]: ...

    def audit(self, venue: Venue) -> list[AuditSeen]: ...

    @contextmanager
    def locked_by_a_stranger(self, venue: Venue, pool_id: PoolId) -> Iterator[None]: ...

    @contextmanager
    def seats_locked_by_a_stranger(self, venue: Venue, *names: str) -> Iterator[None]: ...

    def close(self) -> None: ...


class _World:
    """What both worlds do in the same way."""

    store: Store

    def venue(
        self,
        pools: Mapping[str, int],
        ticket_types: Mapping[str, tuple[str, ...]],
        ttl_seconds: int = 600,
        quantity_max: int = 10_000,
    ) -> Venue:
        return self.build(Plan(pools, ticket_types, HoldPolicy(ttl_seconds, quantity_max)))

    def build(self, plan: Plan) -> Venue:
        raise NotImplementedError

    def sell(self, hold: Hold) -> None:
        """Nobody can buy yet, so the store is told that this hold was paid for: its seats, the
        counters, the facts."""
        connection = self.store.connect()
        with connection.group() as group:
            ledger = group.lock_and_read(Wanted(frozenset(resources_of_hold(hold))))
            held = ledger.holds[hold.key]
            paid = replace(
                held,
                status=HoldStatus.CONVERTED,
                version=held.version + 1,
                updated_at=ledger.now,
                confirmed_at=ledger.now,
            )
            transition = Transition(held, paid, ORIGIN)
            ledger.apply([transition])
            group.write_and_commit(GroupWrites(ledger, [transition], []))
        connection.close()


@dataclass
class MemoryWorld(_World):
    offset: timedelta = timedelta()
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lambda: datetime.now(UTC) + self.offset)

    def build(self, plan: Plan) -> Venue:
        venue = empty_venue(plan)
        organization_id = venue.organization_id
        offers = {
            venue.ticket_types[name]: Offer(
                Money(4500, "EUR"),
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
        session = SessionCatalogue(
            organization_id,
            venue.session_id,
            1,
            "EUR",
            offers,
            EventId(uuid4()),
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
        """Nothing is open."""

    def let_pass(self, venue: Venue, seconds: int) -> None:
        del venue  # the clock of this store goes for all
        self.offset += timedelta(seconds=seconds)

    def pool(self, pool_id: PoolId) -> Pool:
        return self.store.pools[pool_id]

    def lapse_units(self, pool_id: PoolId) -> int:
        return sum(self.store.lapse.get(pool_id, {}).values())

    def seats(self, venue: Venue) -> dict[str, SeatSeen]:
        found = {name: self.store.seats[place.id] for name, place in venue.places.items()}
        return {
            name: SeatSeen(seat.status.value, seat.hold_id, seat.version, seat.blocked_reason)
            for name, seat in found.items()
        }

    def holds(self, venue: Venue) -> dict[HoldId, HoldSeen]:
        return {
            hold.id: HoldSeen(
                hold.status.value,
                hold.version,
                tuple(line.quantity for line in hold.lines),
                tuple(line.seat.id if line.seat else None for line in hold.lines),
            )
            for hold in self.store.stored_holds.values()
            if hold.organization_id == venue.organization_id
        }

    def facts(self, venue: Venue) -> list[FactSeen]:
        return [
            FactSeen(fact.type.value, fact.hold_id, fact.version, fact.seat_id)
            for fact in self.store.facts
            if fact.organization_id == venue.organization_id
        ]

    def audit(self, venue: Venue) -> list[AuditSeen]:
        return [
            AuditSeen(
                row.action.value,
                row.hold_id,
                row.origin.actor,
                str(row.old["status"]) if row.old else None,
                str(row.new["status"]),
                row.seat_id,
            )
            for row in self.store.audit
            if row.organization_id == venue.organization_id
        ]

    @contextmanager
    def locked_by_a_stranger(self, venue: Venue, pool_id: PoolId) -> Iterator[None]:
        with self._locked({Resource(ResourceKind.POOL, venue.organization_id, pool_id)}):
            yield

    @contextmanager
    def seats_locked_by_a_stranger(self, venue: Venue, *names: str) -> Iterator[None]:
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
class PostgresWorld(_World):
    url: str
    store: PostgresStore = field(init=False)
    _connection: Connection | None = None

    def __post_init__(self) -> None:
        self.store = PostgresStore(self.url)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """The owner's connection, kept open: the tests look at the rows often."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True)
        yield self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def build(self, plan: Plan) -> Venue:
        venue = empty_venue(plan)
        with self._connected() as connection:
            insert_venue(connection, venue, plan)
        return venue

    def let_pass(self, venue: Venue, seconds: int) -> None:
        """Nobody can turn the database's clock, so what is written is made older instead."""
        shift = {"shift": timedelta(seconds=seconds), "organization": venue.organization_id}
        with self._connected() as connection:
            connection.execute(
                "UPDATE hold SET created_at = created_at - %(shift)s,"
                " updated_at = updated_at - %(shift)s, held_at = held_at - %(shift)s,"
                " expires_at = expires_at - %(shift)s, due_at = due_at - %(shift)s,"
                " warn_at = warn_at - %(shift)s, expired_at = expired_at - %(shift)s"
                " WHERE organization_id = %(organization)s",
                shift,
            )
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

    def _rows(self, query: str, *parameters: object) -> list[tuple[object, ...]]:
        with self._connected() as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def pool(self, pool_id: PoolId) -> Pool:
        rows = self._rows(
            "SELECT organization_id, id, total, held, sold FROM pool WHERE id = %s", pool_id
        )
        return Pool(*rows[0])  # type: ignore[arg-type]

    def lapse_units(self, pool_id: PoolId) -> int:
        rows = self._rows(
            "SELECT coalesce(sum(units), 0)::integer FROM pool_lapse WHERE pool_id = %s", pool_id
        )
        return int(str(rows[0][0]))

    def seats(self, venue: Venue) -> dict[str, SeatSeen]:
        rows = self._rows(
            "SELECT id, status, hold_id, version, blocked_reason FROM seat"
            " WHERE organization_id = %s",
            venue.organization_id,
        )
        found = {row[0]: SeatSeen(*row[1:]) for row in rows}  # type: ignore[arg-type]
        return {name: found[place.id] for name, place in venue.places.items()}

    def holds(self, venue: Venue) -> dict[HoldId, HoldSeen]:
        rows = self._rows(
            "SELECT h.id, h.status, h.version, array_agg(l.quantity ORDER BY l.position),"
            " array_agg(l.seat_id ORDER BY l.position)"
            " FROM hold h JOIN hold_line l ON l.organization_id = h.organization_id"
            " AND l.hold_id = h.id WHERE h.organization_id = %s GROUP BY h.organization_id, h.id",
            venue.organization_id,
        )
        return {
            row[0]: HoldSeen(row[1], row[2], tuple(row[3]), tuple(row[4]))  # type: ignore
            for row in rows
        }

    def facts(self, venue: Venue) -> list[FactSeen]:
        rows = self._rows(
            "SELECT type, hold_id, version, seat_id FROM outbox"
            " WHERE organization_id = %s ORDER BY seq",
            venue.organization_id,
        )
        return [FactSeen(*row) for row in rows]  # type: ignore[arg-type]

    def audit(self, venue: Venue) -> list[AuditSeen]:
        rows = self._rows(
            "SELECT action, hold_id, actor, old ->> 'status', new ->> 'status', seat_id FROM audit"
            " WHERE organization_id = %s ORDER BY seq",
            venue.organization_id,
        )
        return [AuditSeen(*row) for row in rows]  # type: ignore[arg-type]

    @contextmanager
    def locked_by_a_stranger(self, venue: Venue, pool_id: PoolId) -> Iterator[None]:
        with self._locked("pool", venue, [pool_id]):
            yield

    @contextmanager
    def seats_locked_by_a_stranger(self, venue: Venue, *names: str) -> Iterator[None]:
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
