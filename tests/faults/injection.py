"""Errors raised by PostgreSQL on demand: a trigger on the audit log raises an SQLSTATE in the
middle of a group."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

# Counts with a sequence because it is not rolled back with the failed group.
INSTALL = """
CREATE SEQUENCE fault_count;
CREATE TABLE fault_plan (sqlstate text, times bigint, only_request text, pause_seconds float);
GRANT SELECT ON fault_plan TO holdfast_app;
GRANT USAGE ON SEQUENCE fault_count TO holdfast_app;
CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    plan fault_plan;
BEGIN
    SELECT * INTO plan FROM fault_plan LIMIT 1;
    IF NOT FOUND OR (plan.only_request IS NOT NULL AND plan.only_request <> NEW.request_id) THEN
        RETURN NEW;
    END IF;
    IF nextval('fault_count') <= plan.times THEN
        PERFORM pg_sleep(plan.pause_seconds);
        IF plan.sqlstate IS NOT NULL THEN
            RAISE EXCEPTION 'injected' USING ERRCODE = plan.sqlstate;
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER fault BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION fault();
"""


def install(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(INSTALL)


@contextmanager
def injected(
    url: str,
    sqlstate: str | None,
    times: int = 10**9,
    only_request: str | None = None,
    pause_seconds: float = 0.0,
) -> Iterator[None]:
    """Make writes of audit rows fail, this many times or for one request only."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT setval('fault_count', 1, false)")
        connection.execute(
            "INSERT INTO fault_plan VALUES (%s, %s, %s, %s)",
            [sqlstate, times, only_request, pause_seconds],
        )
    try:
        yield
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("TRUNCATE fault_plan")
