-- Places a hold as we do, one per transaction: the same rows in the same tables. Distinct holders and
-- ids; `pool` is 1 for the hot pool. The counters come last, to hold their locks as briefly as
-- possible: an application would take the place first to refuse early, and be slower.
\set n random(1, 140000000000000)
\set pool @pool@
BEGIN;
SELECT set_config('holdfast.organizations', '{@organization@}', true);
SELECT fingerprint FROM idempotency WHERE organization_id = '@organization@'
    AND digest = ('b0000000-0000-4000-8004-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid;
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key, quantity, total_minor,
        currency, status, version, created_at, updated_at, held_at, expires_at, warn_at, due_at)
    VALUES ('@organization@', ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
        '@session@', to_hex(:n::bigint),
        decode(repeat('01', 33), 'hex') || convert_to('buyer' || :n::bigint || '@example.com', 'UTF8'),
        md5('buyer' || :n::bigint || '@example.com')::uuid, 1, 4500, 'EUR',
        'active', 1,
        now(), now(), now(), date_trunc('second', now()) + interval '601 seconds',
        date_trunc('second', now()) + interval '541 seconds',
        date_trunc('second', now()) + interval '541 seconds');
INSERT INTO hold_line VALUES ('@organization@',
    ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid, 0,
    ('b0000000-0000-4000-8002-' || lpad(to_hex(:pool::bigint), 12, '0'))::uuid, 1, 4500,
    ARRAY[('b0000000-0000-4000-8001-' || lpad(to_hex(:pool::bigint), 12, '0'))::uuid]);
INSERT INTO outbox (organization_id, event_id, hold_id, version, type, partition, occurred_at, payload)
    VALUES ('@organization@', gen_random_uuid(),
        ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid, 1, 'hold.created',
        :n::bigint % 8, now(),
        jsonb_build_object('hold_id', :n::bigint, 'session_id', '@session@', 'ticket_type_id', '@session@',
            'quantity', 1, 'customer_email', 'buyer' || :n::bigint || '@example.com',
            'expires_at', now()));
INSERT INTO audit (organization_id, at, action, hold_id, session_id, ticket_type_ids, holder,
        holder_email, actor, request_id, ip, user_agent, new)
    VALUES ('@organization@', now(), 'hold.created',
        ('b0000000-0000-4000-8003-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid, '@session@',
        ARRAY[('b0000000-0000-4000-8002-' || lpad(to_hex(:pool::bigint), 12, '0'))::uuid],
        md5('holder' || :n::bigint)::uuid, md5('email' || :n::bigint)::uuid,
        'key @session@', '@session@', '127.0.0.1', 'pgbench',
        jsonb_build_object('status', 'active', 'version', 1, 'quantity', 1, 'expires_at', now()));
INSERT INTO idempotency VALUES ('@organization@',
    ('b0000000-0000-4000-8004-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid,
    sha256('request'), convert_to(repeat('x', 600), 'UTF8'), now());
UPDATE pool SET held = held + 1
    WHERE organization_id = '@organization@'
        AND id = ('b0000000-0000-4000-8001-' || lpad(to_hex(:pool::bigint), 12, '0'))::uuid
        AND held + sold < total;
INSERT INTO pool_lapse VALUES ('@organization@',
        ('b0000000-0000-4000-8001-' || lpad(to_hex(:pool::bigint), 12, '0'))::uuid,
        date_trunc('second', now()) + interval '601 seconds', 1)
    ON CONFLICT (organization_id, pool_id, lapses_at) DO UPDATE SET units = pool_lapse.units + 1;
COMMIT;
