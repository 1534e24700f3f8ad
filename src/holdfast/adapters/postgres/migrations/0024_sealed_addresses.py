"""Addresses and attendees are sealed (ADR 0048). They are moved in slices, each in a transaction of
its own, so that the migration can be interrupted and repeated: each step looks first how far an
earlier attempt came. The servers are to be stopped: those of before can read neither. Without a
secret the values are moved as they are, and `holdfast reseal` seals them later. Reversing it opens
them again, which needs their secrets."""

from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, migrations, models

from holdfast.domain.orders.order import Attendee
from holdfast.domain.values import EmailAddress

SLICE_ROWS = 1_000

_TABLES = {"hold": "hold_has_a_holder", "purchase_order": "order_has_a_holder"}

_ATTENDEE = ("ticket", "attendee")
# The columns of before, both, those of after.
OLD, MOVING, NEW = "old", "moving", "new"
SERVERS = """
SELECT DISTINCT application_name FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'holdfast%'
    AND (EXISTS (SELECT FROM hold) OR EXISTS (SELECT FROM purchase_order))
ORDER BY 1
"""
_SOON = "BEGIN; SET LOCAL lock_timeout = '2s'; "

PREPARE = (
    _SOON
    + "".join(
        f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {constraint},"
        f" DROP CONSTRAINT IF EXISTS {constraint}_sealed,"
        " ADD COLUMN IF NOT EXISTS sealed bytea, ADD COLUMN IF NOT EXISTS sealed_key uuid;"
        for table, constraint in _TABLES.items()
    )
    + "ALTER TABLE ticket ADD COLUMN IF NOT EXISTS attendee bytea,"
    " ADD COLUMN IF NOT EXISTS attendee_key uuid; COMMIT;"
)
UNPREPARE = (
    _SOON
    + "".join(
        f"ALTER TABLE {table} DROP COLUMN sealed, DROP COLUMN sealed_key,"
        f" ADD CONSTRAINT {constraint} CHECK (customer_email IS NOT NULL OR user_id IS NOT NULL);"
        for table, constraint in _TABLES.items()
    )
    + "ALTER TABLE ticket DROP COLUMN attendee, DROP COLUMN attendee_key; COMMIT;"
)

# Their names in the end, and the columns that they have by then.
INDEXES = {
    "hold_by_email": "hold (organization_id, {key}, session_id,"
    " (status IN ('waiting', 'active')), expires_at) WHERE {key} IS NOT NULL",
    "hold_over_by_email": "hold (organization_id, {key}, session_id, given_up_at)"
    " WHERE (status = 'converted' OR given_up_at IS NOT NULL) AND user_id IS NULL",
    "purchase_order_by_email": "purchase_order (organization_id, {key}, created_at, id)"
    " WHERE {key} IS NOT NULL",
}
BY_ATTENDEE = "ticket (organization_id, attendee_key) WHERE attendee_key IS NOT NULL"

ADD_CONSTRAINTS = (
    _SOON
    + "".join(
        f"ALTER TABLE {table} ADD CONSTRAINT {constraint}_sealed"
        " CHECK (sealed IS NOT NULL OR user_id IS NOT NULL) NOT VALID;"
        for table, constraint in _TABLES.items()
    )
    + "COMMIT;"
)
VALIDATE = [
    f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}_sealed" for table, name in _TABLES.items()
]

FORWARDS = Path(__file__).with_name("0024_sealed_addresses.sql").read_text(encoding="utf-8")
_LIFE = Path(__file__).with_name("0004_life.sql").read_text(encoding="utf-8")


def _function(name):
    """The function as 0004 made it."""
    start = _LIFE.index(f"CREATE FUNCTION {name}(")
    return _LIFE[start : _LIFE.index("$$;", start) + 3]


IN_SILENCE = """
LOCK TABLE hold, purchase_order, ticket IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
    IF EXISTS (SELECT FROM hold WHERE customer_email IS NOT NULL)
        OR EXISTS (SELECT FROM purchase_order WHERE customer_email IS NOT NULL)
        OR EXISTS (SELECT FROM ticket
            WHERE attendee_name IS NOT NULL OR attendee_email IS NOT NULL) THEN
        RAISE EXCEPTION 'holds were placed meanwhile: stop the servers and migrate again';
    END IF;
END
$$;
"""
# Dropping a column drops its indexes and constraints too.
SWAP = f"{_SOON} SET LOCAL holdfast.owner = on; {IN_SILENCE}"
SWAP += "DROP FUNCTION holdfast_unpublished(smallint, integer, bigint);"
SWAP += "ALTER TABLE ticket DROP COLUMN attendee_name, DROP COLUMN attendee_email;"
SWAP += "".join(
    f"ALTER TABLE {table} DROP COLUMN email_key;"
    f"ALTER TABLE {table} DROP COLUMN customer_email;"
    f"ALTER TABLE {table} RENAME COLUMN sealed TO customer_email;"
    f"ALTER TABLE {table} RENAME COLUMN sealed_key TO email_key;"
    f"ALTER TABLE {table} RENAME CONSTRAINT {constraint}_sealed TO {constraint};"
    for table, constraint in _TABLES.items()
)
SWAP += "".join(f"ALTER INDEX {name}_sealed RENAME TO {name};" for name in INDEXES)
SWAP += f"{FORWARDS} COMMIT;"

SWAP_BACK = f"""
{_SOON} SET LOCAL holdfast.owner = on;
DROP FUNCTION holdfast_forget_facts(uuid, uuid[]);
DROP FUNCTION holdfast_forget_entries(uuid, uuid[], uuid[], integer);
{_function("holdfast_refuse_change").replace("CREATE", "CREATE OR REPLACE")}
REVOKE UPDATE (customer_email, email_key, user_id, metadata) ON purchase_order FROM holdfast_app;
REVOKE UPDATE (attendee, attendee_key) ON ticket FROM holdfast_app;
DROP FUNCTION holdfast_unpublished(smallint, integer, bigint);
ALTER TABLE ticket ADD COLUMN attendee_email text,
    ADD COLUMN attendee_name text CHECK (length(attendee_name) BETWEEN 1 AND 200);
""" + "".join(
    f"ALTER TABLE {table} DROP CONSTRAINT {constraint};"
    f"ALTER TABLE {table} RENAME COLUMN customer_email TO sealed;"
    f"ALTER TABLE {table} RENAME COLUMN email_key TO sealed_key;"
    f"ALTER TABLE {table} ADD COLUMN customer_email text,"
    " ADD COLUMN email_key text GENERATED ALWAYS AS (lower(customer_email)) STORED;"
    for table, constraint in _TABLES.items()
)
SWAP_BACK += "".join(f"ALTER INDEX {name} RENAME TO {name}_sealed;" for name in INDEXES)
SWAP_BACK += f"""
{_function("holdfast_unpublished")}
REVOKE ALL ON FUNCTION holdfast_unpublished(smallint, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_unpublished(smallint, integer, bigint) TO holdfast_app;
COMMIT;
"""


def _stage(cursor):
    """Where an attempt in either direction stopped."""
    cursor.execute(
        "SELECT attname, atttypid = 'bytea'::regtype FROM pg_attribute"
        " WHERE attrelid = 'hold'::regclass AND attname IN ('customer_email', 'sealed')"
    )
    columns = dict(cursor.fetchall())
    if columns["customer_email"]:
        return NEW
    return MOVING if "sealed" in columns else OLD


def _at(stages, *statements):
    """Run them if the tables are at one of these stages."""

    def run(apps, schema_editor):
        with schema_editor.connection.cursor() as cursor:
            if _stage(cursor) in stages:
                for statement in statements:
                    cursor.execute(statement)

    return run


def _moved(cursor, select, update, converted):
    """Move the rows that `select` finds, a slice at a time, in the order of their ids."""
    last = [UUID(int=0), UUID(int=0)]
    while True:
        cursor.execute(
            f"{select} AND (organization_id, id) > (%s, %s) ORDER BY 1, 2 LIMIT %s",
            [*last, SLICE_ROWS],
        )
        found = cursor.fetchall()
        if not found:
            return
        cursor.executemany(update, [(*converted(*row), *row[:2]) for row in found])
        last = found[-1][:2]


def seal(apps, schema_editor):
    addresses = settings.HOLDFAST_ADDRESSES
    with schema_editor.connection.cursor() as cursor:
        if _stage(cursor) is not MOVING:
            return

    def address(organization_id, _, email):
        return addresses.stored(organization_id, EmailAddress(email))

    def attendee(organization_id, _, name, email):
        named = Attendee(name, None if email is None else EmailAddress(email))
        return addresses.stored_attendee(organization_id, named)

    with schema_editor.connection.cursor() as cursor:
        for table in _TABLES:
            _moved(
                cursor,
                f"SELECT organization_id, id, customer_email FROM {table}"  # noqa: S608
                " WHERE customer_email IS NOT NULL",
                f"UPDATE {table} SET sealed = %s, sealed_key = %s, customer_email = NULL"  # noqa: S608
                " WHERE organization_id = %s AND id = %s",
                address,
            )
        _moved(
            cursor,
            "SELECT organization_id, id, attendee_name, attendee_email FROM ticket"
            " WHERE (attendee_name IS NOT NULL OR attendee_email IS NOT NULL)",
            "UPDATE ticket SET attendee = %s, attendee_key = %s, attendee_name = NULL,"
            " attendee_email = NULL WHERE organization_id = %s AND id = %s",
            attendee,
        )


def unseal(apps, schema_editor):
    addresses = settings.HOLDFAST_ADDRESSES
    with schema_editor.connection.cursor() as cursor:
        if _stage(cursor) is not MOVING:
            return

    def address(organization_id, _, sealed):
        return [addresses.opened(organization_id, bytes(sealed)).value]

    def attendee(organization_id, _, sealed):
        opened = addresses.opened_attendee(organization_id, bytes(sealed))
        return opened.name, None if opened.email is None else opened.email.value

    with schema_editor.connection.cursor() as cursor:
        for table in _TABLES:
            _moved(
                cursor,
                f"SELECT organization_id, id, sealed FROM {table}"  # noqa: S608
                " WHERE sealed IS NOT NULL",
                f"UPDATE {table} SET customer_email = %s, sealed = NULL"  # noqa: S608
                " WHERE organization_id = %s AND id = %s",
                address,
            )
        _moved(
            cursor,
            "SELECT organization_id, id, attendee FROM ticket WHERE attendee IS NOT NULL",
            "UPDATE ticket SET attendee_name = %s, attendee_email = %s, attendee = NULL"
            " WHERE organization_id = %s AND id = %s",
            attendee,
        )


def refuse_servers(apps, schema_editor):
    """They would lose addresses between two steps. An empty database has none to lose, and its
    first servers may be waiting for it already."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(SERVERS)
        names = [name for (name,) in cursor.fetchall()]
    if names:
        raise DatabaseError(
            f"Holdfast is still connected to the database ({', '.join(names)}): stop all servers,"
            " workers, relays and consumers, and migrate again"
        )


def refuse_without_secrets(apps, schema_editor):
    """Before anything is changed: open one text of each secret."""
    opened = settings.HOLDFAST_ADDRESSES.seal.opened
    with schema_editor.connection.cursor() as cursor:
        stage = _stage(cursor)
        if stage is OLD:
            return
        address = "customer_email" if stage is NEW else "sealed"
        seen = []
        for table, column in (*((table, address) for table in _TABLES), _ATTENDEE):
            query = (
                f"SELECT organization_id, {column} FROM {table}"  # noqa: S608
                f" WHERE {column} IS NOT NULL AND get_byte({column}, 0) <> 0"
                f" AND substring({column} FOR 5) <> ALL (%s::bytea[]) LIMIT 1"
            )
            cursor.execute(query, [seen])
            while found := cursor.fetchone():
                organization_id, sealed = found
                opened(organization_id.bytes, bytes(sealed))
                seen.append(bytes(sealed)[:5])
                cursor.execute(query, [seen])


def _index(name, columns):
    # An interrupted attempt leaves an index that is not valid.
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    add = f"CREATE INDEX CONCURRENTLY {name} ON {columns}"
    return drop, add


NOTHING = migrations.RunPython.noop
OLD_INDEXES = [
    statement
    for name, columns in INDEXES.items()
    for statement in _index(name, columns.format(key="email_key"))
]
NEW_INDEXES = {
    f"{name}_sealed": columns.format(key="sealed_key") for name, columns in INDEXES.items()
} | {"ticket_by_attendee": BY_ATTENDEE}


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("holdfast", "0023_audit_partitions")]
    operations = [
        migrations.RunPython(refuse_servers, NOTHING),
        migrations.RunPython(_at({OLD, MOVING}, PREPARE), _at({MOVING}, UNPREPARE)),
        migrations.RunPython(NOTHING, _at({MOVING}, *OLD_INDEXES)),
        migrations.RunPython(seal, unseal),
        *(
            migrations.RunPython(
                _at({MOVING}, *_index(name, columns)), _at({MOVING}, _index(name, columns)[0])
            )
            for name, columns in NEW_INDEXES.items()
        ),
        migrations.RunPython(_at({MOVING}, ADD_CONSTRAINTS), NOTHING),
        migrations.RunPython(_at({MOVING}, *VALIDATE), NOTHING),
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(_at({MOVING}, SWAP), _at({NEW}, SWAP_BACK))],
            [
                migrations.AlterField(model, name, field)
                for model in ("hold", "order")
                for name, field in (
                    ("customer_email", models.BinaryField(null=True)),
                    ("email_key", models.UUIDField(null=True, editable=False)),
                )
            ],
        ),
        migrations.RunPython(NOTHING, refuse_without_secrets),
        migrations.RunPython(NOTHING, refuse_servers),
    ]
