"""The product's own integrity check, which proves from a live database that nothing was lost or
counted twice."""

from typing import Any

import psycopg

from holdfast.adapters.postgres.audit.integrity import PostgresBooks

# Many tests run without a reaper, so late expiry is no failure.
NO_HURRY_SECONDS = 10 * 365 * 86_400


def assert_sound(url: str, grace_seconds: int = NO_HURRY_SECONDS) -> None:
    for check in PostgresBooks(url).checked(grace_seconds):
        assert not check.found, f"{check.looks_for}: {check.found}, {check.examples}"


def rows(url: str, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode(), parameters).fetchall()
