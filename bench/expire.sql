-- Expires a hold as we do, one per transaction: the same rows in the same tables. A sequence assigns
-- the lapsed holds: no client searches for one or waits for another. The counters come last, to hold
-- their locks as briefly as possible.
SELECT nextval('bench_lapsed') AS n \gset
BEGIN;
SELECT set_config('holdfast.organizations', '{@organization@}', true);
SELECT h.expires_at AS ends, l.pool_ids[1] AS pool, h.session_id AS session, l.ticket_type_id AS kind
    FROM hold h JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
    WHERE h.organization_id = '@organization@'
        AND h.id = ('b0000000-0000-4000-8005-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid
    FOR NO KEY UPDATE OF h \gset
UPDATE hold SET status = 'expired', version = version + 1, updated_at = now(), expired_at = now(),
        changed_xid = pg_current_xact_id()
    WHERE organization_id = '@organization@' AND status = 'active' AND expires_at <= now()
        AND id = ('b0000000-0000-4000-8005-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid;
INSERT INTO outbox (organization_id, event_id, hold_id, version, type, partition, occurred_at, payload)
    VALUES ('@organization@', gen_random_uuid(),
        ('b0000000-0000-4000-8005-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid, 2, 'hold.expired',
        :n::bigint % 8, now(),
        jsonb_build_object('hold_id', :n::bigint, 'session_id', :session::text, 'ticket_type_id', :session::text,
            'quantity', 1));
INSERT INTO audit (organization_id, at, action, hold_id, session_id, ticket_type_ids, holder,
        holder_email, actor, request_id, old, new)
    VALUES ('@organization@', now(), 'hold.expired',
        ('b0000000-0000-4000-8005-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid, :session::uuid,
        ARRAY[:kind::uuid], md5('holder' || :n::bigint)::uuid, md5('email' || :n::bigint)::uuid,
        'reaper', 'run',
        jsonb_build_object('status', 'active', 'version', 1, 'quantity', 1, 'expires_at', :ends::text),
        jsonb_build_object('status', 'expired', 'version', 2, 'quantity', 1, 'expires_at', :ends::text));
UPDATE pool SET held = held - 1 WHERE organization_id = '@organization@' AND id = :pool::uuid;
UPDATE pool_lapse SET units = units - 1 WHERE organization_id = '@organization@'
    AND pool_id = :pool::uuid AND lapses_at = :ends::timestamptz;
DELETE FROM pool_lapse WHERE organization_id = '@organization@'
    AND pool_id = :pool::uuid AND lapses_at = :ends::timestamptz AND units = 0;
COMMIT;
