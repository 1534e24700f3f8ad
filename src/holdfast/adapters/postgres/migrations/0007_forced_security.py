"""Row-level security for the owner too, and a minimum age for pruning
(0007_forced_security.sql)."""

from pathlib import Path

from django.db import migrations

FORCED = Path(__file__).with_name("0007_forced_security.sql").read_text(encoding="utf-8")

UNFORCED = """
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_policies WHERE policyname = 'owner_at_work' LOOP
        EXECUTE format('DROP POLICY owner_at_work ON %I', name);
        EXECUTE format('ALTER POLICY operators_read ON %I USING (true)', name);
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', name);
    END LOOP;
    FOR name IN
        SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'holdfast_prune_%'
    LOOP
        EXECUTE replace(name, 'secs => greatest(kept_seconds, 86400)', 'secs => kept_seconds');
    END LOOP;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0006_duties")]
    operations = [migrations.RunSQL(FORCED, UNFORCED)]
