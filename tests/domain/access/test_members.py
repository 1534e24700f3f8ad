"""Roles, and who may change members."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from uuid import uuid4

import pytest

from holdfast.domain.access.members import USERNAME_PATTERN, Grantor, Member, refuse_change
from holdfast.domain.access.roles import MEANING_OF_ROLE, SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import ALL_SCOPES, SCOPE_SETS, Scope
from holdfast.domain.ids import MemberId
from holdfast.domain.refusal_codes import RefusalCode

OPERATOR = Grantor()
MEMBER = Member(
    id=MemberId(uuid4()),
    created_at=datetime(2026, 1, 15, tzinfo=UTC),
    user_id=7,
    username="ann",
    role=Role.OWNER,
    is_active=True,
    is_invited=False,
    last_login_at=None,
)


def having(role: Role) -> Grantor:
    return Grantor(frozenset(scope.value for scope in SCOPES_OF_ROLE[role]))


def code(member: Member, becomes: Role | None, owners: int, grantor: Grantor) -> str | None:
    refusal = refuse_change(member, becomes, owners, grantor)
    return None if refusal is None else refusal.code.value


def test_every_role_is_in_the_tables() -> None:
    assert set(SCOPES_OF_ROLE) == set(MEANING_OF_ROLE) == set(Role)


def test_each_role_may_do_less_than_the_one_before() -> None:
    scopes = [SCOPES_OF_ROLE[role] for role in Role]
    assert all(more > less for more, less in pairwise(scopes))


def test_what_the_roles_may_do() -> None:
    assert SCOPES_OF_ROLE[Role.OWNER] == set(ALL_SCOPES)
    assert SCOPES_OF_ROLE[Role.MANAGER] - SCOPES_OF_ROLE[Role.SUPPORT] == {Scope.CATALOG_WRITE}
    assert SCOPES_OF_ROLE[Role.SUPPORT] - SCOPES_OF_ROLE[Role.VIEWER] == {
        *(Scope.HOLDS_WRITE, Scope.HOLDS_OPERATE, Scope.ORDERS_CANCEL),
        *(Scope.SEATS_BLOCK, Scope.AUDIT_READ),
    }
    assert all(scope.endswith(":read") for scope in SCOPES_OF_ROLE[Role.VIEWER])


def test_whoever_issues_keys_may_do_everything() -> None:
    """A member has no key whose scopes would limit the new one."""
    for scopes in SCOPES_OF_ROLE.values():
        assert Scope.KEYS_WRITE not in scopes or scopes == set(ALL_SCOPES)


@pytest.mark.parametrize("becomes", [None, Role.MANAGER, Role.SUPPORT, Role.VIEWER])
def test_the_last_owner_stays(becomes: Role | None) -> None:
    assert code(MEMBER, becomes, 1, OPERATOR) == RefusalCode.LAST_OWNER
    assert code(MEMBER, becomes, 2, OPERATOR) is None
    assert code(MEMBER, Role.OWNER, 1, OPERATOR) is None


def test_a_username_is_one_line() -> None:
    assert re.search(USERNAME_PATTERN, "ann@river.example")
    assert not re.search(USERNAME_PATTERN, "ann\n")


def test_an_owner_who_cannot_log_in_is_not_the_last_one() -> None:
    """They can be removed, for instance to replace a lost invitation."""
    for each in (replace(MEMBER, is_invited=True), replace(MEMBER, is_active=False)):
        assert code(each, None, 0, OPERATOR) is None
        assert code(each, Role.VIEWER, 1, OPERATOR) is None


def test_others_may_go_though_there_is_one_owner() -> None:
    for role in (Role.MANAGER, Role.SUPPORT, Role.VIEWER):
        assert code(replace(MEMBER, role=role), None, 1, OPERATOR) is None


@pytest.mark.parametrize("own", list(Role))
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("becomes", [*Role, None])
def test_nobody_gives_or_takes_more_than_they_have(
    own: Role, role: Role, becomes: Role | None
) -> None:
    wanted = SCOPES_OF_ROLE[role] | SCOPES_OF_ROLE[becomes or role]
    refused = code(replace(MEMBER, role=role), becomes, 9, having(own))
    assert (refused == RefusalCode.SCOPE_NOT_HELD) == (not wanted <= SCOPES_OF_ROLE[own])


def test_only_owners_forget_people() -> None:
    assert [role for role in Role if Scope.PRIVACY_ERASE in SCOPES_OF_ROLE[role]] == [Role.OWNER]
    assert [name for name, scopes in SCOPE_SETS.items() if Scope.PRIVACY_ERASE in scopes] == ["all"]
