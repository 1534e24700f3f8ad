"""Upgrading keys of the time when test and live keys saw the same data, and back."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections

from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.settings import Settings

BEFORE = "0013_ticket_foreign_key"


@pytest.fixture
def old_database(fresh_database_url: str, database_url: str) -> Iterator[str]:
    setup_django(Settings(database_url=fresh_database_url))
    call_command("migrate", "holdfast", BEFORE, database=OWNER, verbosity=0)
    yield fresh_database_url
    connections.close_all()
    setup_django(Settings(database_url=database_url))


def upgrade() -> None:
    call_command("migrate", "holdfast", database=OWNER, verbosity=0)


def add_key(connection: psycopg.Connection[tuple[object, ...]], owner: UUID, prefix: str) -> UUID:
    key_id = uuid4()
    connection.execute(
        "INSERT INTO api_key (organization_id, id, name, prefix, secret_hash, scopes)"
        " VALUES (%s, %s, 'key', %s, sha256(%s::text::bytea), '{holds:read}')",
        [owner, key_id, prefix, str(key_id)],
    )
    return key_id


def test_every_organization_gets_two_sides_and_no_test_key_sees_live_data(
    old_database: str,
) -> None:
    only_test, only_live, both, keyless = (uuid4() for _ in range(4))
    with psycopg.connect(old_database, autocommit=True) as connection:
        for organization_id in (only_test, only_live, both, keyless):
            connection.execute(
                "INSERT INTO organization (id, name) VALUES (%s, %s)",
                [organization_id, f"name {organization_id}"],
            )
        add_key(connection, only_test, "hk_test_aaaa")
        add_key(connection, only_live, "hk_live_aaaa")
        test_key = add_key(connection, both, "hk_test_bbbb")
        live_key = add_key(connection, both, "hk_live_bbbb")
        upgrade()
        modes: dict[Any, Any] = dict(
            connection.execute("SELECT id, mode FROM organization").fetchall()
        )
        pairs = connection.execute(
            "SELECT count(*), count(DISTINCT mode), count(DISTINCT name) FROM organization"
            " GROUP BY account_id"
        ).fetchall()
        places: dict[Any, Any] = dict(
            connection.execute("SELECT id, organization_id FROM api_key").fetchall()
        )
    assert (modes[only_test], modes[only_live], modes[both]) == ("test", "live", "live")
    assert modes[keyless] == "live"
    assert pairs == [(2, 2, 1)] * 4
    assert places[live_key] == both
    assert places[test_key] != both
    assert modes[places[test_key]] == "test"


def test_an_expired_key_does_not_come_back_with_the_old_version(old_database: str) -> None:
    upgrade()
    organization_id = uuid4()
    with psycopg.connect(old_database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO organization (id, name) VALUES (%s, 'x')", [organization_id]
        )
        ended = add_key(connection, organization_id, "hk_live_aaaa")
        lasting = add_key(connection, organization_id, "hk_live_bbbb")
        connection.execute("UPDATE api_key SET expires_at = now() WHERE id = %s", [ended])
    call_command("migrate", "holdfast", BEFORE, database=OWNER, verbosity=0)
    with psycopg.connect(old_database, autocommit=True) as connection:
        revoked = connection.execute("SELECT id FROM api_key WHERE revoked_at IS NOT NULL")
        assert revoked.fetchall() == [(ended,)]
        assert lasting != ended
