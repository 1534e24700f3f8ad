"""Bounds what a request, and the application's own role, can cost or change (ADR 0049)."""

from pathlib import Path

from django.db import migrations, models

ADD = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")


def _function(file, start):
    """A function as an earlier migration made it."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    text = text[text.index(f"CREATE FUNCTION {start}(") :]
    return text[: text.index("$$;") + 3].replace("CREATE", "CREATE OR REPLACE", 1)


DROP = f"""
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';
ALTER TABLE event DROP COLUMN is_announced;
DROP INDEX session_by_event;
CREATE INDEX session_by_event ON session (organization_id, event_id);

DROP INDEX auth_user_by_name;
{_function("0019_people.sql", "holdfast_enlist")}
DROP FUNCTION holdfast_enlist(text, text, bytea, integer);
REVOKE ALL ON FUNCTION holdfast_enlist(text, text, bytea, integer, boolean) FROM holdfast_operator;
GRANT EXECUTE ON FUNCTION holdfast_enlist(text, text, bytea, integer, boolean) TO holdfast_app;
{_function("0019_people.sql", "holdfast_find_member_session")}
ALTER TABLE organization DROP COLUMN two_factor_required;

ALTER POLICY own_organizations ON audit
    WITH CHECK ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
{_function("0023_audit_partitions.sql", "holdfast_drop_audit_partition")}
{_function("0023_audit_partitions.sql", "holdfast_make_audit_partitions")}
DROP FUNCTION holdfast_adopt_audit_rest();
ALTER TABLE audit_horizon DROP COLUMN kept_days;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0024_sealed_addresses")]
    operations = [
        migrations.RunSQL(
            ADD,
            DROP,
            state_operations=[
                migrations.AddField("event", "is_announced", models.BooleanField(default=True)),
                migrations.AddField(
                    "organization", "two_factor_required", models.BooleanField(null=True)
                ),
            ],
        )
    ]
