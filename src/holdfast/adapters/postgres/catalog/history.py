"""Writes the fact and the audit entry of a catalog change, in its transaction."""

import msgspec
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.domain.catalog.facts import CatalogFact
from holdfast.domain.group.origin import Origin
from holdfast.ports.facts.log import PARTITIONS

_json = msgspec.json.Encoder()


def record_change(connection: Connection, fact: CatalogFact, origin: Origin) -> None:
    """Call under the lock of the changed record, so that versions rise one by one. Facts of an
    event and its parts share a partition, so none precedes what it refers to."""
    about = (fact.organization_id, fact.catalog_id)
    row = connection.execute(sql.CHANGES_SO_FAR, about).fetchone()
    assert row is not None
    version = row[0] + 1
    connection.execute(
        sql.INSERT_FACT,
        (
            fact.organization_id,
            uuid7(),
            fact.catalog_id,
            version,
            fact.type.value,
            fact.event_id.int % PARTITIONS,
            _json.encode(fact.payload).decode(),
        ),
    )
    connection.execute(
        sql.INSERT_AUDIT,
        (
            fact.organization_id,
            fact.type.value,
            fact.catalog_id,
            origin.actor,
            origin.request_id,
            origin.ip,
            origin.user_agent,
            None if fact.old is None else _json.encode(fact.old).decode(),
            _json.encode({**fact.new, "version": version}).decode(),
        ),
    )
