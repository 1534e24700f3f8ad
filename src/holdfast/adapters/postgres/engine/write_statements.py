"""The SQL that writes a group's decisions: a few statements for a group of any size."""

# Absolute values are safe: the rows are locked.
UPDATE_POOLS = """
UPDATE pool SET held = moved.held, sold = moved.sold
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::integer[])
    AS moved (organization_id, id, held, sold)
WHERE pool.organization_id = moved.organization_id AND pool.id = moved.id
"""

ADD_LAPSE = """
INSERT INTO pool_lapse (organization_id, pool_id, lapses_at, units)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::integer[])
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

INSERT_HOLDS = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, user_id, quantity,
    total_minor, currency, expires_at, due_at, warn_at, source, cart_token, notes, checkout_id,
    revives, status, is_cart, held_at, version, created_at, updated_at, changed_xid)
SELECT *, 1, %s, %s, %s::text::xid8
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::text[], %s::text[], %s::integer[],
    %s::bigint[], %s::text[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::text[],
    %s::text[], %s::text[], %s::uuid[], %s::uuid[], %s::text[], %s::boolean[], %s::timestamptz[])
"""

# Arrays of arrays must be rectangular, so the pools of a line are sent as text. Most lines belong
# to a new hold without a cart, and need no other columns.
INSERT_LINES = """
INSERT INTO hold_line (organization_id, hold_id, position, ticket_type_id, quantity,
    unit_price_minor, pool_ids, seat_id)
SELECT organization_id, hold_id, position, ticket_type_id, quantity, unit_price_minor,
    pool_ids::uuid[], seat_id
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::uuid[], %s::integer[], %s::bigint[],
    %s::text[], %s::uuid[])
    AS line (organization_id, hold_id, position, ticket_type_id, quantity, unit_price_minor,
        pool_ids, seat_id)
"""
INSERT_LINES_WITH_MORE = """
INSERT INTO hold_line (organization_id, hold_id, position, ticket_type_id, quantity,
    unit_price_minor, pool_ids, seat_id, added_version, cart_item_id, group_id, wish_block_id,
    wish_accessible, wish_is_together, wish_price_minor)
SELECT organization_id, hold_id, position, ticket_type_id, quantity, unit_price_minor,
    pool_ids::uuid[], seat_id, added_version, cart_item_id, group_id, wish_block_id,
    wish_accessible, wish_is_together, wish_price_minor
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::uuid[], %s::integer[], %s::bigint[],
    %s::text[], %s::uuid[], %s::integer[], %s::text[], %s::uuid[], %s::uuid[], %s::smallint[],
    %s::boolean[], %s::bigint[])
    AS line (organization_id, hold_id, position, ticket_type_id, quantity, unit_price_minor,
        pool_ids, seat_id, added_version, cart_item_id, group_id, wish_block_id, wish_accessible,
        wish_is_together, wish_price_minor)
"""
REMOVE_LINES = """
UPDATE hold_line SET removed_version = removed.version
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::integer[])
    AS removed (organization_id, hold_id, position, version)
WHERE hold_line.organization_id = removed.organization_id
    AND hold_line.hold_id = removed.hold_id AND hold_line.position = removed.position
"""

UPDATE_SEATS = """
UPDATE seat SET status = changed.status, hold_id = changed.hold_id,
    holder_key = changed.holder_key, held_until = changed.held_until,
    locked_at = changed.locked_at, blocked_reason = changed.blocked_reason,
    version = changed.version, changed_xid = pg_current_xact_id(), told_xid = %s::text::xid8
FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::uuid[], %s::uuid[], %s::timestamptz[],
    %s::timestamptz[], %s::text[], %s::integer[])
    AS changed (organization_id, id, status, hold_id, holder_key, held_until, locked_at,
        blocked_reason, version)
WHERE seat.organization_id = changed.organization_id AND seat.id = changed.id
"""

# Only for holds with changed lines or newly held places, and before the status changes.
UPDATE_CONTENTS = """
UPDATE hold SET quantity = changed.quantity, total_minor = changed.total_minor,
    held_at = changed.held_at, customer_email = changed.customer_email
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[], %s::bigint[], %s::timestamptz[], %s::text[])
    AS changed (organization_id, id, quantity, total_minor, held_at, customer_email)
WHERE hold.organization_id = changed.organization_id AND hold.id = changed.id
"""
UPDATE_HOLDS = """
UPDATE hold SET status = changed.status, version = changed.version,
    updated_at = changed.updated_at, expires_at = changed.expires_at, due_at = changed.due_at,
    warn_at = changed.warn_at, confirmed_at = changed.confirmed_at,
    cancelled_at = changed.cancelled_at, expired_at = changed.expired_at,
    checkout_id = changed.checkout_id, order_id = changed.order_id, changed_xid = %s::text::xid8
FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::integer[], %s::timestamptz[],
    %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[],
    %s::timestamptz[], %s::uuid[], %s::uuid[])
    AS changed (organization_id, id, status, version, updated_at, expires_at, due_at, warn_at,
        confirmed_at, cancelled_at, expired_at, checkout_id, order_id)
WHERE hold.organization_id = changed.organization_id AND hold.id = changed.id
"""

# The same holds give the same checkout, so a second start finds it.
INSERT_CHECKOUTS = """
INSERT INTO checkout (organization_id, id, hold_ids, created_at)
SELECT organization_id, id, hold_ids::uuid[], %s
FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) AS made (organization_id, id, hold_ids)
ON CONFLICT DO NOTHING
"""

INSERT_ORDERS = """
INSERT INTO purchase_order (organization_id, id, checkout_id, hold_ids, customer_email, user_id,
    total_minor, currency, payment_reference, created_at)
SELECT organization_id, id, checkout_id, hold_ids::uuid[], customer_email, user_id, total_minor,
    currency, payment_reference, %s
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::text[], %s::text[], %s::bigint[],
    %s::text[], %s::text[])
    AS made (organization_id, id, checkout_id, hold_ids, customer_email, user_id, total_minor,
        currency, payment_reference)
"""

INSERT_TICKETS = """
INSERT INTO ticket (organization_id, id, order_id, position, hold_id, session_id, ticket_type_id,
    seat_id, unit_price_minor, code, attendee_name, attendee_email)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::smallint[], %s::uuid[], %s::uuid[],
    %s::uuid[], %s::uuid[], %s::bigint[], %s::text[], %s::text[], %s::text[])
"""

# The position is the transaction's own number, or that of the last facts of the same holds and
# seats if higher: a transaction may get its number long before it gets a lock. It is never lower
# than the transaction's number, so no reader passes it too early.
INSERT_FACTS = """
INSERT INTO outbox (organization_id, event_id, hold_id, seat_id, version, type, partition,
    occurred_at, xid, payload)
SELECT organization_id, event_id, hold_id, seat_id, version, type, partition, %s, %s::text::xid8,
    payload::jsonb
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::integer[], %s::text[],
    %s::smallint[], %s::text[])
    AS fact (organization_id, event_id, hold_id, seat_id, version, type, partition, payload)
"""

INSERT_AUDIT = """
INSERT INTO audit (organization_id, at, action, hold_id, seat_id, actor, request_id, ip,
    user_agent, old, new)
SELECT organization_id, %s, action, hold_id, seat_id, actor, request_id, ip::inet, user_agent,
    old::jsonb, new::jsonb
FROM unnest(%s::uuid[], %s::text[], %s::uuid[], %s::uuid[], %s::text[], %s::text[], %s::text[],
    %s::text[], %s::text[], %s::text[])
    AS entry (organization_id, action, hold_id, seat_id, actor, request_id, ip, user_agent, old,
        new)
"""

# Refused attempts changed nothing: there is no old value, and the new one is the refusal.
INSERT_ATTEMPTS = """
INSERT INTO audit (organization_id, at, action, hold_id, seat_id, actor, request_id, ip,
    user_agent, new)
SELECT organization_id, at, action, hold_id, seat_id, actor, request_id, ip::inet, user_agent,
    jsonb_build_object('error', code)
FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::uuid[], %s::uuid[], %s::text[],
    %s::text[], %s::text[], %s::text[], %s::text[])
    AS entry (organization_id, at, action, hold_id, seat_id, actor, request_id, ip, user_agent,
        code)
"""

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
