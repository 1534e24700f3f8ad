-- Holds @count@ specific seat(s) as we do, one per transaction: the same rows in the same tables. The
-- seats come last, to hold their locks as briefly as possible.
\set n random(1, 140000000000000)
\set first random(0, @groups@ - 1) * @count@ + 1
BEGIN;
SELECT set_config('holdfast.organizations', '{@organization@}', true);
SELECT fingerprint FROM idempotency WHERE organization_id = '@organization@'
    AND digest = ('b0000000-0000-4000-8004-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid;
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key, quantity, total_minor,
        currency, status, version, created_at, updated_at, held_at, expires_at, warn_at, due_at)
    VALUES ('@organization@', ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
        '@session@', to_hex(:n::bigint),
        decode(repeat('01', 33), 'hex') || convert_to('buyer' || :n::bigint || '@example.com', 'UTF8'),
        md5('buyer' || :n::bigint || '@example.com')::uuid, @count@,
        @count@ * 4500, 'EUR', 'active', 1,
        now(), now(), now(), date_trunc('second', now()) + interval '601 seconds',
        date_trunc('second', now()) + interval '541 seconds',
        date_trunc('second', now()) + interval '541 seconds');
INSERT INTO hold_line (organization_id, hold_id, position, ticket_type_id, quantity, unit_price_minor,
        pool_ids, seat_id)
    SELECT '@organization@', ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid, i,
        '@ticket_type@', 1, 4500, '{}',
        ('b0000000-0000-4000-8012-' || lpad(to_hex(:first::bigint + i), 12, '0'))::uuid
    FROM generate_series(0, @count@ - 1) AS i;
INSERT INTO outbox (organization_id, event_id, hold_id, seat_id, version, type, partition,
        occurred_at, payload)
    SELECT '@organization@', gen_random_uuid(),
        ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
        CASE WHEN i > 0 THEN
            ('b0000000-0000-4000-8012-' || lpad(to_hex(:first::bigint + i - 1), 12, '0'))::uuid END,
        1, CASE WHEN i > 0 THEN 'seat.held' ELSE 'hold.created' END, :n::bigint % 8, now(),
        jsonb_build_object('hold_id', :n::bigint, 'session_id', '@session@', 'ticket_type_id', '@session@',
            'quantity', @count@, 'customer_email', 'buyer' || :n::bigint || '@example.com',
            'expires_at', now())
    FROM generate_series(0, @count@) AS i;
INSERT INTO audit (organization_id, at, action, hold_id, seat_id, session_id, ticket_type_ids, holder,
        holder_email, actor, request_id, ip, user_agent, new)
    SELECT '@organization@', now(), CASE WHEN i > 0 THEN 'seat_reserved' ELSE 'hold.created' END,
        ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
        CASE WHEN i > 0 THEN
            ('b0000000-0000-4000-8012-' || lpad(to_hex(:first::bigint + i - 1), 12, '0'))::uuid END,
        '@session@', ARRAY['@ticket_type@'::uuid], md5('holder' || :n::bigint)::uuid,
        md5('email' || :n::bigint)::uuid, 'key @session@', '@session@', '127.0.0.1', 'pgbench',
        jsonb_build_object('status', 'active', 'version', 1, 'quantity', @count@, 'expires_at', now())
    FROM generate_series(0, @count@) AS i;
INSERT INTO idempotency VALUES ('@organization@',
    ('b0000000-0000-4000-8004-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
    sha256('request'), convert_to(repeat('x', 600 + 200 * @count@), 'UTF8'), now());
UPDATE seat SET status = 'held', version = version + 1, changed_xid = pg_current_xact_id(),
        hold_id = ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
        holder_key = ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
        locked_at = now(), held_until = date_trunc('second', now()) + interval '601 seconds'
    WHERE organization_id = '@organization@' AND status = 'available' AND id = ANY (ARRAY(
        SELECT ('b0000000-0000-4000-8012-' || lpad(to_hex(:first::bigint + i), 12, '0'))::uuid
        FROM generate_series(0, @count@ - 1) AS i));
COMMIT;
