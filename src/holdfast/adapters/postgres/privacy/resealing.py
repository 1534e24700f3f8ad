"""Seals what is stored with the newest secret, a slice at a time, so that an old secret can be
retired. A row that changes meanwhile is left alone. If that used an old secret, because a server
still has it as its first, the row is counted as left."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg

from holdfast.adapters.postgres.connections.connection import (
    CONNECT_TIMEOUT_SECONDS,
    OWNER_AT_WORK,
    Connection,
    translated,
)
from holdfast.adapters.postgres.privacy.secrets_in_use import (
    MARK_BYTES,
    lost_secrets,
    refuse_missing_secret,
    retire_secrets,
)
from holdfast.domain.ids import OrganizationId
from holdfast.ports.privacy.addresses import Addresses, SecretMissing, Stored

SLICE_ROWS = 500

_FIRST = (UUID(int=0), UUID(int=0))
# Each table with the columns of the sealed text and of the hash that finds it.
TABLES = {
    "hold": ("customer_email", "email_key"),
    "purchase_order": ("customer_email", "email_key"),
    "ticket": ("attendee", "attendee_key"),
}
_OLD = """
SELECT organization_id, id, {sealed}, substring({sealed} FOR %(length)s) <> %(mark)s FROM {table}
WHERE (organization_id, id) > (%(organization_id)s, %(id)s) AND {sealed} IS NOT NULL
ORDER BY organization_id, id LIMIT %(limit)s
"""
# A text of a secret that was not seen yet: without a sort, and with the first one that it finds.
_UNSEEN = """
SELECT {sealed} FROM {table}
WHERE (%(own)s::uuid[] IS NULL OR organization_id = ANY (%(own)s)) AND {sealed} IS NOT NULL
    AND get_byte({sealed}, 0) <> 0 AND substring({sealed} FOR %(length)s) <> ALL (%(seen)s)
LIMIT 1
"""
_MARKS = """
SELECT CASE substring({sealed} FOR 1) WHEN '\\x00' THEN '\\x00' ELSE substring({sealed} FOR %s) END,
    count(*)
FROM {table} WHERE {sealed} IS NOT NULL GROUP BY 1
"""
_RESEAL = """
UPDATE {table} SET {sealed} = %s, {key} = %s
WHERE organization_id = %s AND id = %s AND {sealed} = %s
"""


class PostgresResealing:
    """Works as the owner of the tables, on every organization."""

    def __init__(self, owner_url: str, addresses: Addresses) -> None:
        self._url = owner_url
        self._addresses = addresses

    def refuse_missing_secrets(self, organizations: Sequence[OrganizationId] | None) -> None:
        """Raise SecretMissing if something is stored that these secrets cannot open, and so cannot
        find either, in these organizations or in all. Reads all their rows, once."""
        asked: dict[str, Any] = {"own": organizations, "length": MARK_BYTES, "seen": []}
        try:
            with psycopg.connect(self._url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
                connection.execute(OWNER_AT_WORK)
                for table, (sealed, _) in TABLES.items():
                    query = _UNSEEN.format(table=table, sealed=sealed).encode()
                    while found := connection.execute(query, asked).fetchone():
                        (text,) = found
                        refuse_missing_secret(connection, self._addresses.seal, [text])
                        asked["seen"].append(text[:MARK_BYTES])
        except psycopg.Error as error:
            raise translated(error) from error

    def run(self) -> Iterator[tuple[str, int, int]]:
        """Yields after each slice: the table, how many of its rows were seen and how many sealed
        again. Leaves alone what it cannot open."""
        try:
            with psycopg.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_SECONDS
            ) as connection:
                connection.execute(OWNER_AT_WORK)
                for table in TABLES:
                    yield from self._table(connection, table)
        except psycopg.Error as error:
            raise translated(error) from error

    def finish(self) -> int:
        """How many rows are not sealed with the newest secret, apart from those of a secret that
        was given up. Secrets that no row uses any more need not be known by processes that start.
        Reads whole tables."""
        mark = self._addresses.seal.mark
        try:
            with psycopg.connect(self._url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
                connection.execute(OWNER_AT_WORK)
                rows: Counter[bytes] = Counter()
                for table, (sealed, _) in TABLES.items():
                    query = _MARKS.format(table=table, sealed=sealed).encode()
                    rows.update(dict(connection.execute(query, [MARK_BYTES]).fetchall()))
                retire_secrets(connection, [each[1:] for each in (mark, *rows)])
                for each in lost_secrets(connection):
                    del rows[mark[:1] + each]
                return rows.total() - rows[mark]
        except psycopg.Error as error:
            raise translated(error) from error

    def _table(self, connection: Connection, table: str) -> Iterator[tuple[str, int, int]]:
        sealed, key = TABLES[table]
        names = {"table": table, "sealed": sealed, "key": key}
        mark = self._addresses.seal.mark
        asked: dict[str, Any] = {"mark": mark, "length": len(mark), "limit": SLICE_ROWS}
        after, seen, changed = _FIRST, 0, 0
        restored = self._attendee if table == "ticket" else self._address
        while True:
            place = {"organization_id": after[0], "id": after[1]}
            query = _OLD.format(**names).encode()
            found = connection.execute(query, {**asked, **place}).fetchall()
            if not found:
                return
            changed += _reseal(connection, _RESEAL.format(**names), found, restored)
            seen += len(found)
            after = found[-1][:2]
            yield table, seen, changed

    def _address(self, organization_id: OrganizationId, sealed: bytes) -> Stored:
        return self._addresses.stored(
            organization_id, self._addresses.opened(organization_id, sealed)
        )

    def _attendee(self, organization_id: OrganizationId, sealed: bytes) -> Stored:
        return self._addresses.stored_attendee(
            organization_id, self._addresses.opened_attendee(organization_id, sealed)
        )


def _reseal(
    connection: Connection,
    statement: str,
    found: list[Any],
    restored: Callable[[OrganizationId, bytes], Stored],
) -> int:
    changes = []
    for organization_id, id_, sealed, is_old in found:
        if is_old:
            with suppress(SecretMissing):
                changes.append((*restored(organization_id, sealed), organization_id, id_, sealed))
    if not changes:
        return 0
    with connection.cursor() as cursor:
        cursor.executemany(statement.encode(), changes)
        return cursor.rowcount
