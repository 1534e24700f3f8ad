"""Settings of organizations: the time zone and look of mails, and the links in them. The server's
role may change them, and the hold policy, for its own organization."""

from django.db import migrations, models

_POLICY = (
    *("ttl_seconds", "quantity_max", "one_active_hold", "refuse_orphans"),
    *("checkout_extension_seconds", "lifetime_max_seconds", "warning_seconds"),
    *("late_payment_seconds", "waitlist", "waiting_seconds", "waiting_places_max"),
    "waiting_passes_max",
)
_NULLABLE = ("mail_name", "mail_reply_to", "mail_footer", "pay_url", "cart_url")
ADD = (
    "SET LOCAL lock_timeout = '2s';"
    "ALTER TABLE organization ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC',"
    + ", ".join(f" ADD COLUMN {name} text" for name in _NULLABLE)
    + f"; GRANT UPDATE (name, time_zone, {', '.join((*_NULLABLE, *_POLICY))})"
    " ON organization TO holdfast_app;"
)
DROP = (
    "REVOKE UPDATE ON organization FROM holdfast_app;"
    "ALTER TABLE organization DROP COLUMN time_zone,"
    + ", ".join(f" DROP COLUMN {name}" for name in _NULLABLE)
)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0014_keys")]
    operations = [
        migrations.RunSQL(
            ADD,
            DROP,
            state_operations=[
                migrations.AddField("organization", "time_zone", models.TextField()),
                *(
                    migrations.AddField("organization", name, models.TextField(null=True))
                    for name in _NULLABLE
                ),
            ],
        )
    ]
