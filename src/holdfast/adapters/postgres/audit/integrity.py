"""The integrity check, in one snapshot."""

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg

from holdfast.adapters.postgres.audit.book_check import BookCheck
from holdfast.adapters.postgres.audit.checks import BOOK_CHECKS
from holdfast.adapters.postgres.connections.connection import (
    CONNECTION_OPTIONS,
    Connection,
    translated,
)
from holdfast.ports.audit.books import Checked

EXAMPLES_MAX = 3

# holdfast_operator reads all organizations and changes nothing. Reading whole tables takes long, so
# there is no watchdog; the kernel notices a silent server.
_SETTINGS = """
SET ROLE holdfast_operator;
SET TIME ZONE 'UTC';
SET statement_timeout = '15min';
SET work_mem = '64MB';
"""

# All checks use one snapshot: concurrent changes never look like damage.
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_FOUND = """
SELECT count(*) OVER (), row_to_json(found)::text FROM ({query}) AS found LIMIT {limit}
"""


class PostgresBooks:
    """Implements Books on a connection of its own: a check takes too long for the readers' pool."""

    def __init__(self, url: str) -> None:
        self._url = url

    def checked(self, grace_seconds: int) -> Iterator[Checked]:
        try:
            with closing(_connected(self._url)) as connection:
                connection.execute(_SETTINGS)
                connection.execute(_BEGIN)
                rows = {check.table: 0 for check in BOOK_CHECKS}
                for table in rows:
                    rows[table] = _count(connection, table)
                for check in BOOK_CHECKS:
                    yield run_check(connection, check, rows[check.table], grace_seconds)
        except psycopg.Error as error:
            raise translated(error) from error


def run_check(connection: Connection, check: BookCheck, rows: int, grace_seconds: int) -> Checked:
    query = _FOUND.format(query=check.query, limit=EXAMPLES_MAX)
    started = time.monotonic()
    found = connection.execute(query, {"grace_seconds": grace_seconds}).fetchall()
    seconds = time.monotonic() - started
    count = next((count for count, _ in found), 0)
    examples = tuple(example for _, example in found)
    return Checked(check.looks_for, rows, count, examples, seconds)


def _connected(url: str) -> Connection:
    return psycopg.connect(url, application_name="holdfast audit", **CONNECTION_OPTIONS)


def _count(connection: Connection, table: str) -> int:
    query = f"SELECT count(*) FROM {table}"  # noqa: S608
    ((count,),) = connection.execute(query)
    return int(count)
