"""Renumbers the log of facts after a restore into another PostgreSQL.

A position starts with a transaction number. Higher numbers from another PostgreSQL would keep later
facts, which have lower numbers, from being published.
"""

from typing import Any

import psycopg

from holdfast.ports.facts.log import PARTITIONS

# The positions on holds and seats are those of facts. Only seats that were never sold have no
# facts, but an index finds them by the transaction that created them.
_IS_AHEAD = """
SELECT holdfast_log_is_ahead(%s) OR EXISTS (
    SELECT FROM session x CROSS JOIN LATERAL (
        SELECT s.changed_xid FROM seat s
        WHERE s.organization_id = x.organization_id AND s.session_id = x.id
        ORDER BY s.changed_xid DESC LIMIT 1
    ) newest
    WHERE newest.changed_xid >= pg_snapshot_xmax(pg_current_snapshot()))
"""

# Locks before this transaction has a number, and in the engine's order: every writer of facts has
# then either ended, or gets a higher number.
_LOCK = """
SET LOCAL lock_timeout = '30s';
LOCK TABLE waitlist, pool, seat, hold, outbox, relay_cursor, fact_horizon IN EXCLUSIVE MODE
"""

# To just before the first fact that may not have been relayed: better twice than never. Facts
# written since the restore have low positions, so a cursor seems to be past them; but it cannot
# have passed facts younger than its last move. The minute allows for differing clocks.
_MOVE_CURSORS = """
UPDATE relay_cursor c SET xid = pg_current_xact_id(), seq = coalesce(
    (SELECT min(o.seq) - 1 FROM outbox o
     WHERE o.partition = c.partition AND ((o.xid, o.seq) > (c.xid, c.seq)
         OR o.occurred_at > c.moved_at - interval '1 minute')),
    (SELECT max(o.seq) FROM outbox o WHERE o.partition = c.partition), 0)
"""

# The sequence alone keeps the order of each hold's facts: its numbers were drawn under the hold's
# lock.
_MOVE_FACTS = "UPDATE outbox SET xid = pg_current_xact_id()"

# Clients that poll have a cursor of the other PostgreSQL, and have to start over. Clients that
# follow a seat map get all of it again. Servers forget the waitlists in their memory, with the
# positions of their parties.
_MOVE_THE_REST = """
UPDATE waitlist SET version = NULL;
UPDATE fact_horizon SET xid = pg_current_xact_id(), seq = 0;
UPDATE hold SET changed_xid = pg_current_xact_id() WHERE changed_xid > pg_current_xact_id();
UPDATE seat SET changed_xid = pg_current_xact_id(), told_xid = pg_current_xact_id()
"""


def rebase_log(connection: psycopg.Connection[tuple[Any, ...]]) -> int | None:
    """Give all facts new positions if necessary; returns their number, or None if all is well,
    which is a cheap check. Connect as the owner of the tables, without an open transaction."""
    ((is_ahead,),) = connection.execute(_IS_AHEAD, [PARTITIONS])
    if not is_ahead:
        return None
    with connection.transaction():
        connection.execute(_LOCK)
        connection.execute(_MOVE_CURSORS)
        facts = connection.execute(_MOVE_FACTS).rowcount
        connection.execute(_MOVE_THE_REST)
    return facts
