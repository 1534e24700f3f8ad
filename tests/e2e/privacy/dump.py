"""Searches a whole database for texts, as a reader of a stolen backup would."""

from collections.abc import Iterator

import psycopg

from tests.e2e.owner import Owner

_TABLES = """
SELECT c.relname, bool_or(a.attname = 'organization_id')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND a.attnum > 0 AND NOT a.attisdropped
GROUP BY c.relname ORDER BY c.relname
"""


def rows_of(owner: Owner, organization_id: str | None = None) -> Iterator[tuple[str, str]]:
    """Every row of every table as text, with its table. Binary columns are hexadecimal in it."""
    with psycopg.connect(owner.database_url) as connection:
        for table, has_organization in connection.execute(_TABLES.encode()).fetchall():
            own = "WHERE organization_id = %(own)s" if has_organization and organization_id else ""
            query = f"SELECT t::text FROM {table} t {own}"
            for (row,) in connection.execute(query.encode(), {"own": organization_id}):
                yield table, row


def found_in(owner: Owner, organization_id: str | None, *texts: str) -> list[tuple[str, str]]:
    """The tables that contain one of these texts, as it is or in a binary column, in any case."""
    wanted = [text.lower() for text in texts]
    wanted += [text.lower().encode().hex() for text in texts]
    wanted += [text.encode().hex() for text in texts]
    return [
        (table, each)
        for table, row in rows_of(owner, organization_id)
        for each in wanted
        if each in row.lower()
    ]
