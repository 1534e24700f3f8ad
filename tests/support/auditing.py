"""Proof, from the rows of a live database, that nothing was lost and nothing was counted twice: the
product's own audit of the books."""

from typing import Any

import psycopg

from holdfast.adapters.postgres.audit.integrity import PostgresBooks

# Many tests keep the reaper away: how timely it is, they do not ask.
NO_HURRY_SECONDS = 10 * 365 * 86_400


def assert_sound(url: str, grace_seconds: int = NO_HURRY_SECONDS) -> None:
    for check in PostgresBooks(url).checked(grace_seconds):
        assert not check.found, f"{check.looks_for}: {check.found}, {check.examples}"


def rows(url: str, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode(), parameters).fetchall()
