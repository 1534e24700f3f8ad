"""Indexes for the filters of lists (0010_filters.sql)."""

from pathlib import Path

from django.db import migrations, models

FILTERS = Path(__file__).with_name("0010_filters.sql").read_text(encoding="utf-8")

WITHOUT = """
DROP INDEX event_by_creation, event_by_status, session_by_creation, session_by_start, hold_by_order;
ALTER TABLE purchase_order DROP COLUMN email_key;
DROP INDEX purchase_order_by_user;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0009_catalog_history")]
    operations = [
        migrations.RunSQL(
            FILTERS,
            WITHOUT,
            state_operations=[
                migrations.AddField(
                    "order", "email_key", models.TextField(null=True, editable=False)
                )
            ],
        )
    ]
