"""The same small world on every store: put something on sale, let time pass, look at the rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import uuid4

import psycopg

from holdfast.adapters.memory import MemoryStore
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.domain.catalogue import Offer, SessionCatalogue
from holdfast.domain.commands import (
    Ask,
    ExpireHolds,
    IdempotencyKey,
    Origin,
    PlaceHold,
    ReleaseHold,
)
from holdfast.domain.footprint import Resource, ResourceKind
from holdfast.domain.ids import HoldId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.pool import Pool
from holdfast.domain.values import EmailAddress, Holder, Money, Quantity
from holdfast.ports.store import Store

ORIGIN = Origin("test", "request-1", "127.0.0.1", "pytest")
BUYER = Holder(EmailAddress("buyer@example.com"))


class FactSeen(NamedTuple):
    type: str
    hold_id: HoldId
    version: int


class AuditSeen(NamedTuple):
    action: str
    hold_id: HoldId
    actor: str
    old_status: str | None
    new_status: str


@dataclass(frozen=True)
class Venue:
    """A session on sale. Ticket types and pools go by name."""

    organization_id: OrganizationId
    session_id: SessionId
    ticket_types: Mapping[str, TicketTypeId]
    pools: Mapping[str, PoolId]

    def place(
        self,
        *asks: tuple[str, int],
        hold_id: HoldId | None = None,
        key: IdempotencyKey | None = None,
        holder: Holder = BUYER,
    ) -> PlaceHold:
        return PlaceHold(
            self.organization_id,
            self.session_id,
            hold_id or HoldId(uuid4()),
            holder,
            tuple(Ask(self.ticket_types[name], Quantity(quantity)) for name, quantity in asks),
            ORIGIN,
            key,
            is_id_from_client=hold_id is not None,
        )

    def release(self, hold_id: HoldId, key: IdempotencyKey | None = None) -> ReleaseHold:
        return ReleaseHold(self.organization_id, hold_id, ORIGIN, key)

    def expire(self, *hold_ids: HoldId) -> ExpireHolds:
        return ExpireHolds(self.organization_id, hold_ids, Origin("reaper", "run-1"))

    def key(self, fingerprint: bytes = b"same") -> IdempotencyKey:
        return IdempotencyKey(self.organization_id, uuid4(), fingerprint)


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

    def let_pass(self, venue: Venue, seconds: int) -> None: ...

    def pool(self, pool_id: PoolId) -> Pool: ...

    def lapse_units(self, pool_id: PoolId) -> int: ...

    def facts(self, venue: Venue) -> list[FactSeen]: ...

    def audit(self, venue: Venue) -> list[AuditSeen]: ...

    @contextmanager
    def locked_by_a_stranger(self, venue: Venue, pool_id: PoolId) -> Iterator[None]: ...

    def close(self) -> None: ...


def _ids(
    pools: Mapping[str, int], ticket_types: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, TicketTypeId], dict[str, PoolId]]:
    return (
        {name: TicketTypeId(uuid4()) for name in ticket_types},
        {name: PoolId(uuid4()) for name in pools},
    )


@dataclass
class MemoryWorld:
    offset: timedelta = timedelta()
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lambda: datetime.now(UTC) + self.offset)

    def venue(
        self,
        pools: Mapping[str, int],
        ticket_types: Mapping[str, tuple[str, ...]],
        ttl_seconds: int = 600,
        quantity_max: int = 10_000,
    ) -> Venue:
        organization_id, session_id = OrganizationId(uuid4()), SessionId(uuid4())
        type_ids, pool_ids = _ids(pools, ticket_types)
        offers = {
            type_ids[name]: Offer(
                Money(4500, "EUR"),
                tuple(pool_ids[pool] for pool in drawn),
                HoldPolicy(ttl_seconds, quantity_max),
            )
            for name, drawn in ticket_types.items()
        }
        self.store.put_on_sale(
            SessionCatalogue(organization_id, session_id, 1, "EUR", offers),
            [Pool(organization_id, pool_ids[name], total) for name, total in pools.items()],
        )
        return Venue(organization_id, session_id, type_ids, pool_ids)

    def close(self) -> None:
        """Nothing is open."""

    def let_pass(self, venue: Venue, seconds: int) -> None:
        del venue  # the clock of this store goes for all
        self.offset += timedelta(seconds=seconds)

    def pool(self, pool_id: PoolId) -> Pool:
        return self.store.pools[pool_id]

    def lapse_units(self, pool_id: PoolId) -> int:
        return sum(self.store.lapse.get(pool_id, {}).values())

    def facts(self, venue: Venue) -> list[FactSeen]:
        return [
            FactSeen(fact.type.value, fact.hold_key[1], fact.version)
            for fact in self.store.facts
            if fact.hold_key[0] == venue.organization_id
        ]

    def audit(self, venue: Venue) -> list[AuditSeen]:
        return [
            AuditSeen(
                row.action.value,
                row.hold_key[1],
                row.actor,
                str(row.old["status"]) if row.old else None,
                str(row.new["status"]) if row.new else "",
            )
            for row in self.store.audit
            if row.hold_key[0] == venue.organization_id
        ]

    @contextmanager
    def locked_by_a_stranger(self, venue: Venue, pool_id: PoolId) -> Iterator[None]:
        resource = Resource(ResourceKind.POOL, venue.organization_id, pool_id)
        with self.store.changed:
            self.store.locks[resource] = self
        try:
            yield
        finally:
            with self.store.changed:
                del self.store.locks[resource]
                self.store.changed.notify_all()


@dataclass
class PostgresWorld:
    url: str
    store: PostgresStore = field(init=False)
    _connection: "psycopg.Connection[tuple[object, ...]] | None" = None

    def __post_init__(self) -> None:
        self.store = PostgresStore(self.url)

    @contextmanager
    def _connected(self) -> "Iterator[psycopg.Connection[tuple[object, ...]]]":
        """The owner's connection, kept open: the tests look at the rows often."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True)
        yield self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def venue(
        self,
        pools: Mapping[str, int],
        ticket_types: Mapping[str, tuple[str, ...]],
        ttl_seconds: int = 600,
        quantity_max: int = 10_000,
    ) -> Venue:
        organization_id, session_id = OrganizationId(uuid4()), SessionId(uuid4())
        event_id = uuid4()
        type_ids, pool_ids = _ids(pools, ticket_types)
        with self._connected() as connection:
            run = connection.execute
            run("INSERT INTO organization (id, name) VALUES (%s, 'test')", [organization_id])
            run(
                "INSERT INTO event (organization_id, id, name, currency, ttl_seconds, quantity_max)"
                " VALUES (%s, %s, 'test', 'EUR', %s, %s)",
                [organization_id, event_id, ttl_seconds, quantity_max],
            )
            run(
                "INSERT INTO session (organization_id, id, event_id, name)"
                " VALUES (%s, %s, %s, 'test')",
                [organization_id, session_id, event_id],
            )
            for name, total in pools.items():
                run(
                    "INSERT INTO pool (organization_id, id, session_id, name, total)"
                    " VALUES (%s, %s, %s, %s, %s)",
                    [organization_id, pool_ids[name], session_id, name, total],
                )
            for name, drawn in ticket_types.items():
                run(
                    "INSERT INTO ticket_type (organization_id, id, session_id, name, price_minor)"
                    " VALUES (%s, %s, %s, %s, 4500)",
                    [organization_id, type_ids[name], session_id, name],
                )
                for pool in drawn:
                    run(
                        "INSERT INTO ticket_type_pool VALUES (%s, %s, %s)",
                        [organization_id, type_ids[name], pool_ids[pool]],
                    )
        return Venue(organization_id, session_id, type_ids, pool_ids)

    def let_pass(self, venue: Venue, seconds: int) -> None:
        """Nobody can turn the database's clock, so what is written is made older instead."""
        shift = {"shift": timedelta(seconds=seconds), "organization": venue.organization_id}
        with self._connected() as connection:
            connection.execute(
                "UPDATE hold SET created_at = created_at - %(shift)s,"
                " updated_at = updated_at - %(shift)s, held_at = held_at - %(shift)s,"
                " expires_at = expires_at - %(shift)s WHERE organization_id = %(organization)s",
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

    def facts(self, venue: Venue) -> list[FactSeen]:
        rows = self._rows(
            "SELECT type, hold_id, version FROM outbox WHERE organization_id = %s ORDER BY seq",
            venue.organization_id,
        )
        return [FactSeen(*row) for row in rows]  # type: ignore[arg-type]

    def audit(self, venue: Venue) -> list[AuditSeen]:
        rows = self._rows(
            "SELECT action, hold_id, actor, old ->> 'status', new ->> 'status' FROM audit"
            " WHERE organization_id = %s ORDER BY seq",
            venue.organization_id,
        )
        return [AuditSeen(*row) for row in rows]  # type: ignore[arg-type]

    @contextmanager
    def locked_by_a_stranger(self, venue: Venue, pool_id: PoolId) -> Iterator[None]:
        with psycopg.connect(self.url) as connection, connection.transaction(force_rollback=True):
            connection.execute(
                "SELECT FROM pool WHERE organization_id = %s AND id = %s FOR UPDATE",
                [venue.organization_id, pool_id],
            )
            yield
