"""The SQL of the catalog, and the values of its rows."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Generic, TypeVar
from uuid import UUID

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.statements import policy_of
from holdfast.adapters.postgres.seats.rows import SEAT_PLACE
from holdfast.domain.catalog.model import (
    Block,
    BlockPrice,
    Event,
    EventStatus,
    Place,
    PoolState,
    SaleTerms,
    Session,
    SessionStatus,
    TicketType,
)
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import POLICY_FIELDS, PolicyOverride
from holdfast.domain.values import Money, metadata_of
from holdfast.ports.paging import Cursor, Page, PageRequest

T = TypeVar("T")
Row = tuple[Any, ...]


@immutable
class Table(Generic[T]):
    """A query whose first two columns, id and created_at, order the pages; `build` makes a record
    from its row."""

    select: str
    build: Callable[[Row], T]
    conditions: Mapping[str, str] = field(default_factory=dict)

    def find(self, connection: Connection, organization_id: UUID, id_: UUID) -> T | None:
        one = f"{self.select} WHERE x.organization_id = %s AND x.id = %s"
        row = connection.execute(one, (organization_id, id_)).fetchone()
        return self.build(row) if row else None

    def listed(
        self, organization_id: OrganizationId, only: Mapping[str, object], page: PageRequest
    ) -> tuple[str, dict[str, Any]]:
        asked = [
            self.conditions.get(name, f"x.{name} = %({name})s")
            for name, value in only.items()
            if value is not None
        ]
        conditions = ["x.organization_id = %(organization_id)s", *dict.fromkeys(asked)]
        parameters: dict[str, Any] = {
            **only,
            "organization_id": organization_id,
            "limit": page.size + 1,
        }
        if page.after is not None:
            conditions.append("(x.created_at, x.id) < (%(after_created_at)s, %(after_id)s)")
            parameters |= {"after_created_at": page.after.at, "after_id": page.after.id}
        query = (
            f"{self.select} WHERE {' AND '.join(conditions)}"
            " ORDER BY x.created_at DESC, x.id DESC LIMIT %(limit)s"
        )
        return query, parameters

    def page(
        self,
        connection: Connection,
        organization_id: OrganizationId,
        only: Mapping[str, object],
        page: PageRequest,
    ) -> Page[T]:
        query, parameters = self.listed(organization_id, only, page)
        rows = connection.execute(query, parameters).fetchall()
        shown = rows[: page.size]
        id_, created_at, *_ = shown[-1] if len(rows) > page.size else (None, None)
        next_page = None if id_ is None else Cursor(created_at, id_)
        return Page(tuple(map(self.build, shown)), next_page)


def event_from_row(row: Row) -> Event:
    id_, created_at, updated_at, name, currency, status, *more = row
    starts_at, ends_at, was_announced, metadata, venue, time_zone, *policy = more
    return Event(
        id=EventId(id_),
        created_at=created_at,
        updated_at=updated_at,
        name=name,
        currency=currency,
        sale=SaleTerms(EventStatus(status), starts_at, ends_at, was_announced),
        metadata=metadata_of(metadata),
        place=Place(venue, time_zone),
        policy=PolicyOverride(*policy),
    )


def session_from_row(row: Row) -> Session:
    id_, created_at, updated_at, event_id, name, starts_at, metadata, status = row
    return Session(
        id=SessionId(id_),
        event_id=EventId(event_id),
        name=name,
        starts_at=starts_at,
        created_at=created_at,
        updated_at=updated_at,
        metadata=metadata_of(metadata),
        status=SessionStatus(status),
    )


def pool_from_row(row: Row) -> PoolState:
    id_, _, session_id, name, total, held, sold = row
    return PoolState(PoolId(id_), SessionId(session_id), name, total, held, sold)


def ticket_type_from_row(row: Row) -> TicketType:
    id_, created_at, updated_at, session_id, name, *sold = row
    price_minor, currency, is_seated, metadata, pool_ids, *policy = sold
    return TicketType(
        id=TicketTypeId(id_),
        created_at=created_at,
        updated_at=updated_at,
        session_id=SessionId(session_id),
        name=name,
        price=Money(price_minor, currency),
        is_seated=is_seated,
        metadata=metadata_of(metadata),
        pool_ids=tuple(map(PoolId, pool_ids or ())),
        policy=PolicyOverride(*policy),
    )


_CREATED = {
    "created_from": "x.created_at >= %(created_from)s",
    "created_before": "x.created_at < %(created_before)s",
}

# One session must start between the two.
_HAS_START = """EXISTS (
    SELECT FROM session s WHERE s.organization_id = x.organization_id AND s.event_id = x.id
        AND s.starts_at >= coalesce(%(starts_from)s, '-infinity'::timestamptz)
        AND s.starts_at < coalesce(%(starts_before)s, 'infinity'::timestamptz))"""

EVENTS = Table(
    f"""
SELECT x.id, x.created_at, x.updated_at, x.name, x.currency, x.status, x.sale_starts_at,
    x.sale_ends_at, x.is_announced, x.metadata, x.venue, x.time_zone, {policy_of("x")}
FROM event x""",  # noqa: S608
    event_from_row,
    {
        **_CREATED,
        "starts_from": _HAS_START,
        "starts_before": _HAS_START,
        "event_id": "x.id = %(event_id)s",
        "is_announced": "x.status <> 'draft' AND x.is_announced",
    },
)

SESSIONS = Table(
    """
SELECT x.id, x.created_at, x.updated_at, x.event_id, x.name, x.starts_at, x.metadata, x.status
FROM session x""",
    session_from_row,
    {
        **_CREATED,
        "starts_from": "x.starts_at >= %(starts_from)s",
        "starts_before": "x.starts_at < %(starts_before)s",
        "session_id": "x.id = %(session_id)s",
        "is_announced": """EXISTS (
    SELECT FROM event e WHERE e.organization_id = x.organization_id AND e.id = x.event_id
        AND e.status <> 'draft' AND e.is_announced)""",
        "event_status": """EXISTS (
    SELECT FROM event e WHERE e.organization_id = x.organization_id AND e.id = x.event_id
        AND e.status = %(event_status)s)""",
    },
)


def live_units(pool: str) -> str:
    """The units of a pool in live holds."""
    return f"""{pool}.held - coalesce((
    SELECT sum(b.units) FROM pool_lapse b
    WHERE b.organization_id = {pool}.organization_id AND b.pool_id = {pool}.id
        AND b.lapses_at <= statement_timestamp()), 0)::integer"""  # noqa: S608


POOLS = Table(
    f"""
SELECT x.id, x.created_at, x.session_id, x.name, x.total, {live_units("x")}, x.sold
FROM pool x""",  # noqa: S608
    pool_from_row,
)

TICKET_TYPES = Table(
    f"""
SELECT x.id, x.created_at, x.updated_at, x.session_id, x.name, x.price_minor, e.currency,
    x.is_seated, x.metadata,
    (SELECT array_agg(d.pool_id ORDER BY d.pool_id) FROM ticket_type_pool d
     WHERE d.organization_id = x.organization_id AND d.ticket_type_id = x.id),
    {policy_of("x")}
FROM ticket_type x
JOIN session s ON s.organization_id = x.organization_id AND s.id = x.session_id
JOIN event e ON e.organization_id = s.organization_id AND e.id = s.event_id""",  # noqa: S608
    ticket_type_from_row,
)

SESSION_EVENT = """
SELECT e.id, statement_timestamp(), CASE s.status WHEN 'cancelled' THEN s.status ELSE e.status END,
    e.sale_starts_at, e.sale_ends_at
FROM session s JOIN event e ON e.organization_id = s.organization_id AND e.id = s.event_id
WHERE s.organization_id = %(organization_id)s AND s.id = %(session_id)s
"""

# One row per ticket type and pool; the pool with the least left decides. A seated type may have
# none.
AVAILABILITY = f"""
SELECT t.id, t.name, t.price_minor, e.currency, t.is_seated, p.total, {live_units("p")}, p.sold
FROM ticket_type t
JOIN session s ON s.organization_id = t.organization_id AND s.id = t.session_id
JOIN event e ON e.organization_id = s.organization_id AND e.id = s.event_id
LEFT JOIN ticket_type_pool d ON d.organization_id = t.organization_id AND d.ticket_type_id = t.id
LEFT JOIN pool p ON p.organization_id = d.organization_id AND p.id = d.pool_id
WHERE t.organization_id = %(organization_id)s AND t.session_id = %(session_id)s
ORDER BY t.created_at, t.id
"""  # noqa: S608

# The audit log has every change, so it yields the version.
CHANGES_SO_FAR = """
SELECT count(*) FROM audit WHERE organization_id = %s AND catalog_id = %s
"""
INSERT_FACT = """
INSERT INTO outbox (organization_id, event_id, catalog_id, version, type, partition, occurred_at,
    payload)
VALUES (%s, %s, %s, %s, %s, %s, statement_timestamp(), %s::jsonb)
"""

# The first lock of the fact log's rebase: a change commits before it, or gets its id after it.
BESIDE_REBASE = "LOCK TABLE pool IN ROW EXCLUSIVE MODE"

# Policy fields as columns, as values to insert, and as values to set.
_POLICY = ", ".join(POLICY_FIELDS)
_POLICY_VALUES = ", ".join("%s" for _ in POLICY_FIELDS)
_SET_POLICY = ", ".join(f"{field} = %s" for field in POLICY_FIELDS)

INSERT_EVENT = f"""
INSERT INTO event (organization_id, id, name, currency, {_POLICY}, status, sale_starts_at,
    sale_ends_at, is_announced, metadata, venue, time_zone)
VALUES (%s, %s, %s, %s, {_POLICY_VALUES}, %s, %s, %s, %s, %s::jsonb, %s, %s)
"""  # noqa: S608
# Serializes changes of one event. No session is added meanwhile, because its foreign key waits for
# this lock.
LOCK_EVENT = "SELECT FROM event WHERE organization_id = %s AND id = %s FOR UPDATE"
CHANGE_EVENT = f"""
UPDATE event SET name = %s, {_SET_POLICY}, status = %s, sale_starts_at = %s, sale_ends_at = %s,
    is_announced = %s, metadata = %s::jsonb, venue = %s, time_zone = %s,
    updated_at = statement_timestamp()
WHERE organization_id = %s AND id = %s
"""  # noqa: S608
# Without an event, of the whole organization.
_OF_EVENT = "(%(event_id)s::uuid IS NULL OR {column} = %(event_id)s)"
SESSIONS_OF_EVENT = f"""
SELECT id FROM session WHERE organization_id = %(organization_id)s
    AND {_OF_EVENT.format(column="event_id")}
"""  # noqa: S608
LOCK_EVENTS = f"""
SELECT FROM event WHERE organization_id = %(organization_id)s
    AND {_OF_EVENT.format(column="id")}
ORDER BY id FOR UPDATE
"""
# The transactions that share advisory locks, and the locks' names, which PostgreSQL shows in two
# halves. There are few at any time; an organization may have many sessions.
GROUPS_DECIDING = """
SELECT l.virtualtransaction, (l.classid::bigint << 32) | l.objid::bigint
FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock' AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
INSERT_SESSION = """
INSERT INTO session (organization_id, id, event_id, name, starts_at, metadata)
VALUES (%s, %s, %s, %s, %s, %s::jsonb)
"""
CHANGE_SESSION = """
UPDATE session SET name = %s, starts_at = %s, metadata = %s::jsonb, status = %s,
    version = version + 1, updated_at = statement_timestamp()
WHERE organization_id = %s AND id = %s
"""
# Outdates the engine's cached copies of these sessions.
RAISE_VERSIONS = """
UPDATE session SET version = version + 1 WHERE organization_id = %s AND id = ANY (%s)
"""
RAISE_VERSIONS_OF_EVENT = """
UPDATE session SET version = version + 1 WHERE organization_id = %s AND event_id = %s
"""
# Once more, for copies cached meanwhile: the first party of a waitlist raises no version, and
# readers of the new terms may have missed one that was joining on the old terms.
RAISE_VERSIONS_OF_WAITED = f"""
UPDATE session s SET version = s.version + 1
WHERE s.organization_id = %(organization_id)s AND {_OF_EVENT.format(column="s.event_id")}
    AND EXISTS (
    SELECT FROM waiting_line l
    WHERE l.organization_id = s.organization_id AND l.session_id = s.id)
"""  # noqa: S608
INSERT_POOL = """
INSERT INTO pool (organization_id, id, session_id, name, total) VALUES (%s, %s, %s, %s, %s)
"""
LOCK_POOL = """
SELECT held + sold FROM pool WHERE organization_id = %s AND id = %s FOR NO KEY UPDATE
"""
CHANGE_POOL = """
UPDATE pool SET name = coalesce(%s, name), total = coalesce(%s, total)
WHERE organization_id = %s AND id = %s
"""
POOLS_IN_SESSION = """
SELECT id FROM pool WHERE organization_id = %s AND session_id = %s AND id = ANY (%s)
"""
TYPES_IN_SESSION = """
SELECT count(*) FROM ticket_type WHERE organization_id = %s AND session_id = %s
"""
INSERT_TICKET_TYPE = f"""
INSERT INTO ticket_type (organization_id, id, session_id, name, price_minor, is_seated, {_POLICY},
    metadata)
VALUES (%s, %s, %s, %s, %s, %s, {_POLICY_VALUES}, %s::jsonb)
"""  # noqa: S608
CHANGE_TICKET_TYPE = f"""
UPDATE ticket_type SET name = %s, price_minor = %s, {_SET_POLICY}, metadata = %s::jsonb,
    updated_at = statement_timestamp()
WHERE organization_id = %s AND id = %s
"""  # noqa: S608
IS_WAITED_FOR = """
SELECT EXISTS (
    SELECT FROM waiting_place p
    JOIN hold_line l ON l.organization_id = p.organization_id AND l.hold_id = p.hold_id
    WHERE p.organization_id = %s AND p.session_id = %s AND l.ticket_type_id = %s
        AND l.removed_version IS NULL)
"""
CLEAR_POOLS = "DELETE FROM ticket_type_pool WHERE organization_id = %s AND ticket_type_id = %s"
DRAW_FROM_POOLS = """
INSERT INTO ticket_type_pool (organization_id, ticket_type_id, pool_id)
SELECT %s, %s, unnest(%s::uuid[])
"""


def block_from_row(row: Row) -> Block:
    """The number of seats is read separately."""
    id_, created_at, updated_at, session_id, name, rank, capacity, pool_id, prices = row
    return Block(
        id=BlockId(id_),
        session_id=SessionId(session_id),
        name=name,
        rank=rank,
        capacity=capacity,
        seats=0,
        prices=tuple(
            BlockPrice(TicketTypeId(UUID(type_id)), price) for type_id, price in prices or ()
        ),
        created_at=created_at,
        updated_at=updated_at,
        capacity_pool_id=pool_id,
    )


# Seats are counted by a separate query, once for all blocks shown.
BLOCKS = Table(
    """
SELECT x.id, x.created_at, x.updated_at, x.session_id, x.name, x.rank, p.total,
    x.capacity_pool_id,
    (SELECT json_agg(json_build_array(c.ticket_type_id, c.price_minor) ORDER BY c.rank)
     FROM block_price c WHERE c.organization_id = x.organization_id AND c.block_id = x.id)
FROM block x
LEFT JOIN pool p ON p.organization_id = x.organization_id AND p.id = x.capacity_pool_id""",
    block_from_row,
)

# Seats are found by session: an index by block would cost a write with every hold.
SEATS_OF_BLOCKS = """
SELECT block_id, count(*)
FROM seat
WHERE organization_id = %s AND session_id = ANY (%s) AND block_id = ANY (%s)
GROUP BY block_id
"""

# Counts all seats of a session. Lapsed seats are free; a sold seat stays sold, even if it is
# blocked later.
BLOCK_AVAILABILITY = f"""
SELECT coalesce(seats.total, 0), coalesce(seats.held, 0), coalesce(seats.sold, 0),
    coalesce(seats.free, 0), p.total - ({live_units("p")}) - p.sold,
    (SELECT array_agg(c.ticket_type_id) FROM block_price c
     WHERE c.organization_id = b.organization_id AND c.block_id = b.id)
FROM block b
LEFT JOIN pool p ON p.organization_id = b.organization_id AND p.id = b.capacity_pool_id
LEFT JOIN (
    SELECT block_id, count(*) AS total,
        count(*) FILTER (WHERE status = 'held' AND held_until > statement_timestamp()) AS held,
        count(*) FILTER (WHERE status = 'sold' OR status = 'blocked' AND hold_id IS NOT NULL)
            AS sold,
        count(*) FILTER (WHERE status = 'available'
            OR status = 'held' AND held_until <= statement_timestamp()) AS free
    FROM seat
    WHERE organization_id = %(organization_id)s AND session_id = %(session_id)s
    GROUP BY block_id
) seats ON seats.block_id = b.id
WHERE b.organization_id = %(organization_id)s AND b.session_id = %(session_id)s
"""  # noqa: S608

BLOCKS_OF_SESSION = """
SELECT name, id, rank FROM block WHERE organization_id = %s AND session_id = %s
"""
SEATED_TYPES_OF_SESSION = """
SELECT id FROM ticket_type WHERE organization_id = %s AND session_id = %s AND is_seated
"""
INSERT_BLOCK = """
INSERT INTO block (organization_id, id, session_id, name, rank, capacity_pool_id)
VALUES (%s, %s, %s, %s, %s, %s)
"""
CHANGE_BLOCK = """
UPDATE block SET name = %s, rank = %s, capacity_pool_id = %s,
    updated_at = statement_timestamp()
WHERE organization_id = %s AND id = %s
"""
# Lapsed holds count: they were made without the capacity, and return nothing to it.
SEATS_IN_USE = """
SELECT count(*) FROM seat
WHERE organization_id = %s AND session_id = %s AND block_id = %s AND hold_id IS NOT NULL
"""
CLEAR_PRICES = "DELETE FROM block_price WHERE organization_id = %s AND block_id = %s"
INSERT_PRICES = """
INSERT INTO block_price (organization_id, block_id, ticket_type_id, rank, price_minor)
SELECT %s, %s, ticket_type_id, position, price_minor
FROM unnest(%s::uuid[], %s::bigint[])
    WITH ORDINALITY AS sold (ticket_type_id, price_minor, position)
"""

# Tens of thousands of rows take longer than any other statement.
IMPORT_PATIENCE = "SET LOCAL statement_timeout = '{milliseconds}ms'"
KNOWN_SEATS = """
SELECT block_id, row_name, row_rank, number, position
FROM seat WHERE organization_id = %s AND session_id = %s AND block_id = ANY (%s)
"""
# Not COPY, which row-level security forbids.
INSERT_SEATS = f"""
INSERT INTO seat (organization_id, session_id, {SEAT_PLACE})
SELECT %s, %s, {SEAT_PLACE} FROM {SEAT_PLACE.unnested("place")}
"""  # noqa: S608
