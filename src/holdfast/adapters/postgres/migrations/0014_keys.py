"""API keys that expire, are rotated and note their last use, and a test and a live side for every
organization (0014_keys.sql)."""

from pathlib import Path

from django.db import migrations, models

FORWARDS = Path(__file__).with_name("0014_keys.sql").read_text(encoding="utf-8")

# It deletes the audit entries of keys: without the column, their subject is unknown. Test sides
# stay, as organizations like any other.
BACKWARDS = """
SET LOCAL holdfast.owner = on;
ALTER TABLE audit DISABLE TRIGGER audit_is_append_only;
DELETE FROM audit WHERE key_id IS NOT NULL;
ALTER TABLE audit ENABLE TRIGGER audit_is_append_only;
ALTER TABLE audit
    DROP COLUMN key_id,
    ADD CONSTRAINT audit_is_about_something
        CHECK (num_nonnulls(hold_id, seat_id, catalog_id) > 0);
-- Keys that have expired must not come back. Others lose their end.
UPDATE api_key SET revoked_at = expires_at WHERE revoked_at IS NULL AND expires_at <= now();
DROP TRIGGER announce ON api_key;
DROP FUNCTION holdfast_announce_key();
DROP FUNCTION holdfast_note_key_use(uuid[]);
DROP FUNCTION holdfast_find_api_key(bytea);
CREATE FUNCTION holdfast_find_api_key(wanted bytea)
    RETURNS TABLE (organization_id uuid, id uuid, scopes text[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT k.organization_id, k.id, k.scopes
    FROM api_key k
    WHERE k.secret_hash = wanted AND k.revoked_at IS NULL
$$;
REVOKE ALL ON FUNCTION holdfast_find_api_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_find_api_key(bytea) TO holdfast_app;
REVOKE ALL ON api_key FROM holdfast_app;
DROP INDEX api_key_by_id, api_key_by_creation;
ALTER TABLE api_key DROP COLUMN expires_at, DROP COLUMN last_used_at, DROP COLUMN replaces;
ALTER TABLE organization DROP COLUMN mode, DROP COLUMN account_id;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0013_ticket_foreign_key")]
    operations = [
        migrations.RunSQL(
            FORWARDS,
            BACKWARDS,
            state_operations=[
                migrations.AddField("organization", "mode", models.TextField()),
                migrations.AddField("organization", "account_id", models.UUIDField()),
                migrations.AddField("apikey", "expires_at", models.DateTimeField(null=True)),
                migrations.AddField(
                    "apikey", "last_used_at", models.DateTimeField("last used", null=True)
                ),
                migrations.AddField("apikey", "replaces", models.UUIDField(null=True)),
                migrations.AddField("auditentry", "key_id", models.UUIDField(null=True)),
            ],
        )
    ]
