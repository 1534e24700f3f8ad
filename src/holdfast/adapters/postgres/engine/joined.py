"""Joins statements that write to different tables into one.

Every statement has a fixed price, in PostgreSQL and here, that a group of one hold pays alone. As
parts of one statement, they see the same snapshot and are executed in no particular order, so each
may write to one table and read no other.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Row

_TABLE = re.compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


class JoinedStatements:
    """Statements for the same table are executed one after the other, in the order given."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._tables: set[str] = set()
        self._statements: list[str] = []
        self._parameters: list[Any] = []

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Iterable[Row]:
        """Returns no rows."""
        table = _table_of(statement)
        if table in self._tables:
            self.queue()
        self._tables.add(table)
        self._statements.append(statement)
        self._parameters += parameters
        return ()

    def queue(self) -> None:
        """Queue the statements so far as one."""
        if self._statements:
            self._pipeline.execute(_joined(tuple(self._statements)), self._parameters)
        self._tables, self._statements, self._parameters = set(), [], []

    def start(self) -> None:
        self.queue()
        self._pipeline.start()

    def send(self) -> None:
        self.queue()
        self._pipeline.send()


@cache
def _table_of(statement: str) -> str:
    match = _TABLE.match(statement)
    assert match is not None, statement
    return match[1]


@cache
def _joined(statements: Sequence[str]) -> str:
    *others, last = statements
    if not others:
        return last
    named = ", ".join(f"s{number} AS ({each})" for number, each in enumerate(others))
    return f"WITH {named} {last}"
