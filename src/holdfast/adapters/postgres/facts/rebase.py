"""After a restore into another PostgreSQL: the log of facts gets positions of this one.

A position is the number of a transaction. Those of another PostgreSQL that is ahead would keep
every later fact from being told, for its numbers are lower.
"""

from typing import Any

import psycopg

from holdfast.ports.facts.log import PARTITIONS

# What holds and seats carry is the position of a fact, and is found with the facts. Only seats that
# were never sold have none: but those are in an index, by the transaction that made them.
_IS_AHEAD = """
SELECT holdfast_log_is_ahead(%s) OR EXISTS (
    SELECT FROM session x CROSS JOIN LATERAL (
        SELECT s.changed_xid FROM seat s
        WHERE s.organization_id = x.organization_id AND s.session_id = x.id
        ORDER BY s.changed_xid DESC LIMIT 1
    ) newest
    WHERE newest.changed_xid >= pg_snapshot_xmax(pg_current_snapshot()))
"""

# Before this transaction has a number, and in the engine's order: whoever writes facts has then
# either ended, or gets a higher number than ours.
_LOCK = """
SET LOCAL lock_timeout = '30s';
LOCK TABLE pool, seat, hold, outbox, relay_cursor, fact_horizon IN EXCLUSIVE MODE
"""

# To just before the first fact that may not have been relayed: better twice than never. Facts that
# were written here since the restore have low positions, so a cursor seems to be past them; but it
# cannot have passed what is younger than its last move. Clocks may differ a little.
_MOVE_CURSORS = """
UPDATE relay_cursor c SET xid = pg_current_xact_id(), seq = coalesce(
    (SELECT min(o.seq) - 1 FROM outbox o
     WHERE o.partition = c.partition AND ((o.xid, o.seq) > (c.xid, c.seq)
         OR o.occurred_at > c.moved_at - interval '1 minute')),
    (SELECT max(o.seq) FROM outbox o WHERE o.partition = c.partition), 0)
"""

# The numbers of the sequence alone are in the order of each hold's facts, for they were drawn while
# the hold was locked.
_MOVE_FACTS = "UPDATE outbox SET xid = pg_current_xact_id()"

# Whoever polls has a cursor of the other PostgreSQL, and has to begin anew. Those who follow a map
# of seats are shown all of it.
_MOVE_THE_REST = """
UPDATE fact_horizon SET xid = pg_current_xact_id(), seq = 0;
UPDATE hold SET changed_xid = pg_current_xact_id() WHERE changed_xid > pg_current_xact_id();
UPDATE seat SET changed_xid = pg_current_xact_id(), told_xid = pg_current_xact_id()
"""


def rebase_log(connection: psycopg.Connection[tuple[Any, ...]]) -> int | None:
    """As the owner of the tables, on a connection without an open transaction. How many facts were
    given a new position; None where all is well, which is cheap to find out."""
    ((is_ahead,),) = connection.execute(_IS_AHEAD, [PARTITIONS])
    if not is_ahead:
        return None
    with connection.transaction():
        connection.execute(_LOCK)
        connection.execute(_MOVE_CURSORS)
        facts = connection.execute(_MOVE_FACTS).rowcount
        connection.execute(_MOVE_THE_REST)
    return facts
