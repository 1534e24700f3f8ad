"""Holds whose places are those of an Inventory Service. The table of holds is large and busy, so
the new check is validated, and the index is built, beside the writes. An interrupted migration can
be repeated."""

from pathlib import Path

from django.db import migrations

_TABLE = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
ADD_TABLE = f"BEGIN; {_TABLE} COMMIT;"
DROP_TABLE = """
BEGIN; SET LOCAL lock_timeout = '2s';
DROP FUNCTION IF EXISTS holdfast_take_inventory_tasks(integer, double precision);
DROP TABLE IF EXISTS inventory_task; COMMIT;
"""
VALIDATE = "ALTER TABLE hold VALIDATE CONSTRAINT hold_status_check"
# Holds that never got places may go; those that did keep what they have.
FORGET = (
    "BEGIN; SET LOCAL holdfast.owner = on;"
    " UPDATE hold SET status = 'cancelled' WHERE status IN ('pending', 'failed'); COMMIT;"
)
ADD_INDEX = (
    "CREATE INDEX CONCURRENTLY hold_pending"
    " ON hold (organization_id, session_id, user_id, email_key) WHERE status = 'pending'"
)
DROP_INDEX = "DROP INDEX CONCURRENTLY IF EXISTS hold_pending"
_ENDED = ("waiting", "active", "converted", "expired", "cancelled")


def _allow(*statuses):
    listed = ", ".join(f"'{status}'" for status in statuses)
    return (
        "BEGIN; SET LOCAL lock_timeout = '2s';"
        " ALTER TABLE hold DROP CONSTRAINT IF EXISTS hold_status_check,"
        f" ADD CONSTRAINT hold_status_check CHECK (status IN ({listed})) NOT VALID; COMMIT;"
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("holdfast", "0031_desk_holds")]
    operations = [
        migrations.RunSQL(DROP_TABLE + ADD_TABLE, DROP_TABLE),
        migrations.RunSQL(_allow("pending", "failed", *_ENDED), [_allow(*_ENDED), VALIDATE]),
        migrations.RunSQL(VALIDATE, FORGET),
        migrations.RunSQL(DROP_INDEX, migrations.RunSQL.noop),
        migrations.RunSQL(ADD_INDEX, DROP_INDEX),
    ]
