"""Holder tokens in PostgreSQL: by whose clock they end, and what ends them."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.access.tokens import PostgresTokenDirectory, PostgresTokenStore
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.pruner import PostgresPruning
from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import HolderToken, RevokeTokens, TokensRevoked
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.values import EmailAddress, Holder
from tests.support.databases import server_url
from tests.support.platform import new_platform

OFFLINE = "http://127.0.0.1:1"
ORIGIN = Origin("test", "request")
ADA = Holder(EmailAddress("Ada@example.com"), "ada")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(server_url(database_url))
    made.open()
    yield made
    made.close()


@pytest.fixture
def token(database_url: str) -> HolderToken:
    """A token of a new organization and its first key."""
    platform = new_platform(OFFLINE, database_url)
    organization_id = OrganizationId(UUID(platform.organization_id))
    with psycopg.connect(database_url) as owner:
        query = "SELECT id, now() FROM api_key WHERE organization_id = %s"
        row = owner.execute(query, [organization_id]).fetchone()
    assert row is not None
    key_id, now = row
    ends_at = now + timedelta(minutes=30)
    return HolderToken(uuid4(), organization_id, Mode.TEST, ApiKeyId(key_id), ADA, now, ends_at)


def is_valid(database: Database, token: HolderToken) -> bool:
    return token.id in PostgresTokenDirectory(database).seconds_left([token])


def revoke(database: Database, token: HolderToken, holder: Holder) -> TokensRevoked:
    change = RevokeTokens(token.organization_id, token.key_id, holder)
    outcome = PostgresTokenStore(database).revoke(change, ORIGIN, None, lambda _: b"").outcome
    assert outcome is not None
    return outcome


def test_a_token_lasts_until_it_or_its_key_ends(
    database: Database, database_url: str, token: HolderToken
) -> None:
    directory = PostgresTokenDirectory(database)
    assert 1700 < directory.seconds_left([token])[token.id] <= 1800
    ended = replace(token, expires_at=token.issued_at)
    others = replace(token, key_id=ApiKeyId(uuid4()))
    assert not directory.seconds_left([ended])
    assert not directory.seconds_left([others])
    for change, is_left in (
        ("expires_at = now() + interval '10 seconds'", True),
        ("expires_at = now()", False),
        ("expires_at = NULL, revoked_at = now()", False),
    ):
        with psycopg.connect(database_url) as owner:
            query = f"UPDATE api_key SET {change} WHERE id = %s"
            owner.execute(query.encode(), [token.key_id])
        left = directory.seconds_left([token])
        assert (token.id in left) is is_left
        assert all(seconds <= 10 for seconds in left.values())


@pytest.mark.parametrize(
    "revoked",
    [Holder(user_id="ada"), Holder(EmailAddress("ada@EXAMPLE.com")), ADA],
    ids=["by user", "by address", "by both"],
)
def test_a_revocation_ends_what_was_issued_before(
    database: Database, token: HolderToken, revoked: Holder
) -> None:
    at = revoke(database, token, revoked).revoked_at
    assert not is_valid(database, token)
    assert not is_valid(database, replace(token, issued_at=at))
    assert is_valid(database, replace(token, issued_at=at + timedelta(microseconds=1)))
    assert is_valid(database, replace(token, holder=Holder(user_id="grace")))


def test_a_revocation_concerns_one_organization(
    database: Database, database_url: str, token: HolderToken
) -> None:
    platform = new_platform(OFFLINE, database_url)
    other = replace(token, organization_id=OrganizationId(UUID(platform.organization_id)))
    revoke(database, other, ADA)
    assert is_valid(database, token)


def test_old_revocations_are_pruned(
    database: Database, database_url: str, token: HolderToken
) -> None:
    revoke(database, token, ADA)
    pruning = PostgresPruning(database)
    pruning.prune_revocations(0, 1000)
    assert not is_valid(database, token), "nothing younger than a day is deleted"
    with psycopg.connect(database_url) as owner:
        owner.execute(
            "UPDATE holder_revocation SET revoked_at = now() - interval '25 hours'"
            " WHERE organization_id = %s",
            [token.organization_id],
        )
    assert pruning.prune_revocations(86_400, 1000) >= 2
    with psycopg.connect(database_url) as owner:
        query = "SELECT count(*) FROM holder_revocation WHERE organization_id = %s"
        assert owner.execute(query, [token.organization_id]).fetchone() == (0,)
