"""Carts and the waitlist (0005_carts.sql). Reversing it cancels waiting holds and drops earlier
lines of changed holds."""

from pathlib import Path

from django.db import migrations, models

CARTS = Path(__file__).with_name("0005_carts.sql").read_text(encoding="utf-8")

DROP = """
DROP FUNCTION holdfast_waiting_sessions(uuid, uuid, integer), holdfast_unsettled_sessions(integer);
CREATE OR REPLACE FUNCTION holdfast_due_holds(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid, is_lapsed boolean,
        quantity integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id, h.expires_at <= statement_timestamp(), h.quantity
    FROM hold h
    WHERE h.status = 'active' AND h.due_at <= statement_timestamp()
    ORDER BY h.due_at
    LIMIT row_limit
$$;
CREATE OR REPLACE FUNCTION holdfast_seconds_until_due() RETURNS double precision
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT extract(epoch FROM h.due_at - clock_timestamp())::double precision
    FROM hold h WHERE h.status = 'active' ORDER BY h.due_at LIMIT 1
$$;
DROP TRIGGER session_has_a_waitlist ON session;
DROP FUNCTION holdfast_open_waitlist();
DROP TABLE waiting_place, waiting_line, waitlist;
REVOKE UPDATE (removed_version) ON hold_line FROM holdfast_app;
DELETE FROM hold_line WHERE removed_version IS NOT NULL;
ALTER TABLE hold_line DROP CONSTRAINT hold_line_pkey;
WITH renumbered AS (
    SELECT organization_id, hold_id, position,
        row_number() OVER (PARTITION BY organization_id, hold_id ORDER BY position) - 1 AS place
    FROM hold_line
)
UPDATE hold_line l SET position = r.place FROM renumbered r
WHERE l.organization_id = r.organization_id AND l.hold_id = r.hold_id AND l.position = r.position
    AND r.position <> r.place;
ALTER TABLE hold_line ADD PRIMARY KEY (organization_id, hold_id, position);
ALTER TABLE hold_line DROP COLUMN added_version, DROP COLUMN removed_version,
    DROP COLUMN cart_item_id, DROP COLUMN group_id, DROP COLUMN wish_block_id,
    DROP COLUMN wish_accessible, DROP COLUMN wish_is_together, DROP COLUMN wish_price_minor,
    ALTER COLUMN position TYPE smallint;
DROP INDEX hold_of_cart, hold_by_cart, hold_live_by_due;
UPDATE hold SET held_at = created_at,
    status = CASE status WHEN 'waiting' THEN 'cancelled' ELSE status END,
    cancelled_at = CASE status WHEN 'waiting' THEN now() ELSE cancelled_at END
WHERE held_at IS NULL;
ALTER TABLE hold DROP CONSTRAINT hold_of_a_cart_names_it, DROP COLUMN is_cart,
    DROP CONSTRAINT hold_has_its_places_since_then, ALTER COLUMN held_at SET NOT NULL,
    DROP CONSTRAINT hold_status_check, ADD CONSTRAINT hold_status_check
        CHECK (status IN ('active', 'converted', 'expired', 'cancelled'));
CREATE INDEX hold_live_by_due ON hold (due_at) WHERE status = 'active';
ALTER TABLE organization DROP COLUMN waitlist, DROP COLUMN waiting_seconds,
    DROP COLUMN waiting_places_max, DROP COLUMN waiting_passes_max;
ALTER TABLE event DROP COLUMN waitlist, DROP COLUMN waiting_seconds,
    DROP COLUMN waiting_places_max, DROP COLUMN waiting_passes_max;
ALTER TABLE ticket_type DROP COLUMN waitlist, DROP COLUMN waiting_seconds,
    DROP COLUMN waiting_places_max, DROP COLUMN waiting_passes_max;
"""


def row(name, table, key):
    options = {"db_table": table, "managed": False, "default_permissions": ("view",)}
    fields = [(key, models.UUIDField(primary_key=True))]
    return migrations.CreateModel(name=name, fields=fields, options=options)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0004_life")]
    operations = [
        migrations.RunSQL(
            CARTS,
            DROP,
            state_operations=[
                row("Waitlist", "waitlist", "session_id"),
                row("WaitingLine", "waiting_line", "id"),
                row("WaitingPlace", "waiting_place", "hold_id"),
            ],
        ),
    ]
