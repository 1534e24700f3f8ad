"""The tables, their grants and row-level security (0001_schema.sql).

Reversing it drops the tables and their contents. The two roles stay, because other databases of the
server may use them.
"""

from pathlib import Path

from django.db import migrations, models

SCHEMA = Path(__file__).with_name("0001_schema.sql").read_text(encoding="utf-8")

DROP = """
DROP FUNCTION holdfast_find_api_key, holdfast_lapsed_holds, holdfast_prune_answers;
DROP SEQUENCE hold_reference_block;
DROP TABLE
    idempotency, audit, outbox, hold_line, hold, ticket_type_pool, ticket_type, pool_lapse, pool,
    session, event, api_key, organization;
DROP FUNCTION holdfast_organizations;
"""

UUID_KEY = {"id": models.UUIDField(primary_key=True)}
NUMBER_KEY = {"seq": models.BigIntegerField(primary_key=True)}


def row(name, table, key, **options):
    """A model with only its key: Django never compares the other fields of an unmanaged model."""
    options |= {"db_table": table, "managed": False, "default_permissions": ("view",)}
    return migrations.CreateModel(name=name, fields=list(key.items()), options=options)


def composite(**columns):
    return {"pk": models.CompositePrimaryKey(*columns), **columns}


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.RunSQL(
            SCHEMA,
            DROP,
            state_operations=[
                row("Organization", "organization", UUID_KEY),
                row("ApiKey", "api_key", UUID_KEY, verbose_name="API key"),
                row("Event", "event", UUID_KEY),
                row("Session", "session", UUID_KEY),
                row("Pool", "pool", UUID_KEY),
                row(
                    "PoolLapse",
                    "pool_lapse",
                    composite(
                        organization_id=models.UUIDField(),
                        pool_id=models.UUIDField(),
                        lapses_at=models.DateTimeField(),
                    ),
                ),
                row("TicketType", "ticket_type", UUID_KEY),
                row(
                    "TicketTypePool",
                    "ticket_type_pool",
                    composite(
                        organization_id=models.UUIDField(),
                        ticket_type_id=models.UUIDField(),
                        pool_id=models.UUIDField(),
                    ),
                ),
                row("Hold", "hold", UUID_KEY),
                row(
                    "HoldLine",
                    "hold_line",
                    composite(
                        organization_id=models.UUIDField(),
                        hold_id=models.UUIDField(),
                        position=models.SmallIntegerField(),
                    ),
                ),
                row("Fact", "outbox", NUMBER_KEY),
                row(
                    "AuditEntry",
                    "audit",
                    NUMBER_KEY,
                    verbose_name="audit entry",
                    verbose_name_plural="audit entries",
                ),
            ],
        ),
    ]
