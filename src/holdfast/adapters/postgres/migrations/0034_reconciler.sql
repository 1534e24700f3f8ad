-- The reconciler's tasks whose two sides contradict each other, and its comparison of everything.
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';

-- No retry helps: somebody has to decide.
ALTER TABLE inventory_task ADD COLUMN is_contradiction boolean NOT NULL DEFAULT false;

-- One comparison at a time: when the next is due, and what the last one found.
CREATE TABLE inventory_comparison (
    is_only      boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    due_at       timestamptz NOT NULL,
    finished_at  timestamptz,
    reservations bigint NOT NULL DEFAULT 0,
    holds        bigint NOT NULL DEFAULT 0,
    differences  bigint NOT NULL DEFAULT 0,
    mended       bigint NOT NULL DEFAULT 0
);
INSERT INTO inventory_comparison (due_at) VALUES (now());
GRANT SELECT, UPDATE ON inventory_comparison TO holdfast_app;
GRANT SELECT ON inventory_comparison TO holdfast_operator;

CREATE FUNCTION holdfast_organization_ids() RETURNS uuid[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM organization $$;
REVOKE ALL ON FUNCTION holdfast_organization_ids() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_organization_ids() TO holdfast_app;

-- A pending hold's call may still be under way: it is not late yet.
CREATE FUNCTION holdfast_inventory_lag()
    RETURNS TABLE (tasks bigint, tried bigint, contradictions bigint, oldest_since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT count(*), count(*) FILTER (WHERE attempts > 0 AND NOT is_contradiction),
        count(*) FILTER (WHERE is_contradiction),
        min(since) FILTER (WHERE NOT is_contradiction
            AND (attempts > 0 OR due_at <= statement_timestamp()))
    FROM inventory_task
$$;
REVOKE ALL ON FUNCTION holdfast_inventory_lag() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_inventory_lag() TO holdfast_app, holdfast_operator;
