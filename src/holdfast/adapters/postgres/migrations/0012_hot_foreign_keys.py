"""Foreign keys that every hold pays for and that the server cannot violate: its role may not delete
sessions, ticket types or holds. The integrity check looks for such rows instead (ADR 0033)."""

from django.db import migrations

_KEYS = (
    ("hold", "hold_organization_id_session_id_fkey", "session_id", "session"),
    ("hold_line", "hold_line_organization_id_hold_id_fkey", "hold_id", "hold"),
    ("hold_line", "hold_line_organization_id_ticket_type_id_fkey", "ticket_type_id", "ticket_type"),
)
# The tables are locked exclusively for a moment. Behind a long transaction, such as a backup, this
# gives up instead of making every sale wait: run the migration again later.
DROP = "SET LOCAL lock_timeout = '2s';" + "".join(
    f"ALTER TABLE {table} DROP CONSTRAINT {name};" for table, name, _, _ in _KEYS
)
ADD = "".join(
    f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (organization_id, {column})"
    f" REFERENCES {other};"
    for table, name, column, other in _KEYS
)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0011_metadata_and_scopes")]
    operations = [migrations.RunSQL(DROP, ADD)]
