-- The audit in partitions by month (UTC), so that old entries can be dropped without a delete. The
-- table of before becomes the first partition as it is: 0022 has built the indexes and proved the
-- bound, so that nothing is read or copied here.
SET LOCAL holdfast.owner = on;
SET LOCAL timezone = 'UTC';
-- Holds wait behind the lock: give up rather than wait behind a long reader.
SET LOCAL lock_timeout = '2s';
LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;

CREATE SEQUENCE audit_seq;
SELECT setval('audit_seq', last_value, is_called) FROM audit_seq_seq;
ALTER TABLE audit
    ALTER COLUMN seq DROP IDENTITY,
    DROP CONSTRAINT audit_pkey,
    DROP CONSTRAINT audit_is_about_something,
    ADD CONSTRAINT audit_start_pkey PRIMARY KEY USING INDEX audit_start_pkey;
DROP INDEX audit_by_hold, audit_by_seat, audit_by_catalog, audit_by_key, audit_by_time;
DROP TRIGGER audit_is_append_only ON audit;
DROP POLICY own_organizations ON audit;
DROP POLICY operators_read ON audit;
DROP POLICY owner_at_work ON audit;
REVOKE ALL ON audit FROM holdfast_app, holdfast_operator;
ALTER TABLE audit RENAME TO audit_start;

CREATE TABLE audit (
    organization_id uuid NOT NULL,
    seq             bigint NOT NULL DEFAULT nextval('audit_seq'),
    at              timestamptz NOT NULL,
    action          text NOT NULL,
    hold_id         uuid,
    actor           text NOT NULL,
    request_id      text NOT NULL,
    ip              inet,
    user_agent      text,
    old             jsonb,
    new             jsonb NOT NULL,
    seat_id         uuid,
    catalog_id      uuid,
    key_id          uuid,
    session_id      uuid,
    ticket_type_ids uuid[],
    cart            text,
    -- Keyed hashes of the holder: of the user id, or else of the address; and of the address, if
    -- there is a user id, too.
    holder          uuid,
    holder_email    uuid,
    acting_user     text,
    PRIMARY KEY (organization_id, at, seq)
) PARTITION BY RANGE (at);
ALTER SEQUENCE audit_seq OWNED BY audit.seq;
CREATE INDEX audit_by_hold ON audit (organization_id, hold_id, at) WHERE hold_id IS NOT NULL;
CREATE INDEX audit_by_seat ON audit (organization_id, seat_id, at) WHERE seat_id IS NOT NULL;
CREATE INDEX audit_by_catalog ON audit (organization_id, catalog_id, at)
    WHERE catalog_id IS NOT NULL;
CREATE INDEX audit_by_key ON audit (organization_id, key_id, at) WHERE key_id IS NOT NULL;
-- Refused attempts have indexes of their own, which a hold does not pay for. The conditions are
-- written in two ways, for a table without statistics: otherwise the planner would search the first
-- index, which has the order that is asked for, through all refused attempts.
CREATE INDEX audit_refused ON audit (organization_id, at, seq) WHERE new ? 'error';
CREATE INDEX audit_refused_by_holder ON audit (organization_id, holder, at)
    WHERE holder IS NOT NULL AND new -> 'error' IS NOT NULL;
CREATE INDEX audit_refused_by_email ON audit (organization_id, holder_email, at)
    WHERE holder_email IS NOT NULL AND new -> 'error' IS NOT NULL;
CREATE INDEX audit_refused_by_cart ON audit (organization_id, cart, at)
    WHERE cart IS NOT NULL AND new -> 'error' IS NOT NULL;

-- As for every other table; queries of the audit pass only the policies of the parent.
ALTER TABLE audit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON audit TO holdfast_app
    USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
CREATE POLICY operators_read ON audit FOR SELECT TO holdfast_operator
    USING (current_user = 'holdfast_operator');
GRANT SELECT, INSERT ON audit TO holdfast_app;
GRANT USAGE ON SEQUENCE audit_seq TO holdfast_app;
GRANT SELECT ON audit TO holdfast_operator;

-- Entries before this may have been dropped.
CREATE TABLE audit_horizon (
    is_only    boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    reaches_to timestamptz NOT NULL
);
INSERT INTO audit_horizon (reaches_to) VALUES ('-infinity');
GRANT SELECT ON audit_horizon TO holdfast_app, holdfast_operator;

-- Nobody but the owner of the tables reaches a partition directly, and not even the owner changes
-- a row in it. The parent has the same guards.
CREATE FUNCTION holdfast_guard_audit(guarded regclass) RETURNS void
    LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', guarded);
    EXECUTE format(
        'CREATE POLICY owner_at_work ON %s TO %I USING (
             current_setting(''holdfast.owner'', true) = ''on''
             OR current_setting(''role'') <> ''none'')', guarded, current_user);
    EXECUTE format(
        'CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s
         FOR EACH STATEMENT EXECUTE FUNCTION holdfast_refuse_change()', guarded);
END
$$;
REVOKE ALL ON FUNCTION holdfast_guard_audit(regclass) FROM PUBLIC;

-- Not CREATE ... PARTITION OF, which would lock out everybody who writes to the audit.
CREATE FUNCTION holdfast_add_audit_partition(added text, bounds text) RETURNS void
    LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE audit)', added);
    PERFORM holdfast_guard_audit(added::regclass);
    EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I %s', added, bounds);
END
$$;
REVOKE ALL ON FUNCTION holdfast_add_audit_partition(text, text) FROM PUBLIC;

-- The partitions with an end, oldest first. They adjoin each other.
CREATE FUNCTION holdfast_audit_partitions() RETURNS TABLE (name text, ends_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC'
AS $$
    SELECT c.relname::text,
        substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']+)''\)')::timestamptz AS to_
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'audit'::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
    ORDER BY to_
$$;

-- Creates partitions until there is one for each of the next months, at most 6 in one call. If that
-- was neglected, entries have gone to the default partition meanwhile, and it becomes the next one.
CREATE FUNCTION holdfast_make_audit_partitions(months integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC'
    SET lock_timeout = '200ms'
AS $$
DECLARE
    covered timestamptz;
    following timestamptz;
    made integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('holdfast audit partitions', 0)) THEN
        RETURN 0;
    END IF;
    SELECT max(ends_at) INTO covered FROM holdfast_audit_partitions();
    IF EXISTS (SELECT FROM audit_rest) THEN
        ALTER TABLE audit DETACH PARTITION audit_rest;
        SELECT date_trunc('month', max(at)) + interval '1 month' INTO following FROM audit_rest;
        EXECUTE format('ALTER TABLE audit_rest RENAME TO %I', to_char(covered, '"audit_"YYYY_MM'));
        EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            to_char(covered, '"audit_"YYYY_MM'), covered, following);
        PERFORM holdfast_add_audit_partition('audit_rest', 'DEFAULT');
        covered := following;
        made := 1;
    END IF;
    WHILE made < 6
        AND covered <= date_trunc('month', statement_timestamp()) + make_interval(months => months)
    LOOP
        following := covered + interval '1 month';
        PERFORM holdfast_add_audit_partition(to_char(covered, '"audit_"YYYY_MM'),
            format('FOR VALUES FROM (%L) TO (%L)', covered, following));
        covered := following;
        made := made + 1;
    END LOOP;
    RETURN made;
END
$$;

-- Drops the oldest partition if all of its entries are older than that. Nobody makes it drop what is
-- younger than 31 days.
CREATE FUNCTION holdfast_drop_audit_partition(kept_days integer)
    RETURNS TABLE (name text, ends_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC'
    SET lock_timeout = '200ms'
AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('holdfast audit partitions', 0)) THEN
        RETURN;
    END IF;
    SELECT p.name, p.ends_at INTO name, ends_at FROM holdfast_audit_partitions() p LIMIT 1;
    IF ends_at > statement_timestamp() - make_interval(days => greatest(kept_days, 31)) THEN
        RETURN;
    END IF;
    EXECUTE format('DROP TABLE %I', name);
    UPDATE audit_horizon SET reaches_to = ends_at;
    RETURN NEXT;
END
$$;

-- The organizations of keys that are no longer valid, to record who still uses them.
CREATE FUNCTION holdfast_ended_api_keys(wanted bytea[])
    RETURNS TABLE (secret_hash bytea, organization_id uuid, id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT k.secret_hash, k.organization_id, k.id
    FROM unnest(wanted) AS w (secret_hash) JOIN api_key k ON k.secret_hash = w.secret_hash
$$;
REVOKE ALL ON FUNCTION
    holdfast_audit_partitions(), holdfast_make_audit_partitions(integer),
    holdfast_drop_audit_partition(integer), holdfast_ended_api_keys(bytea[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    holdfast_audit_partitions(), holdfast_make_audit_partitions(integer),
    holdfast_drop_audit_partition(integer), holdfast_ended_api_keys(bytea[]) TO holdfast_app;
GRANT EXECUTE ON FUNCTION holdfast_audit_partitions() TO holdfast_operator;

DO $$
DECLARE
    bound text;
BEGIN
    SELECT substring(pg_get_constraintdef(oid) FROM '''([^'']+)''') INTO STRICT bound
    FROM pg_constraint WHERE conname = 'audit_start_ends' AND conrelid = 'audit_start'::regclass;
    PERFORM holdfast_guard_audit('audit'), holdfast_guard_audit('audit_start');
    EXECUTE format(
        'ALTER TABLE audit ATTACH PARTITION audit_start FOR VALUES FROM (MINVALUE) TO (%L)', bound);
    PERFORM holdfast_add_audit_partition('audit_rest', 'DEFAULT');
    PERFORM holdfast_make_audit_partitions(3);
END
$$;
ALTER TABLE audit_start DROP CONSTRAINT audit_start_ends;
