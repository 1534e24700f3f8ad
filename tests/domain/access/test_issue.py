"""What a key may pass on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.access.keys import (
    KEYS_MAX,
    ApiKey,
    Issue,
    KeyStatus,
    overlap_ends_at,
    successor_expires_at,
)
from holdfast.domain.access.scopes import SCOPE_SETS, Mode, Scope, scopes_named
from holdfast.domain.ids import ApiKeyId

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OWN = ApiKey(
    id=ApiKeyId(uuid4()),
    created_at=NOW - HOUR,
    name="own",
    prefix="hk_test_abcd",
    mode=Mode.TEST,
    scopes=("holds:read", "keys:write"),
    status=KeyStatus.VALID,
    expires_at=NOW + HOUR,
    revoked_at=None,
    last_used_at=None,
    replaces=None,
)


def error_of(issue: Issue, valid_keys: int = 1) -> str | None:
    refusal = issue.refusal(valid_keys, NOW)
    return None if refusal is None else refusal.code.value


@pytest.mark.parametrize(
    ("issuer", "scopes", "expires_at", "error"),
    [
        (OWN, ("holds:read",), NOW + HOUR, None),
        (OWN, ("holds:read",), None, None),
        (OWN, ("holds:read", "holds:write"), None, "scope_not_held"),
        (OWN, ("holds:read",), NOW + HOUR + timedelta(seconds=1), "invalid_expiry"),
        (OWN, ("holds:read",), NOW, "invalid_expiry"),
        (replace(OWN, status=KeyStatus.REVOKED), ("holds:read",), None, "key_not_valid"),
        (replace(OWN, status=KeyStatus.EXPIRED), ("holds:read",), None, "key_not_valid"),
        (replace(OWN, expires_at=None), ("holds:read",), NOW + 9 * HOUR, None),
        (None, ("holds:write",), NOW + 9 * HOUR, None),
        (None, ("holds:write",), NOW - HOUR, "invalid_expiry"),
    ],
)
def test_a_key_passes_on_no_more_than_it_has(
    issuer: ApiKey | None, scopes: tuple[str, ...], expires_at: datetime | None, error: str | None
) -> None:
    assert error_of(Issue(issuer, scopes, expires_at)) == error


def test_the_number_of_valid_keys_is_limited() -> None:
    issue = Issue(None, ("holds:read",), None)
    assert error_of(issue, KEYS_MAX - 1) is None
    assert error_of(issue, KEYS_MAX) == "too_many_keys"


def test_a_key_without_an_end_ends_with_its_issuer() -> None:
    assert Issue(OWN, (), None).ends_at == OWN.expires_at
    assert Issue(OWN, (), NOW).ends_at == NOW
    assert Issue(None, (), None).ends_at is None


def test_a_successor_has_the_same_lifetime() -> None:
    assert successor_expires_at(OWN, NOW) == NOW + 2 * HOUR
    assert successor_expires_at(replace(OWN, expires_at=None), NOW) is None
    last = datetime.max.replace(tzinfo=UTC)
    assert successor_expires_at(replace(OWN, expires_at=last), NOW) == last


def test_an_overlap_never_prolongs_a_key() -> None:
    assert overlap_ends_at(OWN, NOW, 60) == NOW + timedelta(seconds=60)
    assert overlap_ends_at(OWN, NOW, 7200) == OWN.expires_at
    assert overlap_ends_at(replace(OWN, expires_at=None), NOW, 7200) == NOW + 2 * HOUR


def test_scopes_are_named_alone_or_in_sets() -> None:
    assert scopes_named(["facts", "holds:read"]) == (Scope.HOLDS_READ, Scope.FACTS_READ)
    assert set(scopes_named(["all"])) == set(Scope)
    assert scopes_named(["operate"]) == scopes_named(SCOPE_SETS["operate"])
    with pytest.raises(ValueError, match="holds:reed"):
        scopes_named(["holds:reed"])
