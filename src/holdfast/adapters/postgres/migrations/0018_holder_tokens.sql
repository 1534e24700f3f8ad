-- Holder tokens are not stored: they carry their claims. Only revocations are, until the last token
-- issued before one has expired (ADR 0042).
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';

CREATE TABLE holder_revocation (
    organization_id uuid        NOT NULL REFERENCES organization (id),
    holder_key      uuid        NOT NULL,
    revoked_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, holder_key)
);
CREATE INDEX holder_revocation_by_time ON holder_revocation (revoked_at);
ALTER TABLE holder_revocation ENABLE ROW LEVEL SECURITY;
ALTER TABLE holder_revocation FORCE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON holder_revocation TO holdfast_app
    USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
CREATE POLICY operators_read ON holder_revocation FOR SELECT TO holdfast_operator
    USING (current_user = 'holdfast_operator');
-- As on every other table (0007).
DO $$
BEGIN
    EXECUTE format(
        'CREATE POLICY owner_at_work ON holder_revocation TO %I USING (
             current_setting(''holdfast.owner'', true) = ''on''
             OR current_setting(''role'') <> ''none'')',
        current_user);
END
$$;
GRANT SELECT, INSERT, UPDATE ON holder_revocation TO holdfast_app;

ALTER TABLE organization
    ADD COLUMN allowed_origins text[],
    ADD COLUMN anonymous_holders boolean;
GRANT UPDATE (allowed_origins, anonymous_holders) ON organization TO holdfast_app;

-- A preflight has no credential, so it is answered from the origins of all organizations.
CREATE FUNCTION holdfast_allowed_origins(row_limit integer)
    RETURNS TABLE (organization_id uuid, origins text[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT o.id, o.allowed_origins FROM organization o
    WHERE o.allowed_origins IS NOT NULL ORDER BY o.id LIMIT row_limit
$$;
CREATE FUNCTION holdfast_prune_revocations(kept_seconds double precision, row_limit integer)
    RETURNS integer
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH old AS (
        SELECT r.organization_id, r.holder_key FROM holder_revocation r
        WHERE r.revoked_at < statement_timestamp() - make_interval(secs => greatest(kept_seconds, 86400))
        ORDER BY r.revoked_at LIMIT row_limit
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM holder_revocation r USING old o
        WHERE r.organization_id = o.organization_id AND r.holder_key = o.holder_key
        RETURNING 1
    )
    SELECT count(*)::integer FROM gone
$$;
REVOKE ALL ON FUNCTION holdfast_allowed_origins(integer),
    holdfast_prune_revocations(double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_allowed_origins(integer),
    holdfast_prune_revocations(double precision, integer) TO holdfast_app;

-- Every server process listens, as for keys. The payload is the organization: only its tokens are
-- asked about again.
CREATE FUNCTION holdfast_announce_revocation() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('holdfast_tokens', NEW.organization_id::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER announce AFTER INSERT OR UPDATE ON holder_revocation
    FOR EACH ROW EXECUTE FUNCTION holdfast_announce_revocation();
CREATE FUNCTION holdfast_announce_origins() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('holdfast_origins', NEW.id::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_origins AFTER UPDATE OF allowed_origins ON organization
    FOR EACH ROW WHEN (NEW.allowed_origins IS DISTINCT FROM OLD.allowed_origins)
    EXECUTE FUNCTION holdfast_announce_origins();
