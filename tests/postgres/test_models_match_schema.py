"""The models mirror the tables that the SQL creates, and Django finds nothing to alter."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connections, models

from holdfast.adapters.postgres import migrations
from holdfast.bootstrap import database
from holdfast.bootstrap.database import OWNER, MigrationBusy, migrate, setup_django
from holdfast.bootstrap.settings import Settings, SettingsError
from tests.contract.worlds import PostgresWorld
from tests.support.catalog_life import change_catalog

MODELS = (
    "ApiKey",
    "AuditEntry",
    "Block",
    "BlockPrice",
    "Checkout",
    "Event",
    "Fact",
    "Hold",
    "HoldLine",
    "LoginSession",
    "MailTemplate",
    "Member",
    "MemberSession",
    "Order",
    "Organization",
    "Person",
    "Pool",
    "PoolLapse",
    "RelayCursor",
    "Seat",
    "Session",
    "Ticket",
    "TicketType",
    "TicketTypePool",
    "WaitingLine",
    "WaitingPlace",
    "Waitlist",
)
# No page shows these, so they have no models.
WITHOUT_A_MODEL = {
    "idempotency",
    "inbox",
    "fact_horizon",
    "audit_horizon",
    "promoter_lease",
    "holder_revocation",
    "address_secret",
    "inventory_task",
    "inventory_comparison",
}
# The role of the admin pages may not read these columns, so the models omit them.
LEFT_OUT = {
    ("api_key", "secret_hash"),
    ("member_session", "secret_hash"),
    ("ticket", "code"),
    ("ticket", "attendee"),
    ("ticket", "attendee_key"),
}
# Logging in and out, and choosing the first password.
WRITTEN_BY_LOG_INS = {"login_session", "member_session", "person"}

COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull
    FROM pg_attribute a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
"""
OUR_TABLES = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND c.relname !~ '^(auth|axes|django|otp)_'
"""
PRIMARY_KEY = """
    SELECT array_agg(a.attname::text ORDER BY k.place)
    FROM pg_index i, unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (number, place),
         pg_attribute a
    WHERE i.indrelid = %s::regclass AND i.indisprimary
      AND a.attrelid = i.indrelid AND a.attnum = k.number
"""


@pytest.fixture
def owner(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    setup_django(Settings(database_url=database_url))
    with psycopg.connect(database_url) as connection:
        yield connection
        connection.rollback()
    connections.close_all()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_columns_of_its_table(owner: psycopg.Connection[Any], name: str) -> None:
    model = apps.get_model("holdfast", name)
    table = model._meta.db_table
    in_database = {
        (column, kind, nullable)
        for column, kind, nullable in owner.execute(COLUMNS, [table])
        if (table, column) not in LEFT_OUT
    }
    in_model = {
        (field.column, _kind(field), field.null)
        for field in model._meta.concrete_fields
        if field.column is not None and not isinstance(field, models.CompositePrimaryKey)
    }
    assert in_model == in_database


def _kind(field: Any) -> str:
    """As PostgreSQL spells it."""
    return str(field.db_type(connections[OWNER])).replace("varchar", "character varying")


def test_every_table_that_a_page_shows_has_a_model(
    owner: psycopg.Connection[Any],
) -> None:
    models = list(apps.get_app_config("holdfast").get_models())
    assert {model.__name__ for model in models} == set(MODELS)
    assert all(not model._meta.managed for model in models)
    in_database = {table for (table,) in owner.execute(OUR_TABLES)}
    assert {model._meta.db_table for model in models} == in_database - WITHOUT_A_MODEL


@pytest.mark.parametrize("name", MODELS)
def test_relations_join_on_the_primary_key(owner: psycopg.Connection[Any], name: str) -> None:
    """They join on organization and id, so the database can use its index."""
    for field in apps.get_model("holdfast", name)._meta.get_fields():
        if isinstance(field, models.ForeignObject) and not isinstance(field, models.ForeignKey):
            table = field.remote_field.model._meta.db_table
            columns = [there.column for _, there in field.related_fields]
            assert owner.execute(PRIMARY_KEY, [table]).fetchone() == (columns,)


def test_django_finds_nothing_to_migrate(owner: psycopg.Connection[Any]) -> None:
    """Otherwise it would exit with status 1."""
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_operators_can_only_read(owner: psycopg.Connection[Any]) -> None:
    granted = "SELECT has_table_privilege('holdfast_operator', %s, %s)"
    for (table,) in owner.execute(OUR_TABLES).fetchall():
        if table in WRITTEN_BY_LOG_INS:
            continue
        for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"):
            assert owner.execute(granted, [table, right]).fetchone() == (False,), (table, right)
    for table in ("idempotency", "api_key", "ticket"):
        assert owner.execute(granted, [table, "SELECT"]).fetchone() == (False,), table
    column = "SELECT has_column_privilege('holdfast_operator', %s, %s, 'SELECT')"
    assert owner.execute(column, ["api_key", "prefix"]).fetchone() == (True,)
    assert owner.execute(column, ["ticket", "seat_id"]).fetchone() == (True,)
    for left_out in LEFT_OUT:
        assert owner.execute(column, left_out).fetchone() == (False,), left_out


def test_migrating_again_changes_nothing(database_url: str) -> None:
    report: list[str] = []
    with psycopg.connect(database_url, autocommit=True) as connection:
        before = connection.execute("SELECT id, name FROM django_migrations").fetchall()
        for _ in range(2):
            migrate(Settings(database_url=database_url), report=report.append)
        after = connection.execute("SELECT id, name FROM django_migrations").fetchall()
    assert after == before
    assert report == ["The database is up to date."] * 2


def test_only_one_process_migrates_at_a_time(database_url: str) -> None:
    report: list[str] = []
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [database._MIGRATION_LOCK])
        with pytest.raises(MigrationBusy):
            migrate(Settings(database_url=database_url), report=report.append, wait_seconds=0.3)
    assert report == ["Another process is migrating the database; waiting for it."]
    migrate(Settings(database_url=database_url), report=report.append, wait_seconds=5)


def test_migrating_needs_a_database() -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        migrate(Settings(), report=lambda _: None)


def test_migrating_back_leaves_nothing_behind(fresh_database_url: str) -> None:
    with closing(PostgresWorld(fresh_database_url)) as world:
        venue = world.venue({"floor": 10}, {"standing": ("floor",)})
        change_catalog(fresh_database_url, venue.organization_id)
    setup_django(Settings(database_url=fresh_database_url))
    try:
        call_command("migrate", "holdfast", "zero", database=OWNER, verbosity=0)
    finally:
        connections.close_all()
    with psycopg.connect(fresh_database_url) as connection:
        assert connection.execute(OUR_TABLES).fetchall() == []
        left = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        assert connection.execute(left).fetchone() == (0,)
    report: list[str] = []
    migrate(Settings(database_url=fresh_database_url), report=report.append)
    count = len(list(Path(migrations.__file__).parent.glob("0*.py")))
    assert report == [f"Applying {count} database migrations.", "The database is up to date."]


def test_the_scopes_of_existing_keys_are_renamed_and_back(fresh_database_url: str) -> None:
    with closing(PostgresWorld(fresh_database_url)) as world:
        venue = world.venue({"floor": 1}, {"standing": ("floor",)})
    setup_django(Settings(database_url=fresh_database_url))
    before = ["holds:read", "catalogue:write", "catalogue:read"]

    def scopes() -> list[str]:
        with psycopg.connect(fresh_database_url) as connection:
            ((found,),) = connection.execute("SELECT scopes FROM api_key").fetchall()
        return list(found)

    def migrate_to(name: str) -> None:
        try:
            call_command("migrate", "holdfast", name, database=OWNER, verbosity=0)
        finally:
            connections.close_all()

    migrate_to("0010_filters")
    with psycopg.connect(fresh_database_url) as connection:
        connection.execute(
            "INSERT INTO api_key (organization_id, id, name, prefix, secret_hash, scopes)"
            " VALUES (%s, %s, 'shop', 'hk_test_', sha256('shop'), %s)",
            [venue.organization_id, uuid4(), before],
        )
    migrate_to("0011_metadata_and_scopes")
    assert scopes() == ["holds:read", "catalog:write", "catalog:read"]
    migrate_to("0010_filters")
    assert scopes() == before
