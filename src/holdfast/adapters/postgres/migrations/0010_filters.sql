-- Indexes for the lists of the API. The catalog changes rarely, and a hold pays for its index only
-- when it is paid for.
CREATE INDEX event_by_creation ON event (organization_id, created_at, id);
CREATE INDEX event_by_status ON event (organization_id, status, created_at, id);
CREATE INDEX session_by_creation ON session (organization_id, created_at, id);
CREATE INDEX session_by_start ON session (organization_id, starts_at);

-- As of a hold: an expression is never the condition of an index under row-level security.
ALTER TABLE purchase_order
    ADD COLUMN email_key text GENERATED ALWAYS AS (lower(customer_email)) STORED;
CREATE INDEX purchase_order_by_email ON purchase_order (organization_id, email_key, created_at, id)
    WHERE email_key IS NOT NULL;
CREATE INDEX purchase_order_by_user ON purchase_order (organization_id, user_id, created_at, id)
    WHERE user_id IS NOT NULL;
CREATE INDEX hold_by_order ON hold (organization_id, session_id, confirmed_at, order_id)
    WHERE order_id IS NOT NULL;
