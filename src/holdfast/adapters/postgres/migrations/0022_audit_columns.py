"""What the audit records of an attempt, and the indexes that partitions of the audit have. The
table is large, and written by every hold, so indexes are built and rows are checked beside the
writes. 0024 then makes the table the first partition."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

ADD_COLUMNS = """
ALTER TABLE audit
    ADD COLUMN IF NOT EXISTS session_id uuid,
    ADD COLUMN IF NOT EXISTS ticket_type_ids uuid[],
    ADD COLUMN IF NOT EXISTS cart text,
    ADD COLUMN IF NOT EXISTS holder uuid,
    ADD COLUMN IF NOT EXISTS holder_email uuid,
    ADD COLUMN IF NOT EXISTS acting_user text
"""
DROP_COLUMNS = """
ALTER TABLE audit
    DROP COLUMN session_id, DROP COLUMN ticket_type_ids, DROP COLUMN cart, DROP COLUMN holder,
    DROP COLUMN holder_email, DROP COLUMN acting_user
"""

# The first partition ends with the next month: rows keep arriving while this runs.
ADD_END = """
DO $$
BEGIN
    EXECUTE format(
        'ALTER TABLE audit ADD CONSTRAINT audit_start_ends CHECK (at < %L) NOT VALID',
        date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + interval '2 months');
END
$$
"""
DROP_END = "ALTER TABLE audit DROP CONSTRAINT IF EXISTS audit_start_ends"
CHECK_END = "ALTER TABLE audit VALIDATE CONSTRAINT audit_start_ends"

INDEXES = {
    "audit_start_pkey": "UNIQUE (organization_id, at, seq)",
    "audit_start_by_hold": "(organization_id, hold_id, at) WHERE hold_id IS NOT NULL",
    "audit_start_by_seat": "(organization_id, seat_id, at) WHERE seat_id IS NOT NULL",
    "audit_start_by_catalog": "(organization_id, catalog_id, at) WHERE catalog_id IS NOT NULL",
    "audit_start_by_key": "(organization_id, key_id, at) WHERE key_id IS NOT NULL",
    "audit_start_refused": "(organization_id, at, seq) WHERE new ? 'error'",
    "audit_start_refused_by_holder": (
        "(organization_id, holder, at) WHERE holder IS NOT NULL AND new -> 'error' IS NOT NULL"
    ),
    "audit_start_refused_by_email": (
        "(organization_id, holder_email, at)"
        " WHERE holder_email IS NOT NULL AND new -> 'error' IS NOT NULL"
    ),
    "audit_start_refused_by_cart": (
        "(organization_id, cart, at) WHERE cart IS NOT NULL AND new -> 'error' IS NOT NULL"
    ),
}


def index(name: str, columns: str) -> list[migrations.RunSQL]:
    unique, columns = ("UNIQUE ", columns[7:]) if columns.startswith("UNIQUE") else ("", columns)
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    add = f"CREATE {unique}INDEX CONCURRENTLY {name} ON audit {columns}"
    # An interrupted attempt leaves an index that is not valid.
    return [migrations.RunSQL(drop, migrations.RunSQL.noop), migrations.RunSQL(add, drop)]


NEW_FIELDS = {
    "session_id": models.UUIDField(null=True),
    "ticket_type_ids": ArrayField(models.UUIDField(), null=True),
    "cart": models.TextField(null=True),
    "holder": models.UUIDField(null=True),
    "holder_email": models.UUIDField(null=True),
    "acting_user": models.TextField(null=True),
}


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("holdfast", "0021_rate_limits")]
    operations = [
        migrations.RunSQL(
            ADD_COLUMNS,
            DROP_COLUMNS,
            state_operations=[
                migrations.AddField("auditentry", name, field) for name, field in NEW_FIELDS.items()
            ],
        ),
        migrations.RunSQL(DROP_END, migrations.RunSQL.noop),
        migrations.RunSQL(ADD_END, DROP_END),
        migrations.RunSQL(CHECK_END, migrations.RunSQL.noop),
        *(step for name, columns in INDEXES.items() for step in index(name, columns)),
    ]
