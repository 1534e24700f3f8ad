"""Organizations, for operators at the command line: they create tenants, so they connect as the
owner of the tables."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

import psycopg
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.connections.connection import (
    CONNECT_TIMEOUT_SECONDS,
    OWNER_AT_WORK,
    Connection,
    translated,
)
from holdfast.domain.access.keys import NewSecret
from holdfast.domain.access.scopes import ALL_SCOPES, Mode
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.immutable import immutable

_INSERT_KEY = """
INSERT INTO api_key (organization_id, id, prefix, secret_hash, name, scopes)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (organization_id, secret_hash) DO UPDATE SET scopes = excluded.scopes
"""
_COMPLETE = """
INSERT INTO organization (id, name, mode, account_id)
SELECT gen_random_uuid(), name, 'live', account_id FROM organization WHERE id = %s AND mode = 'test'
ON CONFLICT (account_id, mode) DO NOTHING
"""
_ALL = "SELECT id, name, mode FROM organization ORDER BY account_id, mode"
_SIDES = """
SELECT o.id, o.name, o.mode FROM organization o
WHERE o.account_id = (SELECT account_id FROM organization WHERE id = %s) ORDER BY o.mode
"""
# One probe of an index per organization: every index leads with it.
_WITH = """
SELECT o.id, o.name, o.mode FROM organization o
WHERE EXISTS (SELECT FROM {table} x WHERE x.organization_id = o.id AND x.{column} = %s)
ORDER BY o.account_id, o.mode LIMIT %s
"""
SIDES_FOUND_MAX = 20


@immutable
class Side:
    """An organization in one mode."""

    organization_id: OrganizationId
    name: str
    mode: Mode


class OwnerDatabase:
    """Short transactions of a command. They see every organization."""

    def __init__(self, owner_url: str) -> None:
        self._url = owner_url

    @contextmanager
    def transaction(self, *_: OrganizationId) -> Iterator[Connection]:
        try:
            with psycopg.connect(self._url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
                connection.execute(OWNER_AT_WORK)
                yield connection
        except psycopg.Error as error:
            raise translated(error) from error


class PostgresOrganizations:
    def __init__(self, owner_url: str) -> None:
        self._database = OwnerDatabase(owner_url)

    def create(
        self,
        organization_id: OrganizationId,
        name: str,
        keys: Sequence[NewSecret],
        *,
        scopes: Sequence[str] = ALL_SCOPES,
    ) -> None:
        """Create a test side with its first keys and an empty live side, or what is missing of
        them. A known key gets these scopes."""
        with self._database.transaction() as connection:
            _insert(connection, Side(organization_id, name, Mode.TEST), uuid7(), keys, scopes)
            connection.execute(_COMPLETE, (organization_id,))

    def create_account(self, sides: Sequence[Side], key: NewSecret, mode: Mode) -> None:
        """Create both sides of an organization, and the first key of the one with this mode."""
        account_id = uuid7()
        with self._database.transaction() as connection:
            for side in sides:
                keys = [key] if side.mode is mode else []
                _insert(connection, side, account_id, keys, ALL_SCOPES)

    def all(self) -> Sequence[Side]:
        with self._database.transaction() as connection:
            rows = connection.execute(_ALL).fetchall()
        return [Side(OrganizationId(id_), name, Mode(mode)) for id_, name, mode in rows]

    def sides(self, organization_id: OrganizationId) -> Sequence[Side]:
        """Both sides of the account, given the id of either; empty if there is no such id."""
        with self._database.transaction() as connection:
            rows = connection.execute(_SIDES, (organization_id,)).fetchall()
        return [Side(OrganizationId(id_), name, Mode(mode)) for id_, name, mode in rows]

    def with_hold(self, hold_id: UUID | None, reference: str | None) -> Sequence[Side]:
        """The organizations that have a hold with this id or else this reference."""
        if hold_id is None:
            return self._with("hold", "reference", reference)
        return self._with("hold", "id", hold_id)

    def with_order(self, order_id: UUID) -> Sequence[Side]:
        return self._with("purchase_order", "id", order_id)

    def with_session(self, session_id: UUID) -> Sequence[Side]:
        return self._with("session", "id", session_id)

    def _with(self, table: str, column: str, value: UUID | str | None) -> Sequence[Side]:
        query = _WITH.format(table=table, column=column).encode()
        with self._database.transaction() as connection:
            rows = connection.execute(query, (value, SIDES_FOUND_MAX)).fetchall()
        return [Side(OrganizationId(id_), name, Mode(mode)) for id_, name, mode in rows]

    def organization_of(self, key_id: ApiKeyId) -> OrganizationId | None:
        with self._database.transaction() as connection:
            query = "SELECT organization_id FROM api_key WHERE id = %s"
            row = connection.execute(query, (key_id,)).fetchone()
        return None if row is None else OrganizationId(row[0])


def _insert(
    connection: Connection,
    side: Side,
    account_id: UUID,
    keys: Sequence[NewSecret],
    scopes: Sequence[str],
) -> None:
    connection.execute(
        "INSERT INTO organization (id, name, mode, account_id) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (side.organization_id, side.name, side.mode.value, account_id),
    )
    for key in keys:
        stored = (key.key_id, key.prefix, key.secret_hash)
        values = (side.organization_id, *stored, "first key", list(map(str, scopes)))
        connection.execute(_INSERT_KEY, values)
