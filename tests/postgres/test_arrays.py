"""Arrays that we format ourselves are read back unchanged."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Precedence
from holdfast.adapters.postgres.engine.rows import (
    ColumnList,
    Json,
    array,
    columns,
    ids_array,
    wire_array,
)

NASTY = ["", " ", "NULL", "null", '"', "\\", "{}", ",", "a,b", "'", "\n\t", "ü€🎫", '\\"', "%s"]

IDS = [None, UUID(int=0), UUID(int=2**128 - 1)]
MOMENTS = [
    datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    None,
    datetime(2030, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
]


def round_trip(url: str, kind: str, values: list[Any]) -> list[Any]:
    with psycopg.connect(url) as connection:
        query = f"SELECT %s::{kind}[]".encode()
        row = connection.execute(query, [array(values)]).fetchone()
    assert row is not None
    return list(row[0])


def round_trip_of_ids(url: str, text: str) -> list[UUID]:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT %s::uuid[]", [text]).fetchone()
    assert row is not None
    return list(row[0])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", NASTY),
        ("text", [None, "a", None]),
        ("text", [None]),
        ("uuid", [uuid4(), uuid4(), None]),
        ("integer", [0, -1, 2**31 - 1, None]),
        ("bigint", [2**63 - 1, -(2**63)]),
        ("boolean", [True, False]),
        ("bytea", [b"", b"\x00\xff", b'"\\{}', None]),
        ("timestamptz", [datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC), None]),
    ],
)
def test_values_are_read_back_unchanged(database_url: str, kind: str, values: list[Any]) -> None:
    assert round_trip(database_url, kind, values) == values


@pytest.mark.parametrize(
    ("kind", "values", "read"),
    [
        ("text", NASTY, NASTY),
        ("text", [None], [None]),
        ("text", [Json(b'{"a":"\\n\\u0001"}'), None, Json(b"")], ['{"a":"\\n\\u0001"}', None, ""]),
        ("uuid", IDS, IDS),
        ("integer", [0, None, 2**31 - 1], [0, None, 2**31 - 1]),
        ("boolean", [True, None], [True, None]),
        ("bytea", [b"", None, b"\x00\xff"], [b"", None, b"\x00\xff"]),
        ("timestamptz", MOMENTS, MOMENTS),
    ],
)
def test_values_are_read_back_unchanged_over_a_pipeline(
    database_url: str, kind: str, values: list[Any], read: list[Any]
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        pipeline = Pipeline(connection, Precedence())
        ((found,),) = pipeline.execute(f"SELECT %s::{kind}[]", [wire_array(values)])
    assert found == read


def test_an_array_of_another_type_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        rows = Pipeline(connection, Precedence()).execute("SELECT %s::text[]", [wire_array(IDS)])
        with pytest.raises(psycopg.errors.DatatypeMismatch):
            list(rows)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"))).filter(
        bool
    )
)
def test_any_text_is_read_back_unchanged(database_url: str, values: list[str | None]) -> None:
    assert round_trip(database_url, "text", values) == values


def test_arrays_can_be_nested(database_url: str) -> None:
    ids = [[uuid4(), uuid4()], [uuid4()]]
    values = round_trip(database_url, "text", [ids_array(each) for each in ids])
    assert [round_trip_of_ids(database_url, value) for value in values] == ids


def test_rows_become_columns() -> None:
    assert columns([(1, "a"), (2, None)]) == ["{1,2}", '{"a",null}']


def test_a_column_list_writes_rows_into_the_columns_that_it_names(database_url: str) -> None:
    listed = ColumnList("organization_id uuid, id integer, name text, wants text::uuid[]")
    organization_id, wanted = uuid4(), [uuid4(), uuid4()]
    made = [(organization_id, 1, "a", ids_array(wanted)), (organization_id, 2, None, "{}")]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "CREATE TEMP TABLE thing (wants uuid[], name text, id integer, organization_id uuid)"
        )
        values = f"SELECT {listed.stored} FROM {listed.unnested('made')}"
        connection.execute(f"INSERT INTO thing ({listed}) {values}".encode(), columns(made))
        changed = f"UPDATE thing SET {listed.set_from('other')} FROM thing other"
        connection.execute(f"{changed} WHERE thing.id = 2 AND other.id = 1".encode())
        found = connection.execute(f"SELECT {listed.of('t')} FROM thing t ORDER BY id".encode())
        assert found.fetchall() == [
            (organization_id, 1, "a", wanted),
            (organization_id, 2, "a", wanted),
        ]
