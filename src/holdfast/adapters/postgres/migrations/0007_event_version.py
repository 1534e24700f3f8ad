"""The version of an event's terms. It is read with the version of each session, so that changing an
event changes one row, however many sessions it has."""

from django.db import migrations

ADD = "ALTER TABLE event ADD COLUMN version integer NOT NULL DEFAULT 1"
DROP = "ALTER TABLE event DROP COLUMN version"


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0005_carts")]
    operations = [migrations.RunSQL(ADD, DROP)]
