"""Statements that write to different tables are executed as one."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Precedence
from holdfast.adapters.postgres.engine.writes import JoinedStatements

FIRST = "INSERT INTO one SELECT * FROM unnest(%s::integer[])"
OTHER = "INSERT INTO two SELECT n + %s FROM unnest(%s::integer[]) AS n"
AGAIN = "UPDATE one SET n = n + %s"
SENT = "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ '(INTO|UPDATE) (one|two)'"


@pytest.fixture
def pipeline(database_url: str) -> Iterator[Pipeline]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE one (n integer)")
        connection.execute("CREATE TEMPORARY TABLE two (n integer)")
        yield Pipeline(connection, Precedence())


def test_statements_for_different_tables_are_sent_as_one(pipeline: Pipeline) -> None:
    joined = JoinedStatements(pipeline)
    joined.execute(FIRST, ("{1,2}",))
    joined.execute(OTHER, (10, "{3}"))
    joined.send()
    assert list(pipeline.execute(SENT)) == [(1,)]
    assert list(pipeline.execute("SELECT n FROM one ORDER BY n")) == [(1,), (2,)]
    assert list(pipeline.execute("SELECT n FROM two")) == [(13,)]


def test_statements_for_the_same_table_keep_their_order(pipeline: Pipeline) -> None:
    joined = JoinedStatements(pipeline)
    joined.execute(FIRST, ("{1}",))
    joined.execute(AGAIN, (5,))
    joined.execute(OTHER, (0, "{3}"))
    joined.execute(FIRST, ("{2}",))
    joined.send()
    assert list(pipeline.execute("SELECT n FROM one ORDER BY n")) == [(2,), (6,)]


def test_nothing_is_sent_for_nothing(pipeline: Pipeline) -> None:
    JoinedStatements(pipeline).send()
    assert list(pipeline.execute(SENT)) == [(0,)]
