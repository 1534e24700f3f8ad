"""Holder tokens: whether they are still valid, issuing and revoking them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from holdfast.adapters.postgres.answers import PATIENCE, answered_once
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain import refusals
from holdfast.domain.access.tokens import (
    HolderToken,
    IssueToken,
    RevokeTokens,
    TokensRevoked,
    revocation_keys,
)
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import JsonValue
from holdfast.ports.answers import StoredAnswer

# Organizations with origins that a process keeps in memory.
ORGANIZATIONS_MAX = 10_000

# One probe by primary key for each, and another for each revocation.
_SECONDS_LEFT = """
SELECT t.id, extract(epoch FROM k.ends_at - statement_timestamp())::double precision
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::timestamptz[],
    %s::timestamptz[])
    AS t (id, organization_id, key_id, holder_key, other_key, issued_at, expires_at),
    LATERAL (
        SELECT least(t.expires_at, a.expires_at) AS ends_at FROM api_key a
        WHERE a.organization_id = t.organization_id AND a.id = t.key_id AND a.revoked_at IS NULL
    ) AS k
WHERE k.ends_at > statement_timestamp() AND NOT EXISTS (
    SELECT FROM holder_revocation r
    WHERE r.organization_id = t.organization_id AND r.holder_key IN (t.holder_key, t.other_key)
        AND r.revoked_at >= t.issued_at)
"""
_ORIGINS = "SELECT organization_id, origins FROM holdfast_allowed_origins(%s)"
_ASKED = """
SELECT statement_timestamp(), coalesce(o.anonymous_holders, false),
    %(event_id)s::uuid IS NULL OR EXISTS (
        SELECT FROM event e WHERE e.organization_id = o.id AND e.id = %(event_id)s),
    %(session_id)s::uuid IS NULL OR EXISTS (
        SELECT FROM session s WHERE s.organization_id = o.id AND s.id = %(session_id)s)
FROM organization o WHERE o.id = %(organization_id)s
"""
# Sorted by key, so that two requests cannot deadlock. The clock, not the start of the statement,
# gives the time: the statement may have waited for another, and the time must not move back.
_REVOKE = """
INSERT INTO holder_revocation (organization_id, holder_key, revoked_at)
SELECT %s, key, clock_timestamp() FROM unnest(%s::uuid[]) AS key ORDER BY key
ON CONFLICT (organization_id, holder_key) DO UPDATE SET revoked_at = clock_timestamp()
RETURNING revoked_at
"""


class PostgresTokenDirectory:
    """Implements TokenDirectory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seconds_left(self, tokens: Sequence[HolderToken]) -> Mapping[UUID, float]:
        keys = [revocation_keys(token.holder) for token in tokens]
        columns = (
            [token.id for token in tokens],
            [token.organization_id for token in tokens],
            [token.key_id for token in tokens],
            [first for first, *_ in keys],
            [last for *_, last in keys],
            [token.issued_at for token in tokens],
            [token.expires_at for token in tokens],
        )
        organizations = {token.organization_id for token in tokens}
        with self._database.transaction(*organizations) as connection:
            rows = connection.execute(_SECONDS_LEFT, columns).fetchall()
        return {token_id: seconds for token_id, seconds in rows}  # noqa: C416

    def allowed_origins(self) -> Mapping[OrganizationId, frozenset[str]]:
        with self._database.transaction() as connection:
            rows = connection.execute(_ORIGINS, (ORGANIZATIONS_MAX,)).fetchall()
        return {OrganizationId(id_): frozenset(origins) for id_, origins in rows}


class PostgresTokenStore:
    """Implements TokenStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(
        self,
        wanted: IssueToken,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[HolderToken | Refusal], bytes],
    ) -> StoredAnswer[HolderToken | Refusal]:
        with self._database.transaction(wanted.organization_id) as connection:
            return answered_once(
                connection, idempotency, render, lambda: _issue(connection, wanted, origin)
            )

    def revoke(
        self,
        change: RevokeTokens,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[TokensRevoked], bytes],
    ) -> StoredAnswer[TokensRevoked]:
        with self._database.transaction(change.organization_id) as connection:
            return answered_once(
                connection, idempotency, render, lambda: _revoke(connection, change, origin)
            )


def _issue(connection: Connection, wanted: IssueToken, origin: Origin) -> HolderToken | Refusal:
    names = {
        "organization_id": wanted.organization_id,
        "event_id": wanted.event_id,
        "session_id": wanted.session_id,
    }
    ((at, allows_anonymous, is_event, is_session),) = connection.execute(_ASKED, names)
    if not is_event:
        return refusals.invalid_event()
    if not is_session:
        return refusals.invalid_session()
    token = wanted.issued(at, allows_anonymous=allows_anonymous)
    if not isinstance(token, Refusal):
        own, new = wanted.organization_id, _entry(token)
        write_entry(connection, own, "token.issued", origin, old=None, new=new, key_id=token.key_id)
    return token


def _revoke(connection: Connection, change: RevokeTokens, origin: Origin) -> TokensRevoked:
    own, keys = change.organization_id, sorted(revocation_keys(change.holder))
    connection.execute(PATIENCE)
    rows = connection.execute(_REVOKE, (own, keys)).fetchall()
    revoked_at: datetime = max(at for (at,) in rows)
    new: dict[str, JsonValue] = {"revoked_at": revoked_at.isoformat()}
    write_entry(connection, own, "tokens.revoked", origin, old=None, new=new, key_id=change.key_id)
    return TokensRevoked(revoked_at)


def _entry(token: HolderToken) -> dict[str, JsonValue]:
    """Leaves out the holder, because entries outlast a request to be forgotten."""
    limits = {"event_id": token.event_id, "session_id": token.session_id}
    return {
        "token_id": str(token.id),
        "expires_at": token.expires_at.isoformat(),
        **{name: str(value) for name, value in limits.items() if value is not None},
        **({} if token.quantity_max is None else {"quantity_max": token.quantity_max}),
    }
