SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';

-- A cancelled ticket is void. The version is the order's from then on; its tickets with the same
-- version were cancelled together.
ALTER TABLE ticket
    ADD COLUMN voided_at timestamptz,
    ADD COLUMN voided_version integer CHECK (voided_version > 1),
    ADD COLUMN void_reason text CHECK (length(void_reason) BETWEEN 1 AND 500),
    ADD COLUMN refund_reference text CHECK (length(refund_reference) BETWEEN 1 AND 255),
    ADD CONSTRAINT ticket_is_void_since CHECK ((voided_at IS NULL) = (voided_version IS NULL));
ALTER TABLE purchase_order
    ADD COLUMN status text NOT NULL DEFAULT 'confirmed'
        CHECK (status IN ('confirmed', 'partly_cancelled', 'cancelled')),
    ADD COLUMN version integer NOT NULL DEFAULT 1 CHECK (version > 0);

-- The seat of a void ticket can be sold again.
DROP INDEX ticket_of_seat;
CREATE UNIQUE INDEX ticket_of_seat ON ticket (organization_id, seat_id)
    WHERE seat_id IS NOT NULL AND voided_at IS NULL;
-- What a holder bought, without void tickets.
CREATE INDEX ticket_void ON ticket (organization_id, hold_id) WHERE voided_at IS NOT NULL;
-- Cancelled orders are few among the confirmed ones.
CREATE INDEX purchase_order_cancelled ON purchase_order (organization_id, status, created_at, id)
    WHERE status <> 'confirmed';

-- One fact for each void ticket.
ALTER TABLE outbox
    ADD COLUMN ticket_id uuid,
    DROP CONSTRAINT outbox_fact_happens_once,
    ADD CONSTRAINT outbox_fact_happens_once UNIQUE NULLS NOT DISTINCT
        (organization_id, hold_id, version, type, seat_id, catalog_id, ticket_id);

GRANT UPDATE (status, version) ON purchase_order TO holdfast_app;
GRANT UPDATE (voided_at, voided_version, void_reason, refund_reference) ON ticket TO holdfast_app;
GRANT SELECT (voided_at, voided_version, void_reason, refund_reference)
    ON ticket TO holdfast_operator;
