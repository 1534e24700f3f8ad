-- Test and live data of an organization are kept apart as two organizations of one account: row-level
-- security, indexes, caches and facts separate them like any other two (ADR 0038).
SET LOCAL holdfast.owner = on;
-- A migration that waits for a table stops everybody behind it.
SET LOCAL lock_timeout = '2s';

ALTER TABLE organization
    ADD COLUMN mode text NOT NULL DEFAULT 'live' CHECK (mode IN ('test', 'live')),
    ADD COLUMN account_id uuid NOT NULL DEFAULT gen_random_uuid(),
    ADD UNIQUE (account_id, mode);

-- What has only test keys so far is a test side.
UPDATE organization o SET mode = 'test'
WHERE EXISTS (SELECT FROM api_key k WHERE k.organization_id = o.id AND k.prefix LIKE 'hk\_test\_%')
    AND NOT EXISTS (
        SELECT FROM api_key k WHERE k.organization_id = o.id AND k.prefix LIKE 'hk\_live\_%');
INSERT INTO organization (id, name, mode, account_id)
SELECT gen_random_uuid(), o.name, other.mode, o.account_id
FROM organization o CROSS JOIN (VALUES ('test'), ('live')) AS other (mode)
WHERE other.mode <> o.mode;
-- A test key of an organization with live keys goes to its empty test side: it must not see live data.
UPDATE api_key k SET organization_id = test.id
FROM organization live JOIN organization test ON test.account_id = live.account_id
WHERE k.organization_id = live.id AND live.mode = 'live' AND test.mode = 'test'
    AND k.prefix LIKE 'hk\_test\_%';

ALTER TABLE api_key
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN last_used_at timestamptz,
    ADD COLUMN replaces uuid;
CREATE INDEX api_key_by_creation ON api_key (organization_id, created_at, id);

GRANT SELECT (organization_id, id, name, prefix, scopes, created_at, revoked_at, expires_at,
        last_used_at, replaces),
    INSERT (organization_id, id, name, prefix, secret_hash, scopes, created_at, expires_at, replaces),
    UPDATE (revoked_at, expires_at)
    ON api_key TO holdfast_app;
GRANT SELECT (expires_at, last_used_at, replaces) ON api_key TO holdfast_operator;

DROP FUNCTION holdfast_find_api_key(bytea);
CREATE FUNCTION holdfast_find_api_key(wanted bytea)
    RETURNS TABLE (
        organization_id uuid, id uuid, scopes text[], mode text, expires_in double precision)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT k.organization_id, k.id, k.scopes, o.mode,
        extract(epoch FROM k.expires_at - statement_timestamp())::double precision
    FROM api_key k JOIN organization o ON o.id = k.organization_id
    WHERE k.secret_hash = wanted AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())
        AND starts_with(k.prefix, 'hk_' || o.mode || '_')
$$;

-- Once a minute and key at most: a row per request would be too much.
CREATE FUNCTION holdfast_note_key_use(used uuid[]) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE api_key k SET last_used_at = statement_timestamp()
    FROM (
        SELECT a.organization_id, a.id FROM api_key a
        WHERE a.id = ANY (used)
            AND coalesce(a.last_used_at, '-infinity') < statement_timestamp() - interval '1 minute'
        FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE k.organization_id = due.organization_id AND k.id = due.id
$$;
CREATE INDEX api_key_by_id ON api_key (id);

REVOKE ALL ON FUNCTION holdfast_find_api_key(bytea), holdfast_note_key_use(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_find_api_key(bytea), holdfast_note_key_use(uuid[])
    TO holdfast_app;

-- Every server process listens, so that a change takes effect at once, whoever made it.
CREATE FUNCTION holdfast_announce_key() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('holdfast_keys', coalesce(NEW.id, OLD.id)::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER announce
    AFTER INSERT OR DELETE OR UPDATE OF organization_id, secret_hash, scopes, revoked_at, expires_at
    ON api_key FOR EACH ROW EXECUTE FUNCTION holdfast_announce_key();

ALTER TABLE audit
    ADD COLUMN key_id uuid,
    DROP CONSTRAINT audit_is_about_something,
    ADD CONSTRAINT audit_is_about_something
        -- Older rows satisfied a stricter rule. Checking them again would lock the table meanwhile.
        CHECK (num_nonnulls(hold_id, seat_id, catalog_id, key_id) > 0) NOT VALID;
