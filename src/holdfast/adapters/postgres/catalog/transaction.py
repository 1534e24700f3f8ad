"""The transaction of one catalog change: its locks, the current records, and its facts."""

from collections.abc import Iterable
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from psycopg import Cursor
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.answers import LOCK_EXCLUSIVELY
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.group import advisory_name
from holdfast.domain.catalog.changes import CreatePool
from holdfast.domain.catalog.editing import refuse_stale
from holdfast.domain.catalog.facts import CatalogFact, CatalogRecord, fact_of
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import JsonValue
from holdfast.ports.facts.log import PARTITIONS

T = TypeVar("T")

_json = msgspec.json.Encoder()


@immutable
class CatalogTransaction:
    connection: Connection
    organization_id: OrganizationId
    origin: Origin
    seen: str | None = None  # the state of the record that the person saw

    def execute(self, statement: str, *values: Any) -> Cursor[tuple[Any, ...]]:
        """The organization is the first value of the statement."""
        return self.connection.execute(statement, (self.organization_id, *values))

    def update(self, statement: str, id_: UUID, values: Iterable[Any]) -> None:
        """The values are set in the row with this id."""
        self.connection.execute(statement, (*values, self.organization_id, id_))

    def lock(self, kind: ResourceKind, name: UUID) -> None:
        resource = Resource(kind, self.organization_id, name)
        self.connection.execute(LOCK_EXCLUSIVELY, (advisory_name(resource),))

    def find(self, table: sql.Table[T], id_: UUID) -> T | None:
        return table.find(self.connection, self.organization_id, id_)

    def get(self, table: sql.Table[T], id_: UUID) -> T:
        record = self.find(table, id_)
        assert record is not None
        return record

    def refuse_stale(self, record: CatalogRecord) -> Refusal | None:
        """Call under the lock of the record."""
        return refuse_stale(record, self.seen)

    def event_of(self, session_id: SessionId) -> EventId:
        return self.get(sql.SESSIONS, session_id).event_id

    def insert_pool(self, pool: CreatePool) -> None:
        self.execute(sql.INSERT_POOL, pool.pool_id, pool.session_id, pool.name, pool.total)

    def pool_in_use(self, pool_id: UUID) -> int:
        """The held and sold units. Locks the pool's row, under the lock of its session."""
        ((in_use,),) = self.execute(sql.LOCK_POOL, pool_id)
        return int(in_use)

    def record(
        self,
        event_id: EventId,
        before: CatalogRecord | None,
        after: CatalogRecord,
        **more: JsonValue,
    ) -> None:
        """Write the fact and the audit entry of a created or changed record."""
        self.record_fact(fact_of(self.organization_id, event_id, before, after, **more))

    def record_fact(self, fact: CatalogFact) -> None:
        """Call under the lock of the changed record, so that versions rise one by one. Facts of an
        event and its parts share a partition, so none precedes what it refers to."""
        ((changes,),) = self.execute(sql.CHANGES_SO_FAR, fact.catalog_id)
        version, type_ = changes + 1, fact.type.value
        partition = fact.event_id.int % PARTITIONS
        payload = _json.encode(fact.payload).decode()
        about = (uuid7(), fact.catalog_id, version, type_)
        self.execute(sql.INSERT_FACT, *about, partition, payload)
        write_entry(
            self.connection,
            self.organization_id,
            type_,
            self.origin,
            old=fact.old,
            new={**fact.new, "version": version},
            catalog_id=fact.catalog_id,
        )
