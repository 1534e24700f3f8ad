-- Assigned seats. A seat row carries its own state, so that "who has this chair" is one row under
-- one lock; a block's capacity is a pool that its seats draw from.

ALTER TABLE event
    ADD COLUMN status text NOT NULL DEFAULT 'published'
        CHECK (status IN ('draft', 'published', 'live', 'cancelled', 'archived')),
    ADD COLUMN sale_starts_at timestamptz,
    ADD COLUMN sale_ends_at timestamptz,
    ADD CONSTRAINT event_sale_ends_after_it_starts CHECK (sale_starts_at < sale_ends_at);

ALTER TABLE organization ADD COLUMN one_active_hold boolean, ADD COLUMN refuse_orphans boolean;
ALTER TABLE event ADD COLUMN one_active_hold boolean, ADD COLUMN refuse_orphans boolean;
ALTER TABLE ticket_type ADD COLUMN one_active_hold boolean, ADD COLUMN refuse_orphans boolean,
    ADD COLUMN is_seated boolean NOT NULL DEFAULT false;

CREATE TABLE block (
    organization_id  uuid NOT NULL,
    id               uuid NOT NULL,
    session_id       uuid NOT NULL,
    name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- The order in which best-available looks through the blocks, and in which they are shown.
    rank             integer NOT NULL,
    -- Only a block with a capacity below its seat count has one: the others pay nothing for it.
    capacity_pool_id uuid,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    UNIQUE (organization_id, session_id, name),
    FOREIGN KEY (organization_id, session_id) REFERENCES session,
    FOREIGN KEY (organization_id, capacity_pool_id) REFERENCES pool
);

-- What is sold in a block, and for how much. A block without rows sells every seated ticket type of
-- its session at the ticket type's own price. The lowest rank is what a seat is when nobody says.
CREATE TABLE block_price (
    organization_id uuid NOT NULL,
    block_id        uuid NOT NULL,
    ticket_type_id  uuid NOT NULL,
    rank            smallint NOT NULL,
    price_minor     bigint NOT NULL CHECK (price_minor >= 0),
    PRIMARY KEY (organization_id, block_id, ticket_type_id),
    FOREIGN KEY (organization_id, block_id) REFERENCES block,
    FOREIGN KEY (organization_id, ticket_type_id) REFERENCES ticket_type
);

CREATE TABLE seat (
    organization_id    uuid NOT NULL,
    id                 uuid NOT NULL,
    session_id         uuid NOT NULL,
    block_id           uuid NOT NULL,
    row_name           text NOT NULL CHECK (length(row_name) BETWEEN 1 AND 20),
    -- Rows of a block from the best to the last; places of a row from left to right. Neighbours have
    -- positions that follow each other: a missing one is an aisle.
    row_rank           integer NOT NULL,
    number             text NOT NULL CHECK (length(number) BETWEEN 1 AND 20),
    position           integer NOT NULL,
    x                  real NOT NULL,
    y                  real NOT NULL,
    is_accessible      boolean NOT NULL DEFAULT false,
    is_companion       boolean NOT NULL DEFAULT false,
    is_restricted_view boolean NOT NULL DEFAULT false,
    status             text NOT NULL DEFAULT 'available'
        CHECK (status IN ('available', 'held', 'sold', 'blocked')),
    -- Who has it: the hold, and a digest of its holder, so that a second click of the same person is
    -- told from a stranger's without reading the hold.
    hold_id            uuid,
    holder_key         uuid,
    -- Lapsing changes no row: whoever reads a seat compares this with the clock.
    held_until         timestamptz,
    locked_at          timestamptz,
    blocked_reason     text CHECK (length(blocked_reason) BETWEEN 1 AND 200),
    version            integer NOT NULL DEFAULT 1 CHECK (version > 0),
    -- The transaction of the last change. Readers ask for what changed since, and miss nothing.
    changed_xid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, block_id) REFERENCES block,
    CONSTRAINT seat_has_one_state CHECK (CASE status
        WHEN 'available' THEN hold_id IS NULL AND held_until IS NULL AND blocked_reason IS NULL
        WHEN 'held' THEN hold_id IS NOT NULL AND held_until IS NOT NULL AND holder_key IS NOT NULL
            AND locked_at IS NOT NULL AND blocked_reason IS NULL
        WHEN 'sold' THEN hold_id IS NOT NULL AND held_until IS NULL AND blocked_reason IS NULL
        -- A sold seat that is blocked remembers its hold, so that unblocking does not free it.
        ELSE held_until IS NULL AND blocked_reason IS NOT NULL END)
) WITH (fillfactor = 60);
-- The map of a session, and what has changed in it since. Labels are unique per block because seats
-- are only added under the session's exclusive lock, which checks it: an index for that alone would
-- have to be written with every hold.
CREATE INDEX seat_by_change ON seat (organization_id, session_id, changed_xid);

ALTER TABLE hold
    ADD COLUMN source text NOT NULL DEFAULT 'web' CHECK (source IN ('web', 'scanner')),
    ADD COLUMN cart_token text CHECK (length(cart_token) BETWEEN 1 AND 255),
    ADD COLUMN notes text CHECK (length(notes) BETWEEN 1 AND 1000);
ALTER TABLE hold_line ADD COLUMN seat_id uuid;

-- Facts of seats: one per seat, and some of them (blocked, unblocked) without any hold.
ALTER TABLE outbox
    ADD COLUMN seat_id uuid,
    ALTER COLUMN hold_id DROP NOT NULL,
    DROP CONSTRAINT outbox_organization_id_hold_id_version_type_key,
    ADD CONSTRAINT outbox_fact_happens_once
        UNIQUE NULLS NOT DISTINCT (organization_id, hold_id, version, type, seat_id),
    ADD CONSTRAINT outbox_is_about_something CHECK (hold_id IS NOT NULL OR seat_id IS NOT NULL);
ALTER TABLE audit
    ADD COLUMN seat_id uuid,
    ALTER COLUMN hold_id DROP NOT NULL,
    ADD CONSTRAINT audit_is_about_something CHECK (hold_id IS NOT NULL OR seat_id IS NOT NULL);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['block', 'block_price', 'seat'] LOOP
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
-- Nobody may take a seat away once it is there: it may be somebody's.
GRANT SELECT, INSERT, UPDATE ON block, seat TO holdfast_app;
GRANT SELECT, INSERT, DELETE ON block_price TO holdfast_app;
GRANT SELECT ON block, block_price, seat TO holdfast_operator;
