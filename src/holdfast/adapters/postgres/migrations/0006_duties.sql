-- What is due, without the sessions that are blocked at the moment.
DROP FUNCTION holdfast_due_holds(integer);
CREATE FUNCTION holdfast_due_holds(row_limit integer, skipped_sessions uuid[])
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid, is_lapsed boolean,
        quantity integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id, h.expires_at <= statement_timestamp(),
        -- What its end frees: a party on the waitlist has no places.
        CASE h.status WHEN 'active' THEN h.quantity ELSE 0 END
    FROM hold h
    WHERE h.status IN ('waiting', 'active') AND h.due_at <= statement_timestamp()
        AND h.session_id <> ALL (skipped_sessions)
    ORDER BY h.due_at
    LIMIT row_limit
$$;
REVOKE ALL ON FUNCTION holdfast_due_holds(integer, uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_due_holds(integer, uuid[]) TO holdfast_app;

-- One promoter at a time: who it is, until when, and how far its look at all waitlists has got.
CREATE TABLE promoter_lease (
    is_only            boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    holder             uuid NOT NULL,
    held_until         timestamptz NOT NULL,
    after_organization uuid NOT NULL,
    after_session      uuid NOT NULL,
    sweep_due_at       timestamptz NOT NULL
) WITH (fillfactor = 10);
INSERT INTO promoter_lease (holder, held_until, after_organization, after_session, sweep_due_at)
SELECT nobody, now(), nobody, nobody, now()
FROM (SELECT '00000000-0000-0000-0000-000000000000'::uuid AS nobody) AS nobody;
GRANT SELECT, UPDATE ON promoter_lease TO holdfast_app;
GRANT SELECT ON promoter_lease TO holdfast_operator;

-- A holder's open holds are found without reading what they had before. One more column costs no
-- entry of its own: whatever ends or extends a hold writes all of its indexes anyway.
DROP INDEX hold_by_email, hold_by_user;
CREATE INDEX hold_by_email ON hold
    (organization_id, email_key, session_id, (status IN ('waiting', 'active')), expires_at)
    WHERE email_key IS NOT NULL;
CREATE INDEX hold_by_user ON hold
    (organization_id, user_id, session_id, (status IN ('waiting', 'active')), expires_at)
    WHERE user_id IS NOT NULL;
