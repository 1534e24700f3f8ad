"""Adds, changes and removes members of an organization. Every call blocks."""

import secrets
from collections.abc import Callable
from hashlib import sha256

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.access.members import (
    AddMember,
    ChangeRole,
    Grantor,
    MemberChange,
    RemoveMember,
)
from holdfast.domain.access.roles import Role
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import MemberId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.members import MemberOutcome, MemberStore
from holdfast.ports.store import StoreError
from holdfast.services.failures import refusal_for

MemberAnswered = StoredAnswer[MemberOutcome]

_log = structlog.get_logger("holdfast.members")


def invitation_hash(secret: str) -> bytes:
    """256 random bits cannot be guessed, so they need neither salt nor a slow hash."""
    return sha256(secret.encode()).digest()


@immutable
class MemberRoll:
    """The members of one organization, on behalf of one caller."""

    store: MemberStore
    organization_id: OrganizationId
    grantor: Grantor
    origin: Origin
    idempotency: IdempotencyKey | None = None
    render: Callable[[MemberOutcome], bytes] = lambda _: b""

    def add(
        self, username: str, email: str | None, role: Role, *, takes_existing: bool = False
    ) -> MemberAnswered:
        """Somebody who has no password yet is invited to choose one."""
        secret = f"hi_{secrets.token_urlsafe(32)}"
        change = AddMember(
            organization_id=self.organization_id,
            id=MemberId(uuid7()),
            username=username,
            email=email,
            role=role,
            invitation=secret,
            invitation_hash=invitation_hash(secret),
            takes_existing=takes_existing,
        )
        return self._apply(change)

    def change_role(self, member_id: MemberId, role: Role) -> MemberAnswered:
        return self._apply(ChangeRole(self.organization_id, member_id, role))

    def remove(self, member_id: MemberId) -> MemberAnswered:
        return self._apply(RemoveMember(self.organization_id, member_id))

    def _apply(self, change: MemberChange) -> MemberAnswered:
        try:
            return self.store.apply(
                change, self.grantor, self.origin, self.idempotency, self.render
            )
        except StoreError as error:
            kind = type(error).__name__
            _log.error("member.change_failed", change=type(change).__name__, problem=kind)
            return StoredAnswer(refusal_for(error))
