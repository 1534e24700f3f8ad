"""The platform's own metadata on events, sessions, ticket types, holds and orders."""

from django.db import migrations, models

_TABLES = {
    "event": "event",
    "session": "session",
    "ticket_type": "tickettype",
    "hold": "hold",
    "purchase_order": "order",
}
# A constant default rewrites no table.
ADD = "".join(
    f"ALTER TABLE {table} ADD COLUMN metadata jsonb NOT NULL DEFAULT '{{}}';" for table in _TABLES
)
DROP = "".join(f"ALTER TABLE {table} DROP COLUMN metadata;" for table in _TABLES)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0010_filters")]
    operations = [
        migrations.RunSQL(
            ADD,
            DROP,
            state_operations=[
                migrations.AddField(model, "metadata", models.JSONField())
                for model in _TABLES.values()
            ],
        )
    ]
