"""django-axes counts failed logins in a table that the role of the admin pages writes. Its log of
successful logins is off."""

from django.db import migrations

GRANT = """
GRANT SELECT, INSERT, UPDATE, DELETE ON axes_accessattempt TO holdfast_operator;
GRANT SELECT, DELETE ON axes_accessattemptexpiration TO holdfast_operator;
"""

REVOKE = """
REVOKE ALL ON axes_accessattempt, axes_accessattemptexpiration FROM holdfast_operator;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("holdfast", "0007_forced_security"),
        ("axes", "0010_accessattemptexpiration"),
    ]
    operations = [migrations.RunSQL(GRANT, REVOKE)]
