"""API keys: looked up by their hash, issued, rotated and revoked."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, assert_never

from holdfast.adapters.postgres.answers import PATIENCE, answered_once
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.catalog.statements import Table
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain import refusals
from holdfast.domain.access.keys import (
    ApiKey,
    CreateKey,
    Issue,
    KeyChange,
    KeyStatus,
    RevokeKey,
    RotateKey,
    overlap_ends_at,
    successor,
)
from holdfast.domain.access.members import SignedIn
from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.sessions import IDLE_SECONDS
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import ApiKeyId, MemberSessionId, OrganizationId
from holdfast.domain.values import JsonValue
from holdfast.ports.access import KeyOutcome, Principal
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.paging import Page, PageRequest

_FIND = """
SELECT wanted.secret_hash, found.organization_id, found.id, found.scopes, found.mode,
    found.expires_in
FROM unnest(%s::bytea[]) AS wanted (secret_hash),
    LATERAL holdfast_find_api_key(wanted.secret_hash) AS found
"""
_NOTE_USE = "SELECT holdfast_note_key_use(%s)"
_FIND_SESSIONS = """
SELECT wanted.secret_hash, found.organization_id, found.id, found.user_id, found.username,
    found.role, found.mode, found.expires_in
FROM unnest(%s::bytea[]) AS wanted (secret_hash),
    LATERAL holdfast_find_member_session(wanted.secret_hash, %s) AS found
"""
_NOTE_SESSION_USE = "SELECT holdfast_note_session_use(%s)"

# One change at a time in an organization, so that its keys can be counted.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('holdfast keys ' || %s::uuid::text, 0))"
_VALID = "x.revoked_at IS NULL AND (x.expires_at IS NULL OR x.expires_at > statement_timestamp())"
_COUNT = f"""
SELECT statement_timestamp(), count(*) FROM api_key x WHERE x.organization_id = %s AND {_VALID}
"""  # noqa: S608
_INSERT = """
INSERT INTO api_key
    (organization_id, id, prefix, secret_hash, name, scopes, created_at, expires_at, replaces)
VALUES (%s, %s, %s, %s, %s, %s, statement_timestamp(), %s, %s)
"""
_EXPIRE = "UPDATE api_key SET expires_at = %s WHERE organization_id = %s AND id = %s"
_REVOKE = (
    "UPDATE api_key SET revoked_at = statement_timestamp() WHERE organization_id = %s AND id = %s"
)


def _from_row(row: Sequence[Any]) -> ApiKey:
    id_, created_at, name, prefix, mode, scopes, status, *times = row
    expires_at, revoked_at, last_used_at, replaces = times
    return ApiKey(
        id=ApiKeyId(id_),
        created_at=created_at,
        name=name,
        prefix=prefix,
        mode=Mode(mode),
        scopes=tuple(scopes),
        status=KeyStatus(status),
        expires_at=expires_at,
        revoked_at=revoked_at,
        last_used_at=last_used_at,
        replaces=replaces,
    )


_KEYS = Table(
    f"""
SELECT x.id, x.created_at, x.name, x.prefix, o.mode, x.scopes,
    CASE WHEN x.revoked_at IS NOT NULL THEN 'revoked' WHEN {_VALID} THEN 'valid' ELSE 'expired' END,
    x.expires_at, x.revoked_at, x.last_used_at, x.replaces
FROM api_key x JOIN organization o ON o.id = x.organization_id""",  # noqa: S608
    _from_row,
)


class PostgresKeys:
    """Implements KeyDirectory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        with self._database.transaction() as connection:
            rows = connection.execute(_FIND, (list(secret_hashes),)).fetchall()
            if rows:
                connection.execute(_NOTE_USE, ([row[2] for row in rows],))
            found = {row[0]: _key_holder(row) for row in rows}
            others = [each for each in secret_hashes if each not in found]
            return {**found, **_signed_in(connection, others)} if others else found


def _key_holder(row: Sequence[Any]) -> Principal:
    _, organization_id, id_, scopes, mode, expires_in = row
    return Principal(
        OrganizationId(organization_id), ApiKeyId(id_), frozenset(scopes), Mode(mode), expires_in
    )


def _signed_in(connection: Connection, hashes: Sequence[bytes]) -> dict[bytes, Principal]:
    """Members and their roles as they are now."""
    rows = connection.execute(_FIND_SESSIONS, (list(hashes), IDLE_SECONDS)).fetchall()
    if rows:
        connection.execute(_NOTE_SESSION_USE, ([row[2] for row in rows],))
    return {
        hashed: Principal(
            OrganizationId(organization_id),
            None,
            frozenset(scope.value for scope in SCOPES_OF_ROLE[Role(role)]),
            Mode(mode),
            expires_in,
            member=SignedIn(MemberSessionId(id_), user_id, username, Role(role)),
        )
        for hashed, organization_id, id_, user_id, username, role, mode, expires_in in rows
    }


class Transactions(Protocol):
    """The server's database, or the owner's."""

    def transaction(self, *organizations: OrganizationId) -> AbstractContextManager[Connection]: ...


class PostgresKeyStore:
    """Implements KeyStore."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def apply(
        self,
        change: KeyChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[KeyOutcome], bytes],
    ) -> StoredAnswer[KeyOutcome]:
        with self._database.transaction(change.organization_id) as connection:
            return answered_once(
                connection, idempotency, render, lambda: _change(connection, change, origin)
            )

    def key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey | None:
        with self._database.transaction(organization_id) as connection:
            return _KEYS.find(connection, organization_id, key_id)

    def keys(self, organization_id: OrganizationId, page: PageRequest) -> Page[ApiKey]:
        with self._database.transaction(organization_id) as connection:
            return _KEYS.page(connection, organization_id, {}, page)


def _change(connection: Connection, change: KeyChange, origin: Origin) -> KeyOutcome:
    connection.execute(PATIENCE)
    connection.execute(_LOCK, (change.organization_id,))
    ((at, valid_keys),) = connection.execute(_COUNT, (change.organization_id,))
    match change:
        case CreateKey():
            return _create(connection, change, origin, valid_keys, at)
        case RotateKey():
            return _rotate(connection, change, origin, valid_keys, at)
        case RevokeKey():
            return _revoke(connection, change, origin)
        case _:
            assert_never(change)


def _create(
    connection: Connection, change: CreateKey, origin: Origin, valid_keys: int, at: datetime
) -> KeyOutcome:
    own = change.organization_id
    issue = Issue(_issuer(connection, change), change.scopes, change.expires_at)
    refusal = issue.refusal(valid_keys, at)
    if refusal is not None:
        return refusal
    key = _insert(connection, change, change.name, issue)
    write_entry(connection, own, "key.created", origin, old=None, new=_entry(key), key_id=key.id)
    return key


def _rotate(
    connection: Connection, change: RotateKey, origin: Origin, valid_keys: int, at: datetime
) -> KeyOutcome:
    own = change.organization_id
    old = _KEYS.find(connection, own, change.key_id)
    if old is None:
        return refusals.key_not_found()
    if old.status is not KeyStatus.VALID:
        return refusals.key_not_valid(old.status.value)
    issue = successor(old, _issuer(connection, change), change.expires_at, at)
    refusal = issue.refusal(valid_keys, at)
    if refusal is not None:
        return refusal
    ends_at = overlap_ends_at(old, at, change.overlap_seconds)
    connection.execute(_EXPIRE, (ends_at, own, old.id))
    key = _insert(connection, change, old.name, issue, replaces=old.id)
    write_entry(
        connection, own, "key.rotated", origin, old=_entry(old), new=_entry(key), key_id=old.id
    )
    return key


def _issuer(connection: Connection, change: CreateKey | RotateKey) -> ApiKey | None:
    """As it is now: the request began with what it was then."""
    if change.issuer_id is None:
        return None
    return _get(connection, change.organization_id, change.issuer_id)


def _revoke(connection: Connection, change: RevokeKey, origin: Origin) -> KeyOutcome:
    """Revoking a revoked key again changes nothing."""
    old = _KEYS.find(connection, change.organization_id, change.key_id)
    if old is None:
        return refusals.key_not_found()
    if old.status is KeyStatus.REVOKED:
        return old
    own = change.organization_id
    connection.execute(_REVOKE, (own, old.id))
    key = _get(connection, own, old.id)
    write_entry(
        connection, own, "key.revoked", origin, old=_entry(old), new=_entry(key), key_id=key.id
    )
    return key


def _insert(
    connection: Connection,
    change: CreateKey | RotateKey,
    name: str,
    issue: Issue,
    *,
    replaces: ApiKeyId | None = None,
) -> ApiKey:
    secret = change.secret
    stored = (change.organization_id, secret.key_id, secret.prefix, secret.secret_hash)
    values = (*stored, name, list(issue.scopes), issue.ends_at, replaces)
    connection.execute(_INSERT, values)
    return _get(connection, change.organization_id, secret.key_id)


def _get(connection: Connection, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey:
    key = _KEYS.find(connection, organization_id, key_id)
    assert key is not None
    return key


def _entry(key: ApiKey) -> dict[str, JsonValue]:
    return {
        "key_id": str(key.id),
        "name": key.name,
        "scopes": list(key.scopes),
        "status": key.status.value,
        **({} if key.expires_at is None else {"expires_at": key.expires_at.isoformat()}),
    }
