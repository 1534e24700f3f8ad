-- What forgetting a person needs, and what the relay reads of a holder, now that addresses are
-- sealed. The last step of 0024_sealed_addresses.py.
-- As in 0004, with the sealed address instead of the address.
CREATE FUNCTION holdfast_unpublished(wanted smallint, row_limit integer, byte_limit bigint)
    RETURNS TABLE (organization_id uuid, xid text, seq bigint, event_id uuid, type text,
        occurred_at timestamptz, hold_id uuid, seat_id uuid, version integer, payload jsonb,
        customer_email bytea, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT o.organization_id, o.xid::text, o.seq, o.event_id, o.type, o.occurred_at, o.hold_id,
        o.seat_id, o.version, o.payload, h.customer_email, h.user_id
    FROM (
        SELECT coalesce(max(c.xid), '0'::xid8), coalesce(max(c.seq), 0)
        FROM relay_cursor c WHERE c.partition = wanted
    ) AS cursor (xid, seq)
    CROSS JOIN LATERAL (
        SELECT next.*, sum(pg_column_size(next.payload)) OVER (ORDER BY next.xid, next.seq)
            - pg_column_size(next.payload) AS bytes_before
        FROM (
            SELECT * FROM outbox
            WHERE outbox.partition = wanted AND (outbox.xid, outbox.seq) > (cursor.xid, cursor.seq)
                AND outbox.xid < pg_snapshot_xmin(pg_current_snapshot())
            ORDER BY outbox.xid, outbox.seq LIMIT row_limit
        ) next
    ) o
    LEFT JOIN hold h ON h.organization_id = o.organization_id AND h.id = o.hold_id
    WHERE o.bytes_before < byte_limit
    ORDER BY o.xid, o.seq
$$;
REVOKE ALL ON FUNCTION holdfast_unpublished(smallint, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_unpublished(smallint, integer, bigint) TO holdfast_app;

GRANT UPDATE (customer_email, email_key, user_id, metadata) ON purchase_order TO holdfast_app;
GRANT UPDATE (attendee, attendee_key) ON ticket TO holdfast_app;

-- Nobody changes a fact or an entry of the audit, except through the two functions below: they
-- erase what says who it was about, in the organizations that the transaction has named.
CREATE OR REPLACE FUNCTION holdfast_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('holdfast.forgetting', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE FUNCTION holdfast_forget_facts(own uuid, holds uuid[]) RETURNS integer
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH forgotten AS (
        UPDATE outbox o SET payload = o.payload - 'customer_email' - 'metadata'
        WHERE o.organization_id = own AND own = ANY (holdfast_organizations())
            AND o.hold_id = ANY (holds) AND o.type IN ('hold.created', 'order.confirmed')
            AND o.payload ?| ARRAY['customer_email', 'metadata']
        RETURNING 1
    )
    SELECT count(*)::integer FROM forgotten
$$;

-- The entries of these holds, one hold after the other, and refused attempts with these hashes.
CREATE FUNCTION holdfast_forget_entries(own uuid, holds uuid[], hashes uuid[], row_limit integer)
    RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    erased integer;
BEGIN
    PERFORM set_config('holdfast.forgetting', 'on', true);
    WITH of_holds AS (
        SELECT e.at, e.seq FROM unnest(holds) AS h (id)
        CROSS JOIN LATERAL (
            SELECT a.at, a.seq FROM audit a
            WHERE a.organization_id = own AND a.hold_id = h.id
                AND num_nonnulls(a.holder, a.holder_email, a.ip, a.user_agent) > 0
        ) AS e
        LIMIT row_limit
    ), of_holder AS (
        SELECT a.at, a.seq FROM audit a
        WHERE a.organization_id = own AND a.holder = ANY (hashes) AND a.new -> 'error' IS NOT NULL
        LIMIT row_limit
    ), of_address AS (
        SELECT a.at, a.seq FROM audit a
        WHERE a.organization_id = own AND a.holder_email = ANY (hashes)
            AND a.new -> 'error' IS NOT NULL
        LIMIT row_limit
    ), found AS (
        SELECT * FROM of_holds UNION SELECT * FROM of_holder UNION SELECT * FROM of_address
        LIMIT row_limit
    ), forgotten AS (
        UPDATE audit a SET holder = NULL, holder_email = NULL, ip = NULL, user_agent = NULL
        FROM found f
        WHERE a.organization_id = own AND own = ANY (holdfast_organizations())
            AND a.at = f.at AND a.seq = f.seq
        RETURNING 1
    )
    SELECT count(*)::integer INTO erased FROM forgotten;
    PERFORM set_config('holdfast.forgetting', 'off', true);
    RETURN erased;
END
$$;
REVOKE ALL ON FUNCTION holdfast_forget_facts(uuid, uuid[]),
    holdfast_forget_entries(uuid, uuid[], uuid[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_forget_facts(uuid, uuid[]),
    holdfast_forget_entries(uuid, uuid[], uuid[], integer) TO holdfast_app;
