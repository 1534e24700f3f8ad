-- A policy for a role holds for everybody who inherits from it. The owner shall become one of the two
-- roles to do their work, and not fall under all three policies at once, which costs good plans. Who
-- may not change that (an administrator has granted the roles) goes on as before.
DO $$
DECLARE
    name text;
BEGIN
    IF current_setting('server_version_num')::integer >= 160000 THEN
        FOREACH name IN ARRAY ARRAY['holdfast_app', 'holdfast_operator'] LOOP
            EXECUTE format('GRANT %I TO %I WITH INHERIT FALSE', name, current_user);
        END LOOP;
    END IF;
EXCEPTION
    WHEN insufficient_privilege THEN NULL;
END
$$;

DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relrowsecurity
    LOOP
        -- The owner is bound like everybody else: a connection of the owner's that should have
        -- become another role, and is not (a pooler may lose SET ROLE), sees nothing.
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        -- Unless it says that it means to work as the owner, or is in one of the functions
        -- that another role may call: `role` then still names that one. Not in a subselect: the
        -- planner sees what comes out, and plans as if the condition were not there.
        EXECUTE format(
            'CREATE POLICY owner_at_work ON %I TO %I USING (
                 current_setting(''holdfast.owner'', true) = ''on''
                 OR current_setting(''role'') <> ''none'')',
            name, current_user);
        -- Only those who have become operators read everything, not every member of that role.
        EXECUTE format(
            'ALTER POLICY operators_read ON %I USING (current_user = ''holdfast_operator'')', name);
    END LOOP;
    -- The pruning functions work on all organizations for anybody who may call them. Nobody makes
    -- them delete what is younger than a day.
    FOR name IN
        SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'holdfast_prune_%'
    LOOP
        EXECUTE replace(name, 'secs => kept_seconds', 'secs => greatest(kept_seconds, 86400)');
    END LOOP;
END
$$;
