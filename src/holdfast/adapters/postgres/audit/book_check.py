"""A query of the integrity check, and what all of them share."""

from typing import NamedTuple


class BookCheck(NamedTuple):
    looks_for: str
    table: str  # the table that it reads
    query: str


# Facts are kept for at least a day, so younger ones are never missing.
MAY_BE_PRUNED = """({at} < transaction_timestamp() - interval '1 day'
            AND (SELECT xid > '0'::xid8 FROM fact_horizon))"""
HORIZON = "(SELECT reaches_to FROM audit_horizon)"
