-- Carts, whose one live hold changes in place, and the waitlist: who waits in a session, for what, and
-- in which order.

ALTER TABLE organization
    ADD COLUMN waitlist boolean,
    ADD COLUMN waiting_seconds integer CHECK (waiting_seconds > 0),
    ADD COLUMN waiting_places_max integer CHECK (waiting_places_max > 0),
    ADD COLUMN waiting_passes_max integer CHECK (waiting_passes_max >= 0);
ALTER TABLE event
    ADD COLUMN waitlist boolean,
    ADD COLUMN waiting_seconds integer CHECK (waiting_seconds > 0),
    ADD COLUMN waiting_places_max integer CHECK (waiting_places_max > 0),
    ADD COLUMN waiting_passes_max integer CHECK (waiting_passes_max >= 0);
ALTER TABLE ticket_type
    ADD COLUMN waitlist boolean,
    ADD COLUMN waiting_seconds integer CHECK (waiting_seconds > 0),
    ADD COLUMN waiting_places_max integer CHECK (waiting_places_max > 0),
    ADD COLUMN waiting_passes_max integer CHECK (waiting_passes_max >= 0);

ALTER TABLE hold
    DROP CONSTRAINT hold_status_check,
    ADD CONSTRAINT hold_status_check
        CHECK (status IN ('waiting', 'active', 'converted', 'expired', 'cancelled')),
    -- While it waits, nothing is the holder's yet.
    ALTER COLUMN held_at DROP NOT NULL,
    ADD CONSTRAINT hold_has_its_places_since_then CHECK (status <> 'active' OR held_at IS NOT NULL),
    ADD COLUMN is_cart boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT hold_of_a_cart_names_it CHECK (NOT is_cart OR cart_token IS NOT NULL);
-- A cart has at most one live hold, whatever else goes wrong.
CREATE UNIQUE INDEX hold_of_cart ON hold (organization_id, cart_token)
    WHERE is_cart AND status IN ('waiting', 'active');
-- The newest hold of a cart, and whatever else carries its name.
CREATE INDEX hold_by_cart ON hold (organization_id, cart_token, created_at, id)
    WHERE cart_token IS NOT NULL;
-- One that waits has an end too.
DROP INDEX hold_live_by_due;
CREATE INDEX hold_live_by_due ON hold (due_at) WHERE status IN ('waiting', 'active');

ALTER TABLE hold_line
    -- Numbers are never used twice, so they run further than any hold has lines.
    ALTER COLUMN position TYPE integer,
    -- The versions of the hold from which on it had the line, and from which on it had it no more.
    ADD COLUMN added_version integer NOT NULL DEFAULT 1 CHECK (added_version > 0),
    ADD COLUMN removed_version integer CHECK (removed_version > added_version),
    ADD COLUMN cart_item_id text CHECK (length(cart_item_id) BETWEEN 1 AND 255),
    ADD COLUMN group_id uuid,
    -- What kind of seats the line waits for, where it waits for seats.
    ADD COLUMN wish_block_id uuid,
    ADD COLUMN wish_accessible smallint CHECK (wish_accessible >= 0),
    ADD COLUMN wish_is_together boolean,
    -- What the platform asked for them, where it named a price.
    ADD COLUMN wish_price_minor bigint CHECK (wish_price_minor >= 0),
    ADD CONSTRAINT hold_line_has_a_whole_item
        CHECK ((cart_item_id IS NULL) = (group_id IS NULL)),
    ADD CONSTRAINT hold_line_has_a_whole_wish
        CHECK ((wish_accessible IS NULL) = (wish_is_together IS NULL)
            AND (wish_accessible IS NOT NULL
                OR (wish_block_id IS NULL AND wish_price_minor IS NULL))),
    ADD CONSTRAINT hold_line_has_a_seat_or_a_wish
        CHECK (seat_id IS NULL OR wish_accessible IS NULL);

-- One row for every session: its lock guards all lines of the session. Unsettled: there may be
-- somebody whose turn has come, and who was not served for want of time or of a lock.
CREATE TABLE waitlist (
    organization_id uuid NOT NULL,
    session_id      uuid NOT NULL,
    is_settled      boolean NOT NULL DEFAULT true,
    PRIMARY KEY (organization_id, session_id),
    FOREIGN KEY (organization_id, session_id) REFERENCES session
) WITH (fillfactor = 50);
CREATE INDEX waitlist_unsettled ON waitlist (organization_id, session_id) WHERE NOT is_settled;
INSERT INTO waitlist (organization_id, session_id) SELECT organization_id, id FROM session;

CREATE FUNCTION holdfast_open_waitlist() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO waitlist (organization_id, session_id) VALUES (NEW.organization_id, NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER session_has_a_waitlist AFTER INSERT ON session
    FOR EACH ROW EXECUTE FUNCTION holdfast_open_waitlist();

-- Those who want the same pools and blocks stand in one line. It is there while somebody waits in it.
CREATE TABLE waiting_line (
    organization_id uuid NOT NULL,
    session_id      uuid NOT NULL,
    id              uuid NOT NULL,
    wants           uuid[] NOT NULL CHECK (cardinality(wants) > 0),
    waiting         integer NOT NULL CHECK (waiting > 0),
    -- How often somebody was served before the first of the line.
    passes          integer NOT NULL CHECK (passes >= 0),
    -- How many were served since it opened.
    served          integer NOT NULL CHECK (served >= 0),
    opened_at       timestamptz NOT NULL,
    PRIMARY KEY (organization_id, session_id, id)
) WITH (fillfactor = 50);

-- The place of a hold in its line; it is there while the hold waits. Kept apart from the holds, so
-- that those who never wait pay nothing for it.
CREATE TABLE waiting_place (
    organization_id uuid NOT NULL,
    hold_id         uuid NOT NULL,
    session_id      uuid NOT NULL,
    line_id         uuid NOT NULL,
    since           timestamptz NOT NULL,
    passes_seen     integer NOT NULL CHECK (passes_seen >= 0),
    PRIMARY KEY (organization_id, hold_id)
);
-- Who is first in a line.
CREATE INDEX waiting_place_in_line
    ON waiting_place (organization_id, session_id, line_id, since, hold_id);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['waitlist', 'waiting_line', 'waiting_place'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_organizations ON %I TO holdfast_app
             USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE)',
            name);
        EXECUTE format(
            'CREATE POLICY operators_read ON %I FOR SELECT TO holdfast_operator USING (true)', name);
    END LOOP;
END
$$;
-- Of a line that is written only its end may be added.
GRANT UPDATE (removed_version) ON hold_line TO holdfast_app;
GRANT SELECT, UPDATE (is_settled) ON waitlist TO holdfast_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON waiting_line, waiting_place TO holdfast_app;
GRANT SELECT ON waitlist, waiting_line, waiting_place TO holdfast_operator;

CREATE OR REPLACE FUNCTION holdfast_due_holds(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid, is_lapsed boolean,
        quantity integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id, h.expires_at <= statement_timestamp(), h.quantity
    FROM hold h
    WHERE h.status IN ('waiting', 'active') AND h.due_at <= statement_timestamp()
    ORDER BY h.due_at
    LIMIT row_limit
$$;

CREATE OR REPLACE FUNCTION holdfast_seconds_until_due() RETURNS double precision
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT extract(epoch FROM h.due_at - clock_timestamp())::double precision
    FROM hold h WHERE h.status IN ('waiting', 'active') ORDER BY h.due_at LIMIT 1
$$;

-- What the promoter asks: where somebody's turn may have come.
CREATE FUNCTION holdfast_unsettled_sessions(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    -- In no order: one that cannot be settled yet keeps nobody else waiting.
    SELECT w.organization_id, w.session_id FROM waitlist w
    WHERE NOT w.is_settled AND EXISTS (
        SELECT FROM waiting_line l
        WHERE l.organization_id = w.organization_id AND l.session_id = w.session_id)
    ORDER BY random() LIMIT row_limit
$$;

-- And, now and then, where anybody waits at all: a page, after that session. From one session to the
-- next by the index, however many lines each has.
CREATE FUNCTION holdfast_waiting_sessions(
    after_organization uuid, after_session uuid, row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH RECURSIVE found AS (
        (SELECT l.organization_id, l.session_id, 1 AS number FROM waiting_line l
         WHERE (l.organization_id, l.session_id) > (after_organization, after_session)
         ORDER BY l.organization_id, l.session_id LIMIT 1)
        UNION ALL
        SELECT next.organization_id, next.session_id, f.number + 1
        FROM found f
        CROSS JOIN LATERAL (
            SELECT l.organization_id, l.session_id FROM waiting_line l
            WHERE (l.organization_id, l.session_id) > (f.organization_id, f.session_id)
            ORDER BY l.organization_id, l.session_id LIMIT 1
        ) next
        WHERE f.number < row_limit
    )
    SELECT f.organization_id, f.session_id FROM found f
$$;

REVOKE ALL ON FUNCTION
    holdfast_open_waitlist(), holdfast_unsettled_sessions(integer),
    holdfast_waiting_sessions(uuid, uuid, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    holdfast_unsettled_sessions(integer), holdfast_waiting_sessions(uuid, uuid, integer)
    TO holdfast_app;
