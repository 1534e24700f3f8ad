"""What the reconciler needs besides its tasks."""

from pathlib import Path

from django.db import migrations

ADD = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
DROP = """
SET LOCAL lock_timeout = '2s';
DROP FUNCTION holdfast_inventory_lag();
DROP FUNCTION holdfast_organization_ids();
DROP TABLE inventory_comparison;
ALTER TABLE inventory_task DROP COLUMN is_contradiction;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0033_reservations")]
    operations = [migrations.RunSQL(ADD, DROP)]
