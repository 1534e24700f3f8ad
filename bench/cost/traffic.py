"""Counts what a connection sends to PostgreSQL. libpq traces it, so it does not matter which
functions of psycopg the code calls."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

SENT = re.compile(rb"^F\t\d+\t(\w+)", re.MULTILINE)
STATEMENTS = {b"Execute", b"Query"}
# The client waits for the server after a query, and where it ends a pipeline.
ENDS = {b"Sync", b"Flush"}


@dataclass(frozen=True)
class Traffic:
    statements: int
    round_trips: int


class Trace:
    """The trace of one connection in a file."""

    def __init__(self, connection: psycopg.Connection[Any], path: Path) -> None:
        self._pgconn = connection.pgconn
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def start(self) -> None:
        self._pgconn.trace(self._file)
        self._pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)

    def stop(self) -> None:
        self._pgconn.untrace()


def traffic_in(*traces: Path) -> Traffic:
    statements = round_trips = 0
    for path in traces:
        before = b""
        for name in SENT.findall(path.read_bytes()):
            statements += name in STATEMENTS
            # psycopg sends a Flush after a Sync, and waits once for both.
            round_trips += name == b"Query" or (name in ENDS and before not in ENDS)
            before = name
    return Traffic(statements, round_trips)
