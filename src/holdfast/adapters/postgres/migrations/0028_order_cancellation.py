"""Orders that can be cancelled (ADR 0051). It cannot be reversed once an order was cancelled: void
tickets would be valid again."""

from pathlib import Path

from django.db import migrations

ADD = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
DROP = """
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';
DO $$
BEGIN
    IF EXISTS (SELECT FROM purchase_order WHERE status <> 'confirmed') THEN
        RAISE EXCEPTION 'Orders were cancelled, and their tickets would be valid again';
    END IF;
END
$$;
ALTER TABLE outbox
    DROP CONSTRAINT outbox_fact_happens_once,
    DROP COLUMN ticket_id,
    ADD CONSTRAINT outbox_fact_happens_once
        UNIQUE NULLS NOT DISTINCT (organization_id, hold_id, version, type, seat_id, catalog_id);
DROP INDEX purchase_order_cancelled;
DROP INDEX ticket_void;
DROP INDEX ticket_of_seat;
CREATE UNIQUE INDEX ticket_of_seat ON ticket (organization_id, seat_id) WHERE seat_id IS NOT NULL;
ALTER TABLE purchase_order DROP COLUMN status, DROP COLUMN version;
ALTER TABLE ticket
    DROP COLUMN voided_at,
    DROP COLUMN voided_version,
    DROP COLUMN void_reason,
    DROP COLUMN refund_reference;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0027_member_sessions")]
    operations = [migrations.RunSQL(ADD, DROP)]
