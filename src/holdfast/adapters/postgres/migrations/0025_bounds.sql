SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';

-- Whether buyers have seen the event: one that is archived as a draft stays hidden.
ALTER TABLE event ADD COLUMN is_announced boolean NOT NULL DEFAULT true;
UPDATE event SET is_announced = false WHERE status = 'draft';

-- By id within an event, so that a walk through the sessions of a holder can jump to the next one.
CREATE INDEX session_of_event ON session (organization_id, event_id, id);
DROP INDEX session_by_event;
ALTER INDEX session_of_event RENAME TO session_by_event;

-- Names differ in more than upper and lower case. Accounts from before the upgrade that do not are
-- kept, and found by their exact name.
CREATE INDEX auth_user_by_name ON auth_user (lower(username));

-- As in 0019, but it finds an account in whatever case its name is written.
CREATE OR REPLACE FUNCTION holdfast_enlist(
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
    PERFORM pg_advisory_xact_lock(hashtextextended('holdfast username ' || lower(wanted), 0));
    SELECT u.id INTO person_id FROM auth_user u WHERE lower(u.username) = lower(wanted)
    ORDER BY u.username <> wanted, u.id LIMIT 1;
    IF person_id IS NULL THEN
        -- A password that starts with ! cannot be entered.
        INSERT INTO auth_user (username, email, password, is_superuser, is_staff, is_active,
            first_name, last_name, date_joined)
        VALUES (wanted, mail, '!' || gen_random_uuid(), false, true, true, '', '',
            statement_timestamp())
        RETURNING auth_user.id INTO person_id;
        INSERT INTO person (user_id, account_id) VALUES (person_id, account);
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

-- For organizations. Only operators, and the owner, can say that they are operators.
CREATE FUNCTION holdfast_enlist(wanted text, mail text, hash bytea, seconds integer)
    RETURNS TABLE (user_id integer, is_ours boolean, is_invited boolean)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT * FROM holdfast_enlist(wanted, mail, hash, seconds, false)
$$;
REVOKE ALL ON FUNCTION holdfast_enlist(text, text, bytea, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_enlist(text, text, bytea, integer) TO holdfast_app;
REVOKE ALL ON FUNCTION holdfast_enlist(text, text, bytea, integer, boolean) FROM holdfast_app;
GRANT EXECUTE ON FUNCTION holdfast_enlist(text, text, bytea, integer, boolean)
    TO holdfast_operator;

-- Members without two-factor authentication can only set it up, if their organization requires it.
ALTER TABLE organization ADD COLUMN two_factor_required boolean;
GRANT UPDATE (two_factor_required) ON organization TO holdfast_app;
CREATE OR REPLACE FUNCTION holdfast_find_member_session(wanted bytea, idle_seconds integer)
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
        AND (o.two_factor_required IS NOT TRUE OR EXISTS (
            SELECT FROM otp_totp_totpdevice d WHERE d.user_id = m.user_id AND d.confirmed))
$$;

-- Entries have the time at which they are written, or up to a day before: attempts wait while the
-- database is away. An entry of next year would push aside the partitions of the time until then.
ALTER POLICY own_organizations ON audit
    WITH CHECK ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE
        AND at > now() - interval '25 hours' AND at < now() + interval '1 hour');

-- Only the owner sets for how long entries are kept; without a number, forever.
ALTER TABLE audit_horizon ADD COLUMN kept_days integer CHECK (kept_days > 0);

-- Makes the default partition, which has entries, the next one. Holds wait while it is read.
CREATE FUNCTION holdfast_adopt_audit_rest() RETURNS void
    LANGUAGE plpgsql SET search_path = public, pg_temp SET timezone = 'UTC'
    SET lock_timeout = '200ms'
AS $$
DECLARE
    covered timestamptz := (SELECT max(ends_at) FROM holdfast_audit_partitions());
    adopted text := to_char(covered, '"audit_"YYYY_MM');
    following timestamptz;
BEGIN
    ALTER TABLE audit DETACH PARTITION audit_rest;
    SELECT date_trunc('month', max(at)) + interval '1 month' INTO following FROM audit_rest;
    EXECUTE format('ALTER TABLE audit_rest RENAME TO %I', adopted);
    EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        adopted, covered, following);
    PERFORM holdfast_add_audit_partition('audit_rest', 'DEFAULT');
END
$$;
REVOKE ALL ON FUNCTION holdfast_adopt_audit_rest() FROM PUBLIC;

-- As in 0023, but a default partition that takes long to read is left to the owner: nothing is made
-- then, and the answer is NULL. To prove its bound beside the writers (VALIDATE CONSTRAINT) would
-- take a transaction id, behind which all readers of facts would wait.
CREATE OR REPLACE FUNCTION holdfast_make_audit_partitions(months integer) RETURNS integer
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
    IF EXISTS (SELECT FROM audit_rest) THEN
        IF pg_relation_size('audit_rest') > 64 * 1024 * 1024 THEN
            RETURN NULL;
        END IF;
        PERFORM holdfast_adopt_audit_rest();
        made := 1;
    END IF;
    SELECT max(ends_at) INTO covered FROM holdfast_audit_partitions();
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

-- As in 0023, but nothing is dropped that the owner wants to be kept.
CREATE OR REPLACE FUNCTION holdfast_drop_audit_partition(kept_days integer)
    RETURNS TABLE (name text, ends_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC'
    SET lock_timeout = '200ms'
AS $$
DECLARE
    least_days integer;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('holdfast audit partitions', 0)) THEN
        RETURN;
    END IF;
    SELECT p.name, p.ends_at INTO name, ends_at FROM holdfast_audit_partitions() p LIMIT 1;
    SELECT h.kept_days INTO least_days FROM audit_horizon h;
    IF least_days IS NOT NULL AND ends_at < statement_timestamp()
        - make_interval(days => greatest(kept_days, least_days, 31))
    THEN
        EXECUTE format('DROP TABLE %I', name);
        UPDATE audit_horizon SET reaches_to = ends_at;
        RETURN NEXT;
    END IF;
END
$$;
