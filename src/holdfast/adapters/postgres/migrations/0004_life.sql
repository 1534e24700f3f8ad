-- The life of a hold: extension, checkout, orders and tickets; facts that are relayed, and messages
-- that are taken in once.

ALTER TABLE organization
    ADD COLUMN checkout_extension_seconds integer CHECK (checkout_extension_seconds >= 0),
    ADD COLUMN lifetime_max_seconds integer CHECK (lifetime_max_seconds > 0),
    ADD COLUMN warning_seconds integer CHECK (warning_seconds >= 0),
    ADD COLUMN late_payment_seconds integer CHECK (late_payment_seconds >= 0);
ALTER TABLE event
    ADD COLUMN checkout_extension_seconds integer CHECK (checkout_extension_seconds >= 0),
    ADD COLUMN lifetime_max_seconds integer CHECK (lifetime_max_seconds > 0),
    ADD COLUMN warning_seconds integer CHECK (warning_seconds >= 0),
    ADD COLUMN late_payment_seconds integer CHECK (late_payment_seconds >= 0);
ALTER TABLE ticket_type
    ADD COLUMN checkout_extension_seconds integer CHECK (checkout_extension_seconds >= 0),
    ADD COLUMN lifetime_max_seconds integer CHECK (lifetime_max_seconds > 0),
    ADD COLUMN warning_seconds integer CHECK (warning_seconds >= 0),
    ADD COLUMN late_payment_seconds integer CHECK (late_payment_seconds >= 0);

ALTER TABLE hold
    -- When something is due: the warning, then the end. One index finds both.
    ADD COLUMN due_at timestamptz,
    ADD COLUMN warn_at timestamptz,
    ADD COLUMN checkout_id uuid,
    ADD COLUMN order_id uuid,
    ADD COLUMN revives uuid,
    -- The position in the log of its last facts: those that follow are never put before them.
    ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
UPDATE hold SET due_at = expires_at;
ALTER TABLE hold
    ALTER COLUMN due_at SET NOT NULL,
    ADD CONSTRAINT hold_is_warned_before_its_end CHECK (warn_at < expires_at),
    ADD CONSTRAINT hold_is_due_in_time CHECK (due_at = coalesce(warn_at, expires_at));
DROP INDEX hold_live_by_expiry;
-- The reaper: what is due, oldest first, over all organizations.
CREATE INDEX hold_live_by_due ON hold (due_at) WHERE status = 'active';

ALTER TABLE seat
    -- The same for a seat. (changed_xid is always the transaction's own, for those who follow the map.)
    ADD COLUMN told_xid xid8 NOT NULL DEFAULT pg_current_xact_id();

-- Holds that are paid for together. Never changed: whether it is complete, its holds say.
CREATE TABLE checkout (
    organization_id uuid NOT NULL,
    id              uuid NOT NULL,
    hold_ids        uuid[] NOT NULL CHECK (cardinality(hold_ids) > 0),
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE purchase_order (
    organization_id   uuid NOT NULL,
    id                uuid NOT NULL,
    checkout_id       uuid,
    hold_ids          uuid[] NOT NULL CHECK (cardinality(hold_ids) > 0),
    customer_email    text,
    user_id           text,
    total_minor       bigint NOT NULL CHECK (total_minor >= 0),
    currency          text NOT NULL,
    payment_reference text CHECK (length(payment_reference) BETWEEN 1 AND 255),
    created_at        timestamptz NOT NULL,
    PRIMARY KEY (organization_id, id),
    -- A checkout is paid once.
    UNIQUE (organization_id, checkout_id),
    CONSTRAINT order_has_a_holder CHECK (customer_email IS NOT NULL OR user_id IS NOT NULL)
);
CREATE INDEX purchase_order_by_creation ON purchase_order (organization_id, created_at, id);
-- Whoever has the payment finds the order.
CREATE INDEX purchase_order_by_payment ON purchase_order (organization_id, payment_reference)
    WHERE payment_reference IS NOT NULL;

CREATE TABLE ticket (
    organization_id  uuid NOT NULL,
    id               uuid NOT NULL,
    order_id         uuid NOT NULL,
    position         smallint NOT NULL CHECK (position >= 0),
    hold_id          uuid NOT NULL,
    session_id       uuid NOT NULL,
    ticket_type_id   uuid NOT NULL,
    seat_id          uuid,
    unit_price_minor bigint NOT NULL CHECK (unit_price_minor >= 0),
    code             text NOT NULL CHECK (length(code) >= 20),
    attendee_name    text CHECK (length(attendee_name) BETWEEN 1 AND 200),
    attendee_email   text,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, order_id, position),
    UNIQUE (organization_id, code),
    FOREIGN KEY (organization_id, order_id) REFERENCES purchase_order
);
-- From a hold to its tickets.
CREATE INDEX ticket_by_hold ON ticket (organization_id, hold_id);
-- No seat is sold twice, whatever else goes wrong.
CREATE UNIQUE INDEX ticket_of_seat ON ticket (organization_id, seat_id) WHERE seat_id IS NOT NULL;

-- The log of facts: in the order of (xid, seq) for each organization, and for the relay in
-- partitions that each have one reader at a time.
ALTER TABLE outbox
    ADD COLUMN partition smallint NOT NULL DEFAULT 0,
    DROP CONSTRAINT outbox_pkey,
    ADD PRIMARY KEY (organization_id, xid, seq);
-- As those that follow are divided: by the last byte of what they are about.
UPDATE outbox SET partition = get_byte(uuid_send(coalesce(hold_id, seat_id)), 15) % 8;
CREATE INDEX outbox_by_partition ON outbox (partition, xid, seq);

CREATE TABLE relay_cursor (
    partition smallint PRIMARY KEY,
    xid       xid8 NOT NULL,
    seq       bigint NOT NULL,
    moved_at  timestamptz NOT NULL DEFAULT now()
);
-- Facts up to here may have been pruned.
CREATE TABLE fact_horizon (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    xid     xid8 NOT NULL,
    seq     bigint NOT NULL
);
INSERT INTO fact_horizon (xid, seq) VALUES ('0', 0);

-- Which consumer has taken in which message, committed with what it did.
CREATE TABLE inbox (
    organization_id uuid NOT NULL,
    consumer        text NOT NULL CHECK (length(consumer) BETWEEN 1 AND 100),
    event_id        uuid NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, consumer, event_id)
);
CREATE INDEX inbox_by_arrival ON inbox (received_at);

-- The audit is added to and never changed, not even by the owner of the tables.
CREATE INDEX audit_by_seat ON audit (organization_id, seat_id) WHERE seat_id IS NOT NULL;
-- Rows are in the order of time, so that a few bytes per megabyte tell which of them to leave out.
CREATE INDEX audit_by_time ON audit USING brin (at);
CREATE FUNCTION holdfast_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION holdfast_refuse_change();

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['checkout', 'purchase_order', 'ticket', 'inbox'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_organizations ON %I TO holdfast_app
             USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE)',
            name);
        EXECUTE format(
            'CREATE POLICY operators_read ON %I FOR SELECT TO holdfast_operator USING (true)', name);
    END LOOP;
END
$$;
-- Orders and tickets are made, not changed.
GRANT SELECT, INSERT ON checkout, purchase_order, ticket, inbox TO holdfast_app;
GRANT SELECT ON relay_cursor, fact_horizon TO holdfast_app;
-- The codes let people in: the pages do not show them.
GRANT SELECT ON checkout, purchase_order, inbox, relay_cursor, fact_horizon TO holdfast_operator;
GRANT SELECT (organization_id, id, order_id, position, hold_id, session_id, ticket_type_id, seat_id,
    unit_price_minor) ON ticket TO holdfast_operator;

DROP FUNCTION holdfast_lapsed_holds(integer);
CREATE FUNCTION holdfast_due_holds(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid, is_lapsed boolean,
        quantity integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id, h.expires_at <= statement_timestamp(), h.quantity
    FROM hold h
    WHERE h.status = 'active' AND h.due_at <= statement_timestamp()
    ORDER BY h.due_at
    LIMIT row_limit
$$;

CREATE FUNCTION holdfast_seconds_until_due() RETURNS double precision
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT extract(epoch FROM h.due_at - clock_timestamp())::double precision
    FROM hold h WHERE h.status = 'active' ORDER BY h.due_at LIMIT 1
$$;

-- What the relay reads: the next facts of a partition after its cursor, none left out. A fact may
-- still be joined by an earlier one while a transaction as old as it is under way: so it is read
-- only when all of those have ended. At least one, and then as long as those before it do not weigh
-- too much: as they are stored, for nothing must be unpacked to be weighed.
CREATE FUNCTION holdfast_unpublished(wanted smallint, row_limit integer, byte_limit bigint)
    RETURNS TABLE (organization_id uuid, xid text, seq bigint, event_id uuid, type text,
        occurred_at timestamptz, hold_id uuid, seat_id uuid, version integer, payload jsonb,
        email_key text, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT o.organization_id, o.xid::text, o.seq, o.event_id, o.type, o.occurred_at, o.hold_id,
        o.seat_id, o.version, o.payload, h.email_key, h.user_id
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

-- A cursor never goes back.
CREATE FUNCTION holdfast_published(wanted smallint, up_to_xid text, up_to_seq bigint) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO relay_cursor (partition, xid, seq) VALUES (wanted, up_to_xid::xid8, up_to_seq)
    ON CONFLICT (partition) DO UPDATE
        SET xid = excluded.xid, seq = excluded.seq, moved_at = statement_timestamp()
        WHERE (relay_cursor.xid, relay_cursor.seq) < (excluded.xid, excluded.seq)
$$;

-- Whether the log has positions that no transaction here can have had: then they were given by
-- another PostgreSQL, out of which this database was restored.
CREATE FUNCTION holdfast_log_is_ahead(partitions integer) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT greatest(
        (SELECT xid FROM fact_horizon),
        (SELECT max(c.xid) FROM relay_cursor c),
        (SELECT max(newest.xid) FROM generate_series(0, partitions - 1) AS p (partition)
         CROSS JOIN LATERAL (
             SELECT o.xid FROM outbox o WHERE o.partition = p.partition::smallint
             ORDER BY o.xid DESC, o.seq DESC LIMIT 1
         ) newest)
    ) >= pg_snapshot_xmax(pg_current_snapshot())
$$;

-- How many facts wait, counted up to a bound, and since when the oldest does. Where the log is ahead
-- nobody knows, so all of them wait.
CREATE FUNCTION holdfast_relay_lag(partitions integer, row_limit integer)
    RETURNS TABLE (waiting bigint, oldest_seconds double precision, is_ahead boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT count(*), coalesce(
        extract(epoch FROM statement_timestamp() - min(w.occurred_at)), 0)::double precision,
        holdfast_log_is_ahead(partitions)
    FROM generate_series(0, partitions - 1) AS p (partition)
    LEFT JOIN relay_cursor c ON c.partition = p.partition
        AND c.xid < pg_snapshot_xmax(pg_current_snapshot())
    CROSS JOIN LATERAL (
        SELECT o.occurred_at FROM outbox o
        WHERE o.partition = p.partition::smallint
            AND (o.xid, o.seq) > (coalesce(c.xid, '0'::xid8), coalesce(c.seq, 0))
        ORDER BY o.xid, o.seq LIMIT row_limit
    ) w
$$;

-- Facts that are old enough and have been relayed (or that no relay has ever asked for).
CREATE FUNCTION holdfast_prune_facts(
    wanted smallint, kept_seconds double precision, row_limit integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    pruned integer;
    newest_xid xid8;
    newest_seq bigint;
BEGIN
    WITH old_facts AS (
        SELECT o.organization_id, o.xid, o.seq, o.occurred_at FROM outbox o
        WHERE o.partition = wanted AND (o.xid, o.seq) <= (
            (SELECT coalesce(max(c.xid), '9223372036854775807'::xid8) FROM relay_cursor c
             WHERE c.partition = wanted),
            (SELECT coalesce(max(c.seq), 9223372036854775807) FROM relay_cursor c
             WHERE c.partition = wanted))
        ORDER BY o.xid, o.seq LIMIT row_limit
    ), gone AS (
        DELETE FROM outbox o USING old_facts f
        WHERE o.organization_id = f.organization_id AND o.xid = f.xid AND o.seq = f.seq
            AND f.occurred_at < statement_timestamp() - make_interval(secs => kept_seconds)
        RETURNING o.xid, o.seq
    )
    SELECT count(*) OVER (), gone.xid, gone.seq INTO pruned, newest_xid, newest_seq
    FROM gone ORDER BY gone.xid DESC, gone.seq DESC LIMIT 1;
    UPDATE fact_horizon SET xid = newest_xid, seq = newest_seq
    WHERE (xid, seq) < (newest_xid, newest_seq);
    RETURN coalesce(pruned, 0);
END
$$;

CREATE FUNCTION holdfast_prune_receipts(kept_seconds double precision, row_limit integer)
    RETURNS integer
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH old_receipts AS (
        SELECT i.organization_id, i.consumer, i.event_id FROM inbox i
        WHERE i.received_at < statement_timestamp() - make_interval(secs => kept_seconds)
        ORDER BY i.received_at LIMIT row_limit
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM inbox i USING old_receipts o
        WHERE i.organization_id = o.organization_id AND i.consumer = o.consumer
            AND i.event_id = o.event_id
        RETURNING 1
    )
    SELECT count(*)::integer FROM gone
$$;

REVOKE ALL ON FUNCTION
    holdfast_refuse_change(), holdfast_due_holds(integer), holdfast_seconds_until_due(),
    holdfast_unpublished(smallint, integer, bigint), holdfast_published(smallint, text, bigint),
    holdfast_log_is_ahead(integer), holdfast_relay_lag(integer, integer),
    holdfast_prune_facts(smallint, double precision, integer),
    holdfast_prune_receipts(double precision, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    holdfast_due_holds(integer), holdfast_seconds_until_due(),
    holdfast_unpublished(smallint, integer, bigint), holdfast_published(smallint, text, bigint),
    holdfast_relay_lag(integer, integer),
    holdfast_prune_facts(smallint, double precision, integer),
    holdfast_prune_receipts(double precision, integer)
    TO holdfast_app;
-- The pages show how far the relay is.
GRANT EXECUTE ON FUNCTION holdfast_relay_lag(integer, integer) TO holdfast_operator;
