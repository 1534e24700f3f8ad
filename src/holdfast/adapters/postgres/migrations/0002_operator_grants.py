"""Grants on Django's own tables for logging in, for the role of the admin pages.

The admin log can be written and read, not changed. Users are deactivated, never deleted, so the log
keeps their actions under their name.
"""

from django.db import migrations

GRANT = """
GRANT SELECT, INSERT, UPDATE ON auth_user TO holdfast_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    auth_user_groups, auth_user_user_permissions, auth_group, auth_group_permissions,
    django_session TO holdfast_operator;
GRANT SELECT, INSERT ON django_admin_log TO holdfast_operator;
GRANT SELECT ON auth_permission, django_content_type, django_migrations TO holdfast_operator;
"""

REVOKE = """
REVOKE ALL ON
    auth_user, auth_user_groups, auth_user_user_permissions, auth_group, auth_group_permissions,
    django_session, django_admin_log, auth_permission, django_content_type, django_migrations
    FROM holdfast_operator;
"""


class Migration(migrations.Migration):
    # Whichever of their migrations came last made the tables what they are.
    dependencies = [
        ("holdfast", "0001_initial"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("sessions", "0001_initial"),
    ]
    operations = [migrations.RunSQL(GRANT, REVOKE)]
