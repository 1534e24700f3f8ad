"""The SQL of blocks and seat imports, and the values of its rows."""

from uuid import UUID

from holdfast.adapters.postgres.catalog.statements import Row, Table, live_units
from holdfast.adapters.postgres.seats.rows import SEAT_PLACE
from holdfast.domain.catalog.model import Block, BlockPrice
from holdfast.domain.ids import BlockId, SessionId, TicketTypeId


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
