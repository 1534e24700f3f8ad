"""Members of organizations: added, changed and removed."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, assert_never

from holdfast.adapters.postgres.access.keys import Transactions
from holdfast.adapters.postgres.answers import PATIENCE, answered_once
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.catalog.statements import Table
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.domain import refusals
from holdfast.domain.access.members import (
    INVITATION_SECONDS,
    MEMBERS_MAX,
    AddMember,
    ChangeRole,
    Grantor,
    InvitedMember,
    Member,
    MemberChange,
    RemoveMember,
    refuse_change,
)
from holdfast.domain.access.roles import Role
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import MemberId, OrganizationId
from holdfast.domain.values import JsonValue
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.members import MemberOutcome
from holdfast.ports.paging import Page, PageRequest

# One change at a time in an organization, so that its owners can be counted.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('holdfast members ' || %s::uuid::text, 0))"
_COUNT = """
SELECT count(*),
    count(*) FILTER (WHERE m.role = 'owner' AND u.is_active AND p.invited_until IS NULL)
FROM member m JOIN auth_user u ON u.id = m.user_id LEFT JOIN person p ON p.user_id = m.user_id
WHERE m.organization_id = %s
"""
_ENLIST = "SELECT user_id, is_ours, is_invited FROM holdfast_enlist(%s, %s, %s, %s)"
# The application's role may not call this one.
_ENLIST_AS_OPERATOR = (
    "SELECT user_id, is_ours, is_invited FROM holdfast_enlist(%s, %s, %s, %s, true)"
)
_IS_MEMBER = """
SELECT FROM member m JOIN auth_user u ON u.id = m.user_id
WHERE m.organization_id = %s AND lower(u.username) = lower(%s)
"""
_ORGANIZATIONS = """
SELECT o.name, o.mode FROM member m JOIN organization o ON o.id = m.organization_id
WHERE m.user_id = %s ORDER BY o.name, o.mode LIMIT 20
"""
_INSERT = "INSERT INTO member (organization_id, id, user_id, role) VALUES (%s, %s, %s, %s)"
_CHANGE = "UPDATE member SET role = %s WHERE organization_id = %s AND id = %s"
_REMOVE = "DELETE FROM member WHERE organization_id = %s AND id = %s"


def _from_row(row: Sequence[Any]) -> Member:
    id_, created_at, user_id, username, role, is_active, is_invited, last_login = row
    return Member(
        id=MemberId(id_),
        created_at=created_at,
        user_id=user_id,
        username=username,
        role=Role(role),
        is_active=is_active,
        is_invited=is_invited,
        last_login_at=last_login,
    )


MEMBERS = Table(
    """
SELECT x.id, x.created_at, x.user_id, u.username, x.role, u.is_active,
    p.invited_until IS NOT NULL, u.last_login
FROM member x JOIN auth_user u ON u.id = x.user_id LEFT JOIN person p ON p.user_id = x.user_id""",
    _from_row,
)


class PostgresMembers:
    """Implements MemberStore."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def apply(
        self,
        change: MemberChange,
        grantor: Grantor,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[MemberOutcome], bytes],
    ) -> StoredAnswer[MemberOutcome]:
        with self._database.transaction(change.organization_id) as connection:
            return answered_once(
                connection,
                idempotency,
                render,
                lambda: _change(connection, change, grantor, origin),
            )

    def member(self, organization_id: OrganizationId, member_id: MemberId) -> Member | None:
        with self._database.transaction(organization_id) as connection:
            return MEMBERS.find(connection, organization_id, member_id)

    def members(self, organization_id: OrganizationId, page: PageRequest) -> Page[Member]:
        with self._database.transaction(organization_id) as connection:
            return MEMBERS.page(connection, organization_id, {}, page)

    def note(
        self,
        organization_ids: Collection[OrganizationId],
        action: str,
        origin: Origin,
        user_id: int,
        username: str,
    ) -> None:
        if not organization_ids:
            return
        about: dict[str, JsonValue] = {"user_id": user_id, "username": username}
        with self._database.transaction(*organization_ids) as connection:
            for own in organization_ids:
                write_entry(connection, own, action, origin, old=None, new=about, catalog_id=own)


def _change(
    connection: Connection, change: MemberChange, grantor: Grantor, origin: Origin
) -> MemberOutcome:
    own = change.organization_id
    connection.execute(PATIENCE)
    connection.execute(_LOCK, (own,))
    ((members, owners),) = connection.execute(_COUNT, (own,))
    match change:
        case AddMember():
            return _add(connection, change, grantor, origin, members)
        case ChangeRole():
            return _change_role(connection, change, grantor, origin, owners)
        case RemoveMember():
            return _remove(connection, change, grantor, origin, owners)
        case _:
            assert_never(change)


def _add(
    connection: Connection, change: AddMember, grantor: Grantor, origin: Origin, members: int
) -> MemberOutcome:
    own = change.organization_id
    if (refusal := grantor.refusal([change.role])) is not None:
        return refusal
    if members >= MEMBERS_MAX:
        return refusals.too_many_members(MEMBERS_MAX)
    if connection.execute(_IS_MEMBER, (own, change.username)).fetchone() is not None:
        return refusals.already_member()
    connection.execute("SAVEPOINT enlisting")
    user_id, is_ours, is_invited = _enlist(connection, change, grantor)
    if not is_ours:
        return refusals.username_taken()
    if grantor.is_operator and not (is_invited or change.takes_existing):
        organizations = _organizations_of(connection, user_id)
        connection.execute("ROLLBACK TO SAVEPOINT enlisting")  # enlisting lets the person log in
        return refusals.account_exists(organizations)
    connection.execute(_INSERT, (own, change.id, user_id, change.role.value))
    member = _get(connection, own, change.id)
    _write(connection, own, "member.added", origin, old=None, new=member)
    return InvitedMember(member, change.invitation) if is_invited else member


def _enlist(connection: Connection, change: AddMember, grantor: Grantor) -> tuple[int, bool, bool]:
    sent = (change.username, change.email or "", change.invitation_hash, INVITATION_SECONDS)
    if not grantor.is_operator:
        (found,) = connection.execute(_ENLIST, sent)
        return found
    connection.execute("SET LOCAL ROLE holdfast_operator")
    (found,) = connection.execute(_ENLIST_AS_OPERATOR, sent)
    connection.execute("SET LOCAL ROLE holdfast_app")
    return found


def _organizations_of(connection: Connection, user_id: int) -> list[str]:
    connection.execute("SET LOCAL ROLE holdfast_operator")
    found = [f"{name} ({mode})" for name, mode in connection.execute(_ORGANIZATIONS, (user_id,))]
    connection.execute("SET LOCAL ROLE holdfast_app")
    return found


def _change_role(
    connection: Connection, change: ChangeRole, grantor: Grantor, origin: Origin, owners: int
) -> MemberOutcome:
    own = change.organization_id
    old = MEMBERS.find(connection, own, change.id)
    if old is None:
        return refusals.member_not_found()
    if (refusal := refuse_change(old, change.role, owners, grantor)) is not None:
        return refusal
    if old.role is change.role:
        return old
    connection.execute(_CHANGE, (change.role.value, own, old.id))
    member = _get(connection, own, old.id)
    _write(connection, own, "member.changed", origin, old=old, new=member)
    return member


def _remove(
    connection: Connection, change: RemoveMember, grantor: Grantor, origin: Origin, owners: int
) -> MemberOutcome:
    own = change.organization_id
    old = MEMBERS.find(connection, own, change.id)
    if old is None:
        return refusals.member_not_found()
    if (refusal := refuse_change(old, None, owners, grantor)) is not None:
        return refusal
    connection.execute(_REMOVE, (own, old.id))
    _write(connection, own, "member.removed", origin, old=old, new=old)
    return old


def _get(connection: Connection, organization_id: OrganizationId, member_id: MemberId) -> Member:
    member = MEMBERS.find(connection, organization_id, member_id)
    assert member is not None
    return member


def _write(
    connection: Connection,
    organization_id: OrganizationId,
    action: str,
    origin: Origin,
    *,
    old: Member | None,
    new: Member,
) -> None:
    before = None if old is None else _entry(old)
    own = organization_id
    write_entry(connection, own, action, origin, old=before, new=_entry(new), catalog_id=own)


def _entry(member: Member) -> dict[str, JsonValue]:
    return {
        "member_id": str(member.id),
        "user_id": member.user_id,
        "username": member.username,
        "role": member.role.value,
    }
