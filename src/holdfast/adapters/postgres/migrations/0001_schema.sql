-- The tables of Holdfast. organization_id leads every primary key, unique index and foreign key:
-- the organization is the tenant and the shard.

-- The application connects as a role that owns nothing and cannot bypass row-level security; the
-- admin pages as one that may read every organization and write none of it.
-- Roles are shared by all databases of a server, so another one may make them at this very moment,
-- and an administrator may have made and granted them beforehand.
DO $$
DECLARE
    name text;
    -- Since PostgreSQL 16 whoever makes a role is a member of it without being able to become it.
    membership text := CASE
        WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER'
    END;
BEGIN
    FOREACH name IN ARRAY ARRAY['holdfast_app', 'holdfast_operator'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOBYPASSRLS', name);
            END IF;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
        BEGIN
            IF NOT pg_has_role(current_user, name, membership) THEN
                EXECUTE format('GRANT %I TO %I', name, current_user);
            END IF;
        EXCEPTION
            WHEN unique_violation THEN NULL;
        END;
    END LOOP;
END
$$;

CREATE TABLE organization (
    id           uuid PRIMARY KEY,
    name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    ttl_seconds  integer CHECK (ttl_seconds > 0),
    quantity_max integer CHECK (quantity_max > 0),
    created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_key (
    organization_id uuid NOT NULL REFERENCES organization (id),
    id              uuid NOT NULL,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- The first letters of the key, so that people can tell keys apart. Never enough to use one.
    prefix          text NOT NULL,
    secret_hash     bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    scopes          text[] NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    revoked_at      timestamptz,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, secret_hash)
);
-- A request is known by its key alone; the organization comes out of the look-up.
CREATE INDEX api_key_by_secret_hash ON api_key (secret_hash);

CREATE TABLE event (
    organization_id uuid NOT NULL REFERENCES organization (id),
    id              uuid NOT NULL,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    currency        text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    ttl_seconds     integer CHECK (ttl_seconds > 0),
    quantity_max    integer CHECK (quantity_max > 0),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE session (
    organization_id uuid NOT NULL,
    id              uuid NOT NULL,
    event_id        uuid NOT NULL,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    starts_at       timestamptz,
    -- Rises with every change of what the session sells: the engine compares it under the
    -- session's lock and so may keep the catalog in memory.
    version         integer NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, event_id) REFERENCES event
);
CREATE INDEX session_by_event ON session (organization_id, event_id);

CREATE TABLE pool (
    organization_id uuid NOT NULL,
    id              uuid NOT NULL,
    session_id      uuid NOT NULL,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    total           integer NOT NULL CHECK (total >= 0),
    held            integer NOT NULL DEFAULT 0 CHECK (held >= 0),
    sold            integer NOT NULL DEFAULT 0 CHECK (sold >= 0),
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, session_id) REFERENCES session,
    CONSTRAINT pool_is_never_oversold CHECK (held + sold <= total)
) WITH (fillfactor = 50);  -- room on the page, so that the counters are updated in place
CREATE INDEX pool_by_session ON pool (organization_id, session_id);

-- Units by the second at which they lapse. Kept under the pool's lock; it answers "how much of
-- this pool is held by holds whose time is up" without looking at the holds.
CREATE TABLE pool_lapse (
    organization_id uuid NOT NULL,
    pool_id         uuid NOT NULL,
    lapses_at       timestamptz NOT NULL,
    units           integer NOT NULL CHECK (units >= 0),
    PRIMARY KEY (organization_id, pool_id, lapses_at)
) WITH (fillfactor = 50);

CREATE TABLE ticket_type (
    organization_id uuid NOT NULL,
    id              uuid NOT NULL,
    session_id      uuid NOT NULL,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    price_minor     bigint NOT NULL CHECK (price_minor >= 0),
    ttl_seconds     integer CHECK (ttl_seconds > 0),
    quantity_max    integer CHECK (quantity_max > 0),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, session_id) REFERENCES session
);
CREATE INDEX ticket_type_by_session ON ticket_type (organization_id, session_id);

CREATE TABLE ticket_type_pool (
    organization_id uuid NOT NULL,
    ticket_type_id  uuid NOT NULL,
    pool_id         uuid NOT NULL,
    PRIMARY KEY (organization_id, ticket_type_id, pool_id),
    FOREIGN KEY (organization_id, ticket_type_id) REFERENCES ticket_type,
    FOREIGN KEY (organization_id, pool_id) REFERENCES pool
);
CREATE INDEX ticket_type_pool_by_pool ON ticket_type_pool (organization_id, pool_id);

CREATE TABLE hold (
    organization_id uuid NOT NULL,
    id              uuid NOT NULL,
    session_id      uuid NOT NULL,
    reference       text NOT NULL,
    customer_email  text,
    -- What decides whether two addresses are the same. A column, not an expression: under row-level
    -- security lower() may not be evaluated before the policy, so no index on it would be used.
    email_key       text GENERATED ALWAYS AS (lower(customer_email)) STORED,
    user_id         text,
    quantity        integer NOT NULL CHECK (quantity > 0),
    total_minor     bigint NOT NULL CHECK (total_minor >= 0),
    currency        text NOT NULL,
    status          text NOT NULL CHECK (status IN ('active', 'converted', 'expired', 'cancelled')),
    version         integer NOT NULL CHECK (version > 0),
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    held_at         timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    confirmed_at    timestamptz,
    cancelled_at    timestamptz,
    expired_at      timestamptz,
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, reference),
    FOREIGN KEY (organization_id, session_id) REFERENCES session,
    CONSTRAINT hold_expires_after_creation CHECK (expires_at > created_at),
    CONSTRAINT hold_has_a_holder CHECK (customer_email IS NOT NULL OR user_id IS NOT NULL)
) WITH (fillfactor = 90);
-- The reaper: what has lapsed, oldest first, over all organizations.
CREATE INDEX hold_live_by_expiry ON hold (expires_at) WHERE status = 'active';
-- Admission: lapsed holds of a session that stand in the way.
CREATE INDEX hold_live_by_session ON hold (organization_id, session_id, expires_at)
    WHERE status = 'active';
-- A holder's holds.
CREATE INDEX hold_by_email ON hold (organization_id, email_key, session_id)
    WHERE email_key IS NOT NULL;
CREATE INDEX hold_by_user ON hold (organization_id, user_id, session_id) WHERE user_id IS NOT NULL;
-- Lists, newest first: of a session, of an organization. The status comes before the time, so that
-- one status is found without wading through the others; a list of all merges the few there are.
CREATE INDEX hold_by_session ON hold (organization_id, session_id, status, created_at, id);
CREATE INDEX hold_by_creation ON hold (organization_id, status, created_at, id);

CREATE TABLE hold_line (
    organization_id  uuid NOT NULL,
    hold_id          uuid NOT NULL,
    position         smallint NOT NULL CHECK (position >= 0),
    ticket_type_id   uuid NOT NULL,
    quantity         integer NOT NULL CHECK (quantity > 0),
    unit_price_minor bigint NOT NULL CHECK (unit_price_minor >= 0),
    pool_ids         uuid[] NOT NULL,
    PRIMARY KEY (organization_id, hold_id, position),
    FOREIGN KEY (organization_id, hold_id) REFERENCES hold,
    FOREIGN KEY (organization_id, ticket_type_id) REFERENCES ticket_type
);

-- Facts, committed with the state that they tell of. Rows carry their transaction id, because
-- sequences commit out of order: a reader stops at pg_snapshot_xmin.
CREATE TABLE outbox (
    organization_id uuid NOT NULL,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    xid             xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_id        uuid NOT NULL,
    hold_id         uuid NOT NULL,
    version         integer NOT NULL,
    type            text NOT NULL,
    occurred_at     timestamptz NOT NULL,
    payload         jsonb NOT NULL,
    PRIMARY KEY (organization_id, seq),
    UNIQUE (organization_id, hold_id, version, type)
);

CREATE TABLE audit (
    organization_id uuid NOT NULL,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    at              timestamptz NOT NULL,
    action          text NOT NULL,
    hold_id         uuid NOT NULL,
    actor           text NOT NULL,
    request_id      text NOT NULL,
    ip              inet,
    user_agent      text,
    old             jsonb,
    new             jsonb NOT NULL,
    PRIMARY KEY (organization_id, seq)
);
CREATE INDEX audit_by_hold ON audit (organization_id, hold_id);

CREATE TABLE idempotency (
    organization_id uuid NOT NULL,
    digest          uuid NOT NULL,
    fingerprint     bytea NOT NULL,
    body            bytea NOT NULL,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, digest)
);
CREATE INDEX idempotency_by_creation ON idempotency (created_at);

-- Blocks of 256 numbers for the short references; gaps do no harm.
CREATE SEQUENCE hold_reference_block MINVALUE 0;

-- Row-level security: behind every filter of the application stands the database. The setting
-- lists the organizations of the transaction (a group may carry several). Unset or empty, it is
-- null, and null matches nothing.
CREATE FUNCTION holdfast_organizations() RETURNS uuid[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('holdfast.organizations', true), '')::uuid[];

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'api_key', 'event', 'session', 'pool', 'pool_lapse', 'ticket_type', 'ticket_type_pool',
        'hold', 'hold_line', 'outbox', 'audit', 'idempotency'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        -- The subselect is evaluated once per statement, not once per row. IS TRUE keeps the
        -- policy out of the index conditions: counted among them it makes every index that starts
        -- with the organization look as good as the primary key, and on a table without
        -- statistics the planner then takes the wrong one.
        EXECUTE format(
            'CREATE POLICY own_organizations ON %I TO holdfast_app
             USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE)',
            name);
        EXECUTE format(
            'CREATE POLICY operators_read ON %I FOR SELECT TO holdfast_operator USING (true)', name);
    END LOOP;
END
$$;
ALTER TABLE organization ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON organization TO holdfast_app
    USING ((id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
CREATE POLICY operators_read ON organization FOR SELECT TO holdfast_operator USING (true);

-- The application may do what it does, and no more. Nobody may change a line, a fact or an audit
-- row once it is written, nor delete a hold.
GRANT SELECT ON organization TO holdfast_app;
GRANT SELECT, INSERT, UPDATE ON
    event, session, pool, ticket_type, hold TO holdfast_app;
GRANT SELECT, INSERT, DELETE ON ticket_type_pool TO holdfast_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON pool_lapse TO holdfast_app;
GRANT SELECT, INSERT ON hold_line, outbox, audit, idempotency TO holdfast_app;
GRANT USAGE ON SEQUENCE hold_reference_block TO holdfast_app;
-- Everything but the answers of idempotency keys and the hashes of API keys.
GRANT SELECT ON
    organization, event, session, pool, pool_lapse, ticket_type, ticket_type_pool,
    hold, hold_line, outbox, audit TO holdfast_operator;
GRANT SELECT (organization_id, id, name, prefix, scopes, created_at, revoked_at)
    ON api_key TO holdfast_operator;

-- statement_timestamp(), for clock_timestamp() may change from row to row and so is never the
-- condition of an index.
-- What has to look over all organizations does so through these doors, one question each.
CREATE FUNCTION holdfast_find_api_key(wanted bytea)
    RETURNS TABLE (organization_id uuid, id uuid, scopes text[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT k.organization_id, k.id, k.scopes
    FROM api_key k
    WHERE k.secret_hash = wanted AND k.revoked_at IS NULL
$$;

CREATE FUNCTION holdfast_lapsed_holds(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id
    FROM hold h
    WHERE h.status = 'active' AND h.expires_at <= statement_timestamp()
    ORDER BY h.expires_at
    LIMIT row_limit
$$;

CREATE FUNCTION holdfast_prune_answers(kept_seconds integer, row_limit integer) RETURNS integer
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH old_answers AS (
        SELECT i.organization_id, i.digest FROM idempotency i
        WHERE i.created_at < statement_timestamp() - make_interval(secs => kept_seconds)
        ORDER BY i.created_at LIMIT row_limit
        FOR UPDATE SKIP LOCKED
    ), answers AS (
        DELETE FROM idempotency i USING old_answers o
        WHERE i.organization_id = o.organization_id AND i.digest = o.digest
        RETURNING 1
    )
    SELECT count(*)::integer FROM answers
$$;

REVOKE ALL ON FUNCTION
    holdfast_find_api_key(bytea), holdfast_lapsed_holds(integer), holdfast_prune_answers(integer, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    holdfast_find_api_key(bytea), holdfast_lapsed_holds(integer), holdfast_prune_answers(integer, integer)
    TO holdfast_app;
