"""Revocations of holder tokens, and the settings about browsers (0018_holder_tokens.sql)."""

from pathlib import Path

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

FORWARDS = Path(__file__).with_name("0018_holder_tokens.sql").read_text(encoding="utf-8")
BACKWARDS = """
SET LOCAL lock_timeout = '2s';
DROP TRIGGER announce_origins ON organization;
DROP FUNCTION holdfast_announce_origins();
DROP TABLE holder_revocation;
DROP FUNCTION holdfast_announce_revocation();
DROP FUNCTION holdfast_allowed_origins(integer);
DROP FUNCTION holdfast_prune_revocations(double precision, integer);
ALTER TABLE organization DROP COLUMN allowed_origins, DROP COLUMN anonymous_holders;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0017_waitlist_versions")]
    operations = [
        migrations.RunSQL(
            FORWARDS,
            BACKWARDS,
            state_operations=[
                migrations.AddField(
                    "organization", "allowed_origins", ArrayField(models.TextField(), null=True)
                ),
                migrations.AddField(
                    "organization", "anonymous_holders", models.BooleanField(null=True)
                ),
            ],
        )
    ]
