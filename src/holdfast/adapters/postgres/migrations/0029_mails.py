"""Venues and time zones of events, and the texts of an organization's mails (0029_mails.sql)."""

from pathlib import Path

from django.db import migrations, models

ADD = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
DROP = """
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';
DROP TABLE mail_template;
ALTER TABLE organization DROP COLUMN mail_when_expired;
ALTER TABLE event DROP COLUMN venue, DROP COLUMN time_zone;
DELETE FROM outbox WHERE type = 'notice.requested';
"""
_OPTIONS = {"db_table": "mail_template", "managed": False, "default_permissions": ("view",)}


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0028_order_cancellation")]
    operations = [
        migrations.RunSQL(
            ADD,
            DROP,
            state_operations=[
                migrations.CreateModel(
                    name="MailTemplate",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "organization_id", "kind", primary_key=True, serialize=False
                            ),
                        ),
                        ("organization_id", models.UUIDField()),
                        ("kind", models.TextField()),
                    ],
                    options=_OPTIONS,
                )
            ],
        )
    ]
