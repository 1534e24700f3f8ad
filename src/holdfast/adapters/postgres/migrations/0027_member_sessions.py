"""Announces sessions that lack two-factor authentication to every server process."""

from pathlib import Path

from django.db import migrations

ADD = Path(__file__).with_suffix(".sql").read_text()
DROP = """
DROP TRIGGER announce_sessions ON otp_totp_totpdevice;
DROP TRIGGER announce_sessions ON organization;
DROP FUNCTION holdfast_announce_device();
DROP FUNCTION holdfast_announce_strict_organization();
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0026_secrets_in_use")]
    operations = [migrations.RunSQL(ADD, DROP)]
