"""Members of organizations, their sessions on the API, and the log-ins to the admin pages
(0019_people.sql)."""

from pathlib import Path

from django.db import migrations, models

FORWARDS = Path(__file__).with_name("0019_people.sql").read_text(encoding="utf-8")

# People log in again.
BACKWARDS = """
SET LOCAL holdfast.owner = on;
DROP TRIGGER end_sessions ON auth_user;
DROP FUNCTION holdfast_end_sessions();
DROP POLICY own_people ON auth_user;
DROP POLICY operators ON auth_user;
ALTER TABLE auth_user DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON auth_user FROM holdfast_app;
DROP FUNCTION holdfast_enlist(text, text, bytea, integer, boolean);
DROP FUNCTION holdfast_find_member_session(bytea, integer);
DROP FUNCTION holdfast_note_session_use(uuid[]);
DROP TABLE login_session, person, member_session, member;
DROP FUNCTION holdfast_announce_member();
UPDATE api_key SET scopes = array_remove(scopes, 'seats:block') WHERE 'seats:block' = ANY (scopes);
"""

_UUID_KEY = {"id": models.UUIDField(primary_key=True)}


def row(name, table, key, **options):
    """A model with only its key: Django never compares the other fields of an unmanaged model."""
    options |= {"db_table": table, "managed": False, "default_permissions": ("view",)}
    return migrations.CreateModel(name=name, fields=list(key.items()), options=options)


class Migration(migrations.Migration):
    dependencies = [
        ("holdfast", "0018_holder_tokens"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("otp_totp", "0003_add_timestamps"),
        ("otp_static", "0003_add_timestamps"),
    ]
    operations = [
        migrations.RunSQL(
            FORWARDS,
            BACKWARDS,
            state_operations=[
                row("Member", "member", _UUID_KEY),
                row("MemberSession", "member_session", _UUID_KEY),
                row("Person", "person", {"user": models.IntegerField(primary_key=True)}),
                row(
                    "LoginSession",
                    "login_session",
                    {"session_key": models.CharField(max_length=40, primary_key=True)},
                ),
            ],
        )
    ]
