-- What the reconciler has to ask the Inventory Service about: a row for each hold of which it is not
-- known that the two services agree. Written in the transaction that changes the hold.
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';

CREATE TABLE inventory_task (
    organization_id uuid NOT NULL,
    hold_id         uuid NOT NULL,
    -- The transaction that wrote it last: what was found out before says nothing about a row that
    -- has changed since.
    position        xid8 NOT NULL,
    since           timestamptz NOT NULL,
    due_at          timestamptz NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    problem         text CHECK (length(problem) <= 200),
    PRIMARY KEY (organization_id, hold_id)
) WITH (fillfactor = 70);
CREATE INDEX inventory_task_by_due ON inventory_task (due_at);
ALTER TABLE inventory_task ENABLE ROW LEVEL SECURITY;
ALTER TABLE inventory_task FORCE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON inventory_task TO holdfast_app
    USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
CREATE POLICY operators_read ON inventory_task FOR SELECT TO holdfast_operator
    USING (current_user = 'holdfast_operator');
-- As on every other table (0007).
DO $$
BEGIN
    EXECUTE format(
        'CREATE POLICY owner_at_work ON inventory_task TO %I USING (
             current_setting(''holdfast.owner'', true) = ''on''
             OR current_setting(''role'') <> ''none'')',
        current_user);
END
$$;
GRANT SELECT, INSERT, UPDATE, DELETE ON inventory_task TO holdfast_app;
GRANT SELECT ON inventory_task TO holdfast_operator;

-- Take due tasks of all organizations, for as long as the lease lasts: then another may.
CREATE FUNCTION holdfast_take_inventory_tasks(row_limit integer, lease_seconds double precision)
    RETURNS TABLE (organization_id uuid, hold_id uuid, "position" text, since timestamptz,
        attempts integer)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    -- Materialized: a plan that runs it again for each row would take more than the limit.
    WITH due AS MATERIALIZED (
        SELECT d.organization_id, d.hold_id FROM inventory_task d
        WHERE d.due_at <= statement_timestamp()
        ORDER BY d.due_at LIMIT row_limit
        FOR UPDATE SKIP LOCKED
    )
    UPDATE inventory_task t
    SET due_at = statement_timestamp() + make_interval(secs => lease_seconds)
    FROM due
    WHERE t.organization_id = due.organization_id AND t.hold_id = due.hold_id
    RETURNING t.organization_id, t.hold_id, t.position::text, t.since, t.attempts
$$;
REVOKE ALL ON FUNCTION holdfast_take_inventory_tasks(integer, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_take_inventory_tasks(integer, double precision)
    TO holdfast_app;
