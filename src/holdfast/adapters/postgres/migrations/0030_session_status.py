"""Sessions that can be cancelled on their own."""

from django.db import migrations

ADD = """
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';
ALTER TABLE session
    ADD COLUMN status text NOT NULL DEFAULT 'scheduled'
        CHECK (status IN ('scheduled', 'cancelled'));
GRANT UPDATE (status) ON session TO holdfast_app;
"""
DROP = """
SET LOCAL holdfast.owner = on;
SET LOCAL lock_timeout = '2s';
ALTER TABLE session DROP COLUMN status;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0029_mails")]
    operations = [migrations.RunSQL(ADD, DROP)]
