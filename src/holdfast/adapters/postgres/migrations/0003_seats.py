"""Assigned seats: blocks, seats, event states and the sale window (0003_seats.sql). Reversing it
drops the seats, and facts and audit rows about seats alone."""

from pathlib import Path

from django.db import migrations, models

SEATS = Path(__file__).with_name("0003_seats.sql").read_text(encoding="utf-8")

DROP = """
DROP TABLE seat, block_price, block;
ALTER TABLE audit DROP COLUMN seat_id;
DELETE FROM audit WHERE hold_id IS NULL;
ALTER TABLE audit ALTER COLUMN hold_id SET NOT NULL;
DELETE FROM outbox WHERE seat_id IS NOT NULL;
ALTER TABLE outbox DROP COLUMN seat_id, ALTER COLUMN hold_id SET NOT NULL,
    ADD UNIQUE (organization_id, hold_id, version, type);
ALTER TABLE hold_line DROP COLUMN seat_id;
ALTER TABLE hold DROP COLUMN source, DROP COLUMN cart_token, DROP COLUMN notes;
ALTER TABLE ticket_type DROP COLUMN one_active_hold, DROP COLUMN refuse_orphans,
    DROP COLUMN is_seated;
ALTER TABLE event DROP COLUMN one_active_hold, DROP COLUMN refuse_orphans, DROP COLUMN status,
    DROP COLUMN sale_starts_at, DROP COLUMN sale_ends_at;
ALTER TABLE organization DROP COLUMN one_active_hold, DROP COLUMN refuse_orphans;
"""


def row(name, table, key):
    options = {"db_table": table, "managed": False, "default_permissions": ("view",)}
    return migrations.CreateModel(name=name, fields=list(key.items()), options=options)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0002_operator_grants")]
    operations = [
        migrations.RunSQL(
            SEATS,
            DROP,
            state_operations=[
                row("Block", "block", {"id": models.UUIDField(primary_key=True)}),
                row(
                    "BlockPrice",
                    "block_price",
                    {
                        "pk": models.CompositePrimaryKey(
                            "organization_id", "block_id", "ticket_type_id"
                        ),
                        "organization_id": models.UUIDField(),
                        "block_id": models.UUIDField(),
                        "ticket_type_id": models.UUIDField(),
                    },
                ),
                row("Seat", "seat", {"id": models.UUIDField(primary_key=True)}),
            ],
        ),
    ]
