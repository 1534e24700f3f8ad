"""The index of the audit entries of an API key. The table is large, and written by every hold, so
the index is built beside the writes."""

from django.db import migrations

ADD = (
    "CREATE INDEX CONCURRENTLY audit_by_key ON audit (organization_id, key_id)"
    " WHERE key_id IS NOT NULL"
)
DROP = "DROP INDEX CONCURRENTLY audit_by_key"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("holdfast", "0015_settings")]
    operations = [
        # An interrupted attempt leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS audit_by_key", migrations.RunSQL.noop),
        migrations.RunSQL(ADD, DROP),
    ]
