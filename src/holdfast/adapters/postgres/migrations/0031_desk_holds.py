"""Holds that staff place at the desk. The table of holds is large and busy, so the new check is
validated beside the writes. An interrupted migration can be repeated."""

from django.db import migrations

VALIDATE = "ALTER TABLE hold VALIDATE CONSTRAINT hold_source_check"
FORGET = (
    "BEGIN; SET LOCAL holdfast.owner = on;"
    " UPDATE hold SET source = 'web' WHERE source = 'desk'; COMMIT;"
)


def _allow(*sources):
    listed = ", ".join(f"'{source}'" for source in sources)
    return (
        "BEGIN; SET LOCAL lock_timeout = '2s';"
        " ALTER TABLE hold DROP CONSTRAINT IF EXISTS hold_source_check,"
        f" ADD CONSTRAINT hold_source_check CHECK (source IN ({listed})) NOT VALID; COMMIT;"
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("holdfast", "0030_session_status")]
    operations = [
        migrations.RunSQL(_allow("web", "scanner", "desk"), [_allow("web", "scanner"), VALIDATE]),
        migrations.RunSQL(VALIDATE, FORGET),
    ]
