"""Limits per holder: fields of the hold policy, what they count of a hold, and the indexes that
find it. The table of holds is large and busy, so its columns need no rewrite and no scan, and the
indexes are built beside the writes. An interrupted migration can be repeated."""

from django.db import migrations, models

_POLICY = (
    "holder_units_max",
    "holder_holds_max",
    "holder_carts_max",
    "extensions_max",
    "cooldown_seconds",
)
_LEVELS = ("organization", "event", "ticket_type")


def _alter(table, changes):
    return f"ALTER TABLE {table} {', '.join(changes)};"


def _in_one_transaction(*statements):
    return "BEGIN; SET LOCAL lock_timeout = '2s'; " + " ".join(statements) + " COMMIT;"


ADD_COLUMNS = _in_one_transaction(
    *(
        _alter(
            table,
            (f"ADD COLUMN IF NOT EXISTS {name} integer CHECK ({name} >= 0)" for name in _POLICY),
        )
        for table in _LEVELS
    ),
    f"GRANT UPDATE ({', '.join(_POLICY)}) ON organization TO holdfast_app;",
    _alter(
        "hold",
        (
            "ADD COLUMN IF NOT EXISTS extensions smallint NOT NULL DEFAULT 0",
            "ADD COLUMN IF NOT EXISTS given_up_at timestamptz",
        ),
    ),
)
DROP_COLUMNS = _in_one_transaction(
    *(_alter(table, (f"DROP COLUMN {name}" for name in _POLICY)) for table in _LEVELS),
    _alter("hold", ("DROP COLUMN extensions", "DROP COLUMN given_up_at")),
)


def _index(holder, condition):
    """What a holder bought, where given_up_at is null, and what the holder gave up, newest last."""
    name = f"hold_over_by_{holder.removesuffix('_id').removesuffix('_key')}"
    add = (
        f"CREATE INDEX CONCURRENTLY {name}"
        f" ON hold (organization_id, {holder}, session_id, given_up_at)"
        f" WHERE (status = 'converted' OR given_up_at IS NOT NULL) AND {condition}"
    )
    return (
        # An interrupted attempt leaves an index that is not valid.
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
        migrations.RunSQL(add, f"DROP INDEX CONCURRENTLY {name}"),
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("holdfast", "0019_people")]
    operations = [
        migrations.RunSQL(
            ADD_COLUMNS,
            DROP_COLUMNS,
            state_operations=[
                *(
                    migrations.AddField(table, name, models.IntegerField(null=True))
                    for table in ("organization", "event", "tickettype")
                    for name in _POLICY
                ),
                migrations.AddField("hold", "extensions", models.SmallIntegerField(default=0)),
                migrations.AddField("hold", "given_up_at", models.DateTimeField(null=True)),
            ],
        ),
        *_index("user_id", "user_id IS NOT NULL"),
        *_index("email_key", "user_id IS NULL"),
    ]
