-- Members of organizations, their sessions on the API, and the log-ins to the admin pages.
SET LOCAL holdfast.owner = on;
-- A migration that waits for a table stops everybody behind it.
SET LOCAL lock_timeout = '2s';

CREATE TABLE member (
    organization_id uuid NOT NULL REFERENCES organization (id),
    id uuid NOT NULL,
    user_id integer NOT NULL REFERENCES auth_user (id),
    role text NOT NULL CHECK (role IN ('owner', 'manager', 'support', 'viewer')),
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, user_id)
);
CREATE INDEX member_by_user ON member (user_id);
CREATE INDEX member_by_creation ON member (organization_id, created_at, id);

-- Removing a member ends their sessions.
CREATE TABLE member_session (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    member_id uuid NOT NULL,
    secret_hash bytea NOT NULL UNIQUE,
    ip inet,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, member_id) REFERENCES member (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX member_session_by_member ON member_session (organization_id, member_id);
CREATE INDEX member_session_by_id ON member_session (id);

-- Who created an account, and the invitation with which its owner chooses the first password.
CREATE TABLE person (
    user_id integer PRIMARY KEY REFERENCES auth_user (id),
    account_id uuid,
    invitation_hash bytea UNIQUE,
    invited_until timestamptz
);

-- Sessions of the admin pages, as Django stores them, and what a person recognizes them by.
CREATE TABLE login_session (
    session_key varchar(40) PRIMARY KEY,
    session_data text NOT NULL,
    expire_date timestamptz NOT NULL,
    id uuid NOT NULL UNIQUE,
    user_id integer REFERENCES auth_user (id),
    ip inet,
    user_agent text NOT NULL,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL
);
CREATE INDEX login_session_by_user ON login_session (user_id);
CREATE INDEX login_session_by_end ON login_session (expire_date);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['member', 'member_session'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_organizations ON %I TO holdfast_app
             USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE)',
            name);
        EXECUTE format(
            'CREATE POLICY operators_read ON %I FOR SELECT TO holdfast_operator
             USING (current_user = ''holdfast_operator'')', name);
        EXECUTE format(
            'CREATE POLICY owner_at_work ON %I TO %I USING (
                 current_setting(''holdfast.owner'', true) = ''on''
                 OR current_setting(''role'') <> ''none'')',
            name, current_user);
    END LOOP;
END
$$;
-- Operators end sessions.
CREATE POLICY operators_delete ON member_session FOR DELETE TO holdfast_operator
    USING (current_user = 'holdfast_operator');

-- An organization sees its own people only. The owner is exempt: Django's commands work as the owner.
ALTER TABLE auth_user ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_people ON auth_user FOR SELECT TO holdfast_app
    USING (id IN (SELECT m.user_id FROM member m));
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_people ON person FOR SELECT TO holdfast_app
    USING (user_id IN (SELECT m.user_id FROM member m));
CREATE POLICY operators ON person TO holdfast_operator
    USING (current_user = 'holdfast_operator') WITH CHECK (current_user = 'holdfast_operator');
CREATE POLICY operators ON auth_user TO holdfast_operator
    USING (current_user = 'holdfast_operator') WITH CHECK (current_user = 'holdfast_operator');

GRANT SELECT, INSERT (organization_id, id, user_id, role), UPDATE (role), DELETE
    ON member TO holdfast_app;
GRANT SELECT (organization_id, id, member_id, ip, user_agent, created_at, last_used_at, ends_at),
    INSERT, DELETE ON member_session TO holdfast_app;
GRANT SELECT (id, username, is_active, last_login) ON auth_user TO holdfast_app;
GRANT SELECT (user_id, invited_until) ON person TO holdfast_app;
GRANT SELECT ON member TO holdfast_operator;
GRANT SELECT (organization_id, id, member_id, ip, user_agent, created_at, last_used_at, ends_at),
    DELETE ON member_session TO holdfast_operator;
GRANT SELECT, UPDATE ON person TO holdfast_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON login_session TO holdfast_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    otp_totp_totpdevice, otp_static_staticdevice, otp_static_statictoken TO holdfast_operator;

-- The account with this name, created if there is none. `is_ours`: it was created by the caller's
-- organization, or is a member of its other side. While it has no password, whoever has the invitation
-- gets the account with all its memberships; so until then only one organization can add it.
CREATE FUNCTION holdfast_enlist(
        wanted text, mail text, hash bytea, seconds integer, by_operator boolean)
    RETURNS TABLE (user_id integer, is_ours boolean, is_invited boolean)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    person_id integer;
    account uuid := (SELECT o.account_id FROM organization o
        WHERE o.id = ANY (holdfast_organizations()) LIMIT 1);
    is_pending boolean;
    ours boolean;
    invited boolean := false;
BEGIN
    -- A password that starts with ! cannot be entered.
    INSERT INTO auth_user (username, email, password, is_superuser, is_staff, is_active, first_name,
        last_name, date_joined)
    VALUES (wanted, mail, '!' || gen_random_uuid(), false, true, true, '', '', statement_timestamp())
    ON CONFLICT (username) DO NOTHING
    RETURNING auth_user.id INTO person_id;
    IF person_id IS NOT NULL THEN
        INSERT INTO person (user_id, account_id) VALUES (person_id, account);
    ELSE
        SELECT u.id INTO person_id FROM auth_user u WHERE u.username = wanted;
    END IF;
    -- The lock keeps an invitation from being accepted, or the account from being added elsewhere.
    SELECT starts_with(u.password, '!') AND NOT u.is_superuser INTO is_pending
    FROM auth_user u WHERE u.id = person_id FOR UPDATE;
    ours := by_operator
        OR ((EXISTS (SELECT FROM person p WHERE p.user_id = person_id AND p.account_id = account)
            OR EXISTS (SELECT FROM member m JOIN organization o ON o.id = m.organization_id
                WHERE m.user_id = person_id AND o.account_id = account))
            AND NOT (is_pending AND EXISTS (SELECT FROM member m WHERE m.user_id = person_id
                AND m.organization_id <> ALL (holdfast_organizations()))));
    IF ours THEN
        UPDATE auth_user u SET is_staff = true WHERE u.id = person_id AND NOT u.is_staff;
        UPDATE person p
        SET invitation_hash = hash,
            invited_until = statement_timestamp() + make_interval(secs => seconds)
        WHERE p.user_id = person_id AND is_pending;
        invited := FOUND;
    END IF;
    RETURN QUERY SELECT person_id, ours, invited;
END
$$;

CREATE FUNCTION holdfast_find_member_session(wanted bytea, idle_seconds integer)
    RETURNS TABLE (organization_id uuid, id uuid, user_id integer, username text, role text,
        mode text, expires_in double precision)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT s.organization_id, s.id, m.user_id, u.username::text, m.role, o.mode,
        extract(epoch FROM least(s.ends_at, s.last_used_at + make_interval(secs => idle_seconds))
            - statement_timestamp())::double precision
    FROM member_session s
    JOIN member m ON m.organization_id = s.organization_id AND m.id = s.member_id
    JOIN auth_user u ON u.id = m.user_id
    JOIN organization o ON o.id = s.organization_id
    WHERE s.secret_hash = wanted AND u.is_active AND s.ends_at > statement_timestamp()
        AND s.last_used_at > statement_timestamp() - make_interval(secs => idle_seconds)
$$;

CREATE FUNCTION holdfast_note_session_use(used uuid[]) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE member_session s SET last_used_at = statement_timestamp()
    FROM (
        SELECT a.organization_id, a.id FROM member_session a
        WHERE a.id = ANY (used) AND a.last_used_at < statement_timestamp() - interval '1 minute'
        FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE s.organization_id = due.organization_id AND s.id = due.id
$$;

REVOKE ALL ON FUNCTION
    holdfast_enlist(text, text, bytea, integer, boolean),
    holdfast_find_member_session(bytea, integer), holdfast_note_session_use(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    holdfast_enlist(text, text, bytea, integer, boolean),
    holdfast_find_member_session(bytea, integer), holdfast_note_session_use(uuid[]) TO holdfast_app;

-- Every server process listens for changed credentials (0014_keys.sql).
CREATE TRIGGER announce AFTER DELETE ON member_session
    FOR EACH ROW EXECUTE FUNCTION holdfast_announce_key();

CREATE FUNCTION holdfast_announce_member() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_notify('holdfast_keys', s.id::text) FROM member_session s
    WHERE s.organization_id = NEW.organization_id AND s.member_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER announce AFTER UPDATE OF role ON member
    FOR EACH ROW EXECUTE FUNCTION holdfast_announce_member();

-- A deactivated account, or one with a new password or new rights, has no sessions. An invitation
-- ends however else the account got a password.
CREATE FUNCTION holdfast_end_sessions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM member_session s USING member m
    WHERE m.user_id = NEW.id AND s.organization_id = m.organization_id AND s.member_id = m.id;
    UPDATE person p SET invitation_hash = NULL, invited_until = NULL
    WHERE p.user_id = NEW.id AND (NEW.is_superuser OR NOT starts_with(NEW.password, '!'));
    RETURN NULL;
END
$$;
CREATE TRIGGER end_sessions AFTER UPDATE OF is_active, password, is_superuser ON auth_user FOR EACH ROW
    WHEN (NOT NEW.is_active OR OLD.password <> NEW.password OR OLD.is_superuser <> NEW.is_superuser)
    EXECUTE FUNCTION holdfast_end_sessions();

-- Blocking seats has a scope of its own; whoever could do it still can.
UPDATE api_key SET scopes = array_append(scopes, 'seats:block')
WHERE 'catalog:write' = ANY (scopes) AND NOT 'seats:block' = ANY (scopes);
