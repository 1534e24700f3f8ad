"""Upgrading a database of the version before the bounds in the database (ADR 0049), and back."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections

from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.database import migrate as upgrade
from holdfast.bootstrap.settings import Settings

BEFORE = "0023_audit_partitions"

# What the version before knew.
ENLIST_OF_BEFORE = "SELECT user_id FROM holdfast_enlist(%s, '', NULL, 60, false)"
ENLIST = "SELECT user_id FROM holdfast_enlist(%s, '', NULL, 60)"
TWO_FACTOR = "SELECT two_factor_required FROM organization WHERE id = %s"
ENTRY = """
INSERT INTO audit (organization_id, at, action, actor, request_id, new)
VALUES (%s, %s, 'hold.created', 'test', 'r', '{}')
"""


@pytest.fixture
def owner(fresh_database_url: str, database_url: str) -> Iterator[psycopg.Connection[Any]]:
    setup_django(Settings(database_url=fresh_database_url))
    go_to(BEFORE)
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute(OWNER_AT_WORK)
        yield connection
    connections.close_all()
    setup_django(Settings(database_url=database_url))


def go_to(target: str) -> None:
    call_command("migrate", "holdfast", target, database=OWNER, verbosity=0)


def as_application(owner: psycopg.Connection[Any], own: UUID, query: str, values: list[Any]) -> Any:
    with owner.transaction():
        owner.execute("SET LOCAL ROLE holdfast_app")
        owner.execute("SELECT set_config('holdfast.organizations', %s, true)", [f"{{{own}}}"])
        found = owner.execute(query.encode(), values)
        return found.fetchone() if found.description else None


def test_a_database_of_the_version_before_gets_the_bounds(
    owner: psycopg.Connection[Any], fresh_database_url: str
) -> None:
    own = uuid4()
    owner.execute(
        "INSERT INTO organization (id, name, mode, account_id) VALUES (%s, 'x', 'live', %s)",
        [own, uuid4()],
    )
    ada = as_application(owner, own, ENLIST_OF_BEFORE, ["ada"])
    as_application(owner, own, ENTRY, [own, "2019-01-01"])
    with pytest.raises(psycopg.errors.UndefinedColumn):
        owner.execute(TWO_FACTOR, [own])

    settings = Settings(database_url=fresh_database_url, holdfast_audit_kept_days=400)
    upgrade(settings, report=lambda _: None)
    assert owner.execute("SELECT kept_days FROM audit_horizon").fetchone() == (400,)
    assert owner.execute(TWO_FACTOR, [own]).fetchone() == (None,)
    assert as_application(owner, own, ENLIST, ["Ada"]) == ada
    for query, values in ((ENLIST_OF_BEFORE, ["ada"]), (ENTRY, [own, "2019-01-01"])):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_application(owner, own, query, values)

    go_to(BEFORE)
    assert as_application(owner, own, ENLIST_OF_BEFORE, ["ada"]) == ada
    as_application(owner, own, ENTRY, [own, "2019-01-01"])
    assert owner.execute("SELECT count(*) FROM audit").fetchone() == (2,)
    assert owner.execute("SELECT holdfast_make_audit_partitions(4)").fetchone() == (1,)
    upgrade(settings, report=lambda _: None)
