"""The platform's own metadata on events, sessions, ticket types, holds and orders. The scopes of
API keys are spelled like everything else about the catalog."""

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


def _renamed_scopes(old: str, new: str) -> str:
    return f"""
SET LOCAL holdfast.owner = on;
UPDATE api_key SET scopes = array_replace(
    array_replace(scopes, '{old}:read', '{new}:read'), '{old}:write', '{new}:write')
WHERE scopes && ARRAY['{old}:read', '{old}:write'];
"""  # noqa: S608


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
        ),
        migrations.RunSQL(
            _renamed_scopes("catalogue", "catalog"), _renamed_scopes("catalog", "catalogue")
        ),
    ]
