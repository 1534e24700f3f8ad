"""The bench counts statements and round trips correctly."""

from pathlib import Path

import psycopg

from bench.cost.traffic import Trace, Traffic, traffic_in


def test_every_statement_and_every_wait_for_the_server_counts(
    database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    with psycopg.connect(database_url, autocommit=True) as connection:
        trace = Trace(connection, path)
        trace.start()
        connection.execute("SELECT 1")
        assert traffic_in(path) == Traffic(statements=1, round_trips=1)
        with connection.pipeline():
            for number in range(3):
                connection.execute("SELECT\n%s", (number,))
        assert traffic_in(path) == Traffic(statements=4, round_trips=2)
        trace.stop()
        connection.execute("SELECT 1")
        assert traffic_in(path) == Traffic(statements=4, round_trips=2)


def test_statements_sent_without_a_cursor_count_too(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    with psycopg.connect(database_url, autocommit=True) as connection:
        Trace(connection, path).start()
        connection.pgconn.prepare(b"one", b"SELECT 1")
        connection.pgconn.exec_prepared(b"one", [])
    assert traffic_in(path) == Traffic(statements=1, round_trips=2)
