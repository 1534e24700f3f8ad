"""Statements that share a round trip: their results, their errors, and the state afterwards."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Precedence
from tests.support.patience import wait_until

# More than the sockets on both sides can buffer.
LARGE = 4_000_000
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'holdfast_%'"


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def pipeline(connection: psycopg.Connection[tuple[object, ...]]) -> Pipeline:
    return Pipeline(connection, Precedence())


def test_every_statement_has_its_own_rows(pipeline: Pipeline) -> None:
    id_ = uuid4()
    numbers = pipeline.execute("SELECT * FROM unnest(%s::integer[])", ("{1,2}",))
    values = pipeline.execute("SELECT %s::uuid, %s::text, %s::boolean", (id_, None, True))
    nothing = pipeline.execute("SELECT 1 WHERE false")
    assert list(nothing) == []
    assert list(values) == [(id_, None, True)]
    assert list(numbers) == [(1,), (2,)]


def test_named_parameters_may_be_used_twice(pipeline: Pipeline) -> None:
    asked = pipeline.execute(
        "SELECT %(b)s::text || %(a)s::text || %(b)s::text", {"a": "middle", "b": "-"}
    )
    assert list(asked) == [("-middle-",)]


def test_a_statement_is_prepared_once(pipeline: Pipeline) -> None:
    for _ in range(3):
        ((_,),) = pipeline.execute("SELECT %s::integer", (1,))
    assert list(pipeline.execute(PREPARED)) == [(2,)]


def test_statements_outside_a_transaction_succeed_or_fail_together(pipeline: Pipeline) -> None:
    pipeline.execute("CREATE TEMPORARY TABLE kept (n integer)")
    pipeline.send()
    pipeline.execute("INSERT INTO kept VALUES (1)")
    failed = pipeline.execute("SELECT 1 / 0")
    pipeline.execute("INSERT INTO kept VALUES (2)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        list(failed)
    assert list(pipeline.execute("SELECT * FROM kept")) == []


def test_the_first_error_is_raised_and_the_rest_is_skipped(pipeline: Pipeline) -> None:
    pipeline.execute("SELECT 1 / 0")
    pipeline.execute("SELECT nonsense")
    with pytest.raises(psycopg.errors.DivisionByZero):
        pipeline.send()
    assert list(pipeline.execute("SELECT 1")) == [(1,)]


def test_a_statement_that_could_not_be_prepared_is_prepared_again(
    pipeline: Pipeline, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    for _ in range(2):
        pipeline.execute("SELECT n FROM pg_temp.later")
        with pytest.raises(psycopg.errors.UndefinedTable):
            pipeline.send()
    connection.execute("CREATE TEMPORARY TABLE later AS SELECT 7 AS n")
    assert list(pipeline.execute("SELECT n FROM pg_temp.later")) == [(7,)]


def test_a_statement_whose_columns_changed_is_prepared_again(
    pipeline: Pipeline, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    connection.execute("CREATE TEMPORARY TABLE grown AS SELECT 7 AS n")
    assert list(pipeline.execute("SELECT n FROM grown")) == [(7,)]
    connection.execute("ALTER TABLE grown ALTER n TYPE text")
    pipeline.execute("SELECT n FROM grown")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        pipeline.send()
    assert list(pipeline.execute("SELECT n FROM grown")) == [("7",)]


def test_a_transaction_spans_round_trips(pipeline: Pipeline) -> None:
    pipeline.execute("BEGIN")
    ((before,),) = pipeline.execute("SELECT pg_current_xact_id()::text")
    ((after,),) = pipeline.execute("SELECT pg_current_xact_id()::text")
    commit = pipeline.execute("COMMIT")
    pipeline.send()
    assert before == after
    assert commit.tag == b"COMMIT"


def test_commit_after_a_failure_says_rollback(pipeline: Pipeline) -> None:
    pipeline.execute("BEGIN")
    pipeline.execute("SELECT 1 / 0")
    with pytest.raises(psycopg.errors.DivisionByZero):
        pipeline.send()
    commit = pipeline.execute("COMMIT")
    pipeline.send()
    assert commit.tag == b"ROLLBACK"


def test_a_preamble_begins_every_round_trip(pipeline: Pipeline) -> None:
    setting = "SELECT current_setting('holdfast.organizations', true)"
    with pipeline.beginning_with("SELECT set_config('holdfast.organizations', %s, true)", ("{}",)):
        assert list(pipeline.execute(setting)) == [("{}",)]
        assert list(pipeline.execute(setting)) == [("{}",)]
        unread = pipeline.execute(setting)
    assert list(unread) == [("{}",)]
    assert list(pipeline.execute(setting)) == [("",)]


def test_nul_is_refused_before_anything_is_sent(pipeline: Pipeline) -> None:
    """libpq would cut the text off at that point."""
    pipeline.execute("SELECT 1 / 0")
    with pytest.raises(psycopg.DataError):
        pipeline.execute("SELECT %s::text", ("nul\x00byte",))
    pipeline.forget()
    assert list(pipeline.execute("SELECT %s::text", ("whole",))) == [("whole",)]


def test_large_requests_and_large_answers_do_not_block_each_other(pipeline: Pipeline) -> None:
    sent = "x" * LARGE
    answers = [pipeline.execute("SELECT %s::text", (sent,)) for _ in range(4)]
    assert [len(text) for answer in answers for (text,) in answer] == [LARGE] * 4


def test_large_results_are_whole_and_may_be_read_in_any_order(pipeline: Pipeline) -> None:
    rising = pipeline.execute("SELECT generate_series(1, %s::integer)", (2_001,))
    falling = pipeline.execute("SELECT generate_series(%s::integer, 1, -1)::text", (2_001,))
    pairs = list(zip(rising, falling, strict=True))
    assert pairs == [((n,), (str(2_002 - n),)) for n in range(1, 2_002)]
    assert len(list(rising)) == 2_001


def test_a_killed_backend_is_an_error_and_closes_the_connection(
    pipeline: Pipeline, database_url: str
) -> None:
    ((backend,),) = pipeline.execute("SELECT pg_backend_pid()")
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 60000)", (backend,))
    pipeline.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        pipeline.send()
    assert pipeline.is_closed


def test_statements_can_be_started_before_the_others_of_their_round_trip(
    pipeline: Pipeline,
) -> None:
    started = pipeline.execute("SELECT 1")
    pipeline.start()
    following = pipeline.execute("SELECT 2")
    pipeline.send()
    assert (list(started), list(following)) == ([(1,)], [(2,)])
    assert list(pipeline.execute("SELECT 1")) == [(1,)]


def test_an_error_of_a_started_statement_is_raised_at_the_end(pipeline: Pipeline) -> None:
    pipeline.execute("SELECT 1 / 0")
    pipeline.start()
    pipeline.execute("SELECT 2")
    with pytest.raises(psycopg.errors.DivisionByZero):
        pipeline.send()
    assert list(pipeline.execute("SELECT 3")) == [(3,)]


def test_forgetting_a_started_statement_closes_the_connection(pipeline: Pipeline) -> None:
    """Its result would be taken for that of the next statement."""
    pipeline.execute("SELECT 1")
    pipeline.start()
    pipeline.forget()
    assert pipeline.is_closed


def test_a_connection_that_is_lost_while_statements_are_under_way_is_reported(
    pipeline: Pipeline, database_url: str
) -> None:
    ((pid,),) = pipeline.execute("SELECT pg_backend_pid()")
    pipeline.execute("SELECT pg_sleep(60)")
    pipeline.start()
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    pipeline.execute("SELECT 2")
    with pytest.raises(psycopg.OperationalError):
        pipeline.send()
    assert pipeline.is_closed


def test_a_transaction_is_not_left_open_if_the_rest_of_a_round_trip_never_comes(
    pipeline: Pipeline, database_url: str
) -> None:
    """A process that is stopped between the two must not keep its locks."""
    pipeline.execute("SET idle_in_transaction_session_timeout = '50ms'")
    pipeline.send()
    pipeline.execute("BEGIN")
    ((pid,),) = pipeline.execute("SELECT pg_backend_pid()")
    pipeline.execute("SELECT 1")
    pipeline.start()
    with psycopg.connect(database_url, autocommit=True) as other:
        still = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        wait_until(lambda: other.execute(still, [pid]).fetchone() == (0,), "the backend ends")
    pipeline.forget()
