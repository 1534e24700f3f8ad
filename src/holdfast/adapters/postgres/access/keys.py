"""API keys and organizations."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import psycopg
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.connections.connection import (
    CONNECT_TIMEOUT_SECONDS,
    OWNER_AT_WORK,
    translated,
)
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.ports.access import Principal
from holdfast.ports.catalog import NewKey


class PostgresKeys:
    """Implements KeyDirectory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        with self._database.transaction() as connection:
            rows = connection.execute(sql.FIND_API_KEYS, (list(secret_hashes),)).fetchall()
        return {
            row[0]: Principal(OrganizationId(row[1]), ApiKeyId(row[2]), frozenset(row[3]))
            for row in rows
        }


class PostgresOrganizations:
    """Implements OrganizationStore, as the owner of the tables: operators create organizations, the
    API never does."""

    def __init__(self, owner_url: str) -> None:
        self._url = owner_url

    def create(self, organization_id: OrganizationId, name: str, keys: Sequence[NewKey]) -> None:
        """Create what is missing; a known key gets the new scopes."""
        now = datetime.now(UTC)
        try:
            with psycopg.connect(self._url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
                connection.execute(OWNER_AT_WORK)
                connection.execute(
                    "INSERT INTO organization (id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                    (organization_id, name),
                )
                for key in keys:
                    connection.execute(
                        "INSERT INTO api_key"
                        " (organization_id, id, name, prefix, secret_hash, scopes, created_at)"
                        " VALUES (%s, %s, %s, %s, %s, %s, %s)"
                        " ON CONFLICT (organization_id, secret_hash)"
                        " DO UPDATE SET scopes = excluded.scopes",
                        (
                            organization_id,
                            uuid7(),
                            key.name,
                            key.prefix,
                            key.secret_hash,
                            list(key.scopes),
                            now,
                        ),
                    )
        except psycopg.Error as error:
            raise translated(error) from error
