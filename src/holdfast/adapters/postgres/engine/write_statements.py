"""The SQL that writes a group's decisions: a few statements for a group of any size."""

from holdfast.adapters.postgres.audit.rows import AGED_ATTEMPT, NEW_ATTEMPT, NEW_ENTRY
from holdfast.adapters.postgres.facts.rows import NEW_FACT, NEW_TICKET_FACT
from holdfast.adapters.postgres.holds.rows import (
    CHANGED_HOLD,
    CONTENTS_AND_ADDRESS,
    HOLD_ADDRESS,
    HOLD_CONTENTS,
    NEW_HOLD,
    NEW_LINE,
    NEW_LINE_WITH_MORE,
)
from holdfast.adapters.postgres.orders.rows import (
    CHANGED_ORDER,
    NEW_CHECKOUT,
    NEW_ORDER,
    NEW_TICKET,
    VOID_TICKET,
)
from holdfast.adapters.postgres.seats.rows import CHANGED_SEAT

# Absolute values are safe: the rows are locked.
UPDATE_POOLS = """
UPDATE pool SET held = moved.held, sold = moved.sold
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::integer[])
    AS moved (organization_id, id, held, sold)
WHERE pool.organization_id = moved.organization_id AND pool.id = moved.id
"""

ADD_LAPSE = """
INSERT INTO pool_lapse (organization_id, pool_id, lapses_at, units)
SELECT organization_id, pool_id, lapses_at, units
FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::integer[])
    AS added (organization_id, pool_id, lapses_at, units)
ON CONFLICT (organization_id, pool_id, lapses_at)
DO UPDATE SET units = pool_lapse.units + excluded.units
"""

# Separate, because an upsert checks constraints on the inserted row first, and units are negative
# here.
SUBTRACT_LAPSE = """
UPDATE pool_lapse SET units = pool_lapse.units + moved.units
FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::integer[])
    AS moved (organization_id, pool_id, lapses_at, units)
WHERE pool_lapse.organization_id = moved.organization_id
    AND pool_lapse.pool_id = moved.pool_id AND pool_lapse.lapses_at = moved.lapses_at
"""

DELETE_EMPTY_LAPSE = """
DELETE FROM pool_lapse USING unnest(%s::uuid[], %s::uuid[], %s::timestamptz[])
    AS moved (organization_id, pool_id, lapses_at)
WHERE pool_lapse.organization_id = moved.organization_id
    AND pool_lapse.pool_id = moved.pool_id AND pool_lapse.lapses_at = moved.lapses_at
    AND pool_lapse.units = 0
"""

INSERT_HOLDS = f"""
INSERT INTO hold ({NEW_HOLD}, version, created_at, updated_at, changed_xid)
SELECT {NEW_HOLD}, 1, %s, %s, %s::text::xid8 FROM {NEW_HOLD.unnested("made")}
"""  # noqa: S608

INSERT_LINES = f"""
INSERT INTO hold_line ({NEW_LINE}) SELECT {NEW_LINE.stored} FROM {NEW_LINE.unnested("line")}
"""  # noqa: S608
INSERT_LINES_WITH_MORE = f"""
INSERT INTO hold_line ({NEW_LINE_WITH_MORE})
SELECT {NEW_LINE_WITH_MORE.stored} FROM {NEW_LINE_WITH_MORE.unnested("line")}
"""  # noqa: S608
REMOVE_LINES = """
UPDATE hold_line SET removed_version = removed.version
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::integer[])
    AS removed (organization_id, hold_id, position, version)
WHERE hold_line.organization_id = removed.organization_id
    AND hold_line.hold_id = removed.hold_id AND hold_line.position = removed.position
"""

UPDATE_SEATS = f"""
UPDATE seat SET {CHANGED_SEAT.set_from("changed")}, changed_xid = pg_current_xact_id(),
    told_xid = %s::text::xid8
FROM {CHANGED_SEAT.unnested("changed")}
WHERE seat.organization_id = changed.organization_id AND seat.id = changed.id
"""  # noqa: S608

# Only for holds with changed lines or newly held places, and before the status changes.
UPDATE_CONTENTS = f"""
UPDATE hold SET {HOLD_CONTENTS.set_from("changed")},
    {HOLD_ADDRESS.set_unless_null("changed", "hold")}
FROM {CONTENTS_AND_ADDRESS.unnested("changed")}
WHERE hold.organization_id = changed.organization_id AND hold.id = changed.id
"""  # noqa: S608
UPDATE_HOLDS = f"""
UPDATE hold SET {CHANGED_HOLD.set_from("changed")}, changed_xid = %s::text::xid8
FROM {CHANGED_HOLD.unnested("changed")}
WHERE hold.organization_id = changed.organization_id AND hold.id = changed.id
"""  # noqa: S608

# The same holds give the same checkout, so a second start finds it.
INSERT_CHECKOUTS = f"""
INSERT INTO checkout (created_at, {NEW_CHECKOUT})
SELECT %s, {NEW_CHECKOUT.stored} FROM {NEW_CHECKOUT.unnested("made")}
ON CONFLICT DO NOTHING
"""  # noqa: S608

INSERT_ORDERS = f"""
INSERT INTO purchase_order (created_at, {NEW_ORDER})
SELECT %s, {NEW_ORDER.stored} FROM {NEW_ORDER.unnested("made")}
"""  # noqa: S608

INSERT_TICKETS = f"""
INSERT INTO ticket ({NEW_TICKET}) SELECT {NEW_TICKET} FROM {NEW_TICKET.unnested("made")}
"""  # noqa: S608

# Of a cancellation or a refund. The locks of the order's holds guard these rows.
UPDATE_ORDERS = f"""
UPDATE purchase_order SET {CHANGED_ORDER.set_from("changed")}
FROM {CHANGED_ORDER.unnested("changed")}
WHERE purchase_order.organization_id = changed.organization_id AND purchase_order.id = changed.id
"""  # noqa: S608
VOID_TICKETS = f"""
UPDATE ticket SET {VOID_TICKET.set_from("void")} FROM {VOID_TICKET.unnested("void")}
WHERE ticket.organization_id = void.organization_id AND ticket.id = void.id
"""  # noqa: S608
# The holds themselves stay as they are. Their later facts must follow these in the log.
FOLLOW_HOLDS = """
UPDATE hold SET changed_xid = %s::text::xid8
FROM unnest(%s::uuid[], %s::uuid[]) AS told (organization_id, id)
WHERE hold.organization_id = told.organization_id AND hold.id = told.id
"""

# For the reconciler: it waits as long as others may need to settle it.
UPSERT_INVENTORY_TASKS = """
INSERT INTO inventory_task (organization_id, hold_id, position, since, due_at)
SELECT organization_id, hold_id, %s::text::xid8, %s,
    statement_timestamp() + make_interval(secs => seconds)
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[]) AS task (organization_id, hold_id, seconds)
ON CONFLICT (organization_id, hold_id) DO UPDATE
SET position = excluded.position, due_at = excluded.due_at, attempts = 0, problem = NULL,
    is_contradiction = false
"""
DELETE_INVENTORY_TASKS = """
DELETE FROM inventory_task USING unnest(%s::uuid[], %s::uuid[]) AS done (organization_id, hold_id)
WHERE inventory_task.organization_id = done.organization_id
    AND inventory_task.hold_id = done.hold_id
"""

# The position is the transaction's own number, or that of the last facts of the same holds and
# seats if higher: a transaction may get its number long before it gets a lock. It is never lower
# than the transaction's number, so no reader passes it too early.
INSERT_FACTS = f"""
INSERT INTO outbox (occurred_at, xid, {NEW_FACT})
SELECT %s, %s::text::xid8, {NEW_FACT.stored} FROM {NEW_FACT.unnested("fact")}
"""  # noqa: S608

INSERT_TICKET_FACTS = f"""
INSERT INTO outbox (occurred_at, xid, {NEW_TICKET_FACT})
SELECT %s, %s::text::xid8, {NEW_TICKET_FACT.stored} FROM {NEW_TICKET_FACT.unnested("fact")}
"""  # noqa: S608

INSERT_AUDIT = f"""
INSERT INTO audit (at, {NEW_ENTRY})
SELECT %s, {NEW_ENTRY.stored} FROM {NEW_ENTRY.unnested("entry")}
"""  # noqa: S608

# Refused attempts changed nothing: there is no old value, and the new one is the refusal. They have
# waited to be written; one that has waited for days must not fall into a dropped partition.
INSERT_ATTEMPTS = f"""
INSERT INTO audit (at, {NEW_ATTEMPT})
SELECT statement_timestamp() - make_interval(secs => least(age, 86400)), {NEW_ATTEMPT.stored}
FROM {AGED_ATTEMPT.unnested("entry")}
"""  # noqa: S608

INSERT_ANSWERS = """
INSERT INTO idempotency (organization_id, digest, fingerprint, body, created_at)
SELECT organization_id, digest, fingerprint, body, %s
FROM unnest(%s::uuid[], %s::uuid[], %s::bytea[], %s::bytea[])
    AS answer (organization_id, digest, fingerprint, body)
"""

INSERT_RECEIPTS = """
INSERT INTO inbox (organization_id, consumer, event_id, received_at)
SELECT organization_id, consumer, event_id, %s
FROM unnest(%s::uuid[], %s::text[], %s::uuid[]) AS taken_in (organization_id, consumer, event_id)
"""
