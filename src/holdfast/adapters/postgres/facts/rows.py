"""Facts: the columns that are read and written, and the values in them."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec
from uuid_utils import uuid7

from holdfast.adapters.postgres.engine.rows import ColumnList, Json, Row
from holdfast.domain.facts import Fact
from holdfast.ports.facts.log import PARTITIONS, Position, StoredFact

_json = msgspec.json.Encoder()

_FACT = (
    "organization_id uuid, event_id uuid, hold_id uuid, seat_id uuid, version integer, type text,"
    " partition smallint, payload text::jsonb"
)
NEW_FACT = ColumnList(_FACT)
# Apart, so that no other fact has to send this column.
NEW_TICKET_FACT = ColumnList(f"{_FACT}, ticket_id uuid")


def fact_row(fact: Fact) -> Row:
    """All facts of a hold, or of a seat without one, are in one partition."""
    subject = fact.hold_id or fact.seat_id
    assert subject is not None
    return (
        fact.organization_id,
        str(uuid7()),
        fact.hold_id,
        fact.seat_id,
        fact.version,
        fact.type.value,
        subject.int % PARTITIONS,
        Json(_json.encode(fact.payload)),
    )


def ticket_fact_row(fact: Fact) -> Row:
    return (*fact_row(fact), fact.ticket_id)


# In the order of the fields of StoredFact.
FACT_COLUMNS = """
f.organization_id, f.xid::text, f.seq, f.event_id, f.type, f.occurred_at, f.hold_id, f.seat_id,
f.version, f.payload
"""


def fact_from_row(row: Iterable[Any], holder_key: UUID | None) -> StoredFact:
    """Of FACT_COLUMNS."""
    organization_id, xid, seq, *fact = row
    values = [organization_id, Position(int(xid), seq), *fact, holder_key]
    return StoredFact(*values)
