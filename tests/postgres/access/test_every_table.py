"""Row-level security of every table that has an organization, whatever tables there are."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from holdfast.adapters.postgres.connections import connection as connecting
from tests.postgres.access.test_row_level_security import Neighbours
from tests.support.databases import DatabaseFactory

Connection = psycopg.Connection[tuple[Any, ...]]

TABLES = """
SELECT c.relname, c.relkind = 'p', array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND a.attgenerated = ''
    AND a.attidentity = ''
GROUP BY c.oid, c.relname, c.relkind HAVING 'organization_id' = ANY (array_agg(a.attname::text))
"""


@pytest.fixture(scope="module")
def neighbours(databases: DatabaseFactory) -> Iterator[Neighbours]:
    made = Neighbours(databases.fresh())
    yield made
    made.engine.stop()
    made.world.close()


@pytest.fixture(scope="module")
def tables(neighbours: Neighbours) -> dict[str, list[str]]:
    with psycopg.connect(neighbours.url) as owner:
        found = {name: columns for name, _, columns in owner.execute(TABLES).fetchall()}
    assert len(found) > 25, "partitions too"
    return found


def tried(connection: Connection, statement: str, *values: object) -> int:
    """The number of rows that a statement reached; none if it is not allowed."""
    connection.execute("SAVEPOINT attempt")
    try:
        return connection.execute(statement.encode(), values).rowcount
    except errors.InsufficientPrivilege:
        return 0
    except psycopg.IntegrityError:
        return 1  # nothing but a constraint was in the way
    finally:
        connection.execute("ROLLBACK TO SAVEPOINT attempt")


def reached(neighbours: Neighbours, setting: bool, tables: dict[str, list[str]]) -> dict[str, int]:
    """How many rows of the neighbour can be read, changed, deleted, taken over and copied, in each
    table. Without `setting`, no organization is named."""
    theirs, mine = neighbours.theirs.organization_id, neighbours.mine.organization_id
    copies = {name: _copy(neighbours, name) for name in tables}
    found = {}
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [mine] if setting else [])
        for name, columns in tables.items():
            where, listed = "WHERE organization_id = %s", ", ".join(columns)
            found[name] = tried(connection, f"SELECT organization_id FROM {name} {where}", theirs)
            found[name] += tried(connection, f"DELETE FROM {name} {where}", theirs)
            for column in columns:
                update = f"UPDATE {name} SET {column} = {column} {where}"
                found[name] += tried(connection, update, theirs)
            move = f"UPDATE {name} SET organization_id = %s {where}"
            found[name] += tried(connection, move, mine, theirs) + tried(
                connection, move, theirs, mine
            )
            insert = (
                f"INSERT INTO {name} ({listed}) SELECT {listed}"
                f" FROM jsonb_populate_record(NULL::{name}, %s::jsonb)"
            )
            if copies[name] is not None:
                found[name] += tried(connection, insert, copies[name])
        connection.execute("ROLLBACK")
    return found


def _copy(neighbours: Neighbours, table: str) -> str | None:
    """A row of the neighbour."""
    with psycopg.connect(neighbours.url) as owner:
        query = f"SELECT to_jsonb(whole) FROM {table} whole WHERE organization_id = %s LIMIT 1"
        row = owner.execute(query.encode(), [neighbours.theirs.organization_id]).fetchone()
    return None if row is None else json.dumps(row[0])


@pytest.mark.parametrize("setting", [True, False], ids=["another organization", "none"])
def test_no_row_of_another_organization_is_reached(
    neighbours: Neighbours, tables: dict[str, list[str]], setting: bool
) -> None:
    found = reached(neighbours, setting, tables)
    assert {name: count for name, count in found.items() if count} == {}


@pytest.mark.parametrize("table", ["hold", "member", "waitlist", "inbox"])
def test_a_table_without_its_guard_is_found(
    neighbours: Neighbours, tables: dict[str, list[str]], table: str
) -> None:
    """Control: the same statements reach the rows of a table that is not guarded."""
    with psycopg.connect(neighbours.url, autocommit=True) as owner:
        owner.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
        try:
            found = reached(neighbours, True, {table: tables[table]})
        finally:
            owner.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
    assert found[table] > 0
