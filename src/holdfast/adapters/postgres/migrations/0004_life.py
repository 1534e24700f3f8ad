"""The life of a hold (0004_life.sql). Reversing it drops orders and tickets."""

from pathlib import Path

from django.db import migrations, models

LIFE = Path(__file__).with_name("0004_life.sql").read_text(encoding="utf-8")

DROP = """
DROP FUNCTION holdfast_prune_receipts(double precision, integer),
    holdfast_prune_facts(smallint, double precision, integer), holdfast_relay_lag(integer, integer),
    holdfast_log_is_ahead(integer), holdfast_published(smallint, text, bigint),
    holdfast_unpublished(smallint, integer, bigint), holdfast_seconds_until_due(),
    holdfast_due_holds(integer);
CREATE FUNCTION holdfast_lapsed_holds(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id
    FROM hold h
    WHERE h.status = 'active' AND h.expires_at <= statement_timestamp()
    ORDER BY h.expires_at
    LIMIT row_limit
$$;
REVOKE ALL ON FUNCTION holdfast_lapsed_holds(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_lapsed_holds(integer) TO holdfast_app;
DROP TRIGGER audit_is_append_only ON audit;
DROP FUNCTION holdfast_refuse_change();
DROP INDEX audit_by_seat, audit_by_time;
DROP TABLE inbox, fact_horizon, relay_cursor, ticket, purchase_order, checkout;
DROP INDEX outbox_by_partition;
ALTER TABLE outbox DROP COLUMN partition, DROP CONSTRAINT outbox_pkey,
    ADD PRIMARY KEY (organization_id, seq);
DROP INDEX hold_live_by_due;
ALTER TABLE hold DROP COLUMN due_at, DROP COLUMN warn_at, DROP COLUMN checkout_id,
    DROP COLUMN order_id, DROP COLUMN revives, DROP COLUMN changed_xid;
CREATE INDEX hold_live_by_expiry ON hold (expires_at) WHERE status = 'active';
ALTER TABLE seat DROP COLUMN told_xid;
ALTER TABLE organization DROP COLUMN checkout_extension_seconds, DROP COLUMN lifetime_max_seconds,
    DROP COLUMN warning_seconds, DROP COLUMN late_payment_seconds;
ALTER TABLE event DROP COLUMN checkout_extension_seconds, DROP COLUMN lifetime_max_seconds,
    DROP COLUMN warning_seconds, DROP COLUMN late_payment_seconds;
ALTER TABLE ticket_type DROP COLUMN checkout_extension_seconds, DROP COLUMN lifetime_max_seconds,
    DROP COLUMN warning_seconds, DROP COLUMN late_payment_seconds;
"""


def row(name, table):
    options = {"db_table": table, "managed": False, "default_permissions": ("view",)}
    fields = [("id", models.UUIDField(primary_key=True))]
    return migrations.CreateModel(name=name, fields=fields, options=options)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0003_seats")]
    operations = [
        migrations.RunSQL(
            LIFE,
            DROP,
            state_operations=[
                row("Checkout", "checkout"),
                row("Order", "purchase_order"),
                row("Ticket", "ticket"),
                row("RelayCursor", "relay_cursor"),
            ],
        ),
    ]
