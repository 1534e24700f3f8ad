"""Members of organizations, their log-ins, and their sessions on the API."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Protocol

from holdfast.domain.access.members import Grantor, InvitedMember, Member, MemberChange
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import MemberId, MemberSessionId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.paging import Page, PageRequest

MemberOutcome = Member | InvitedMember | Refusal


@immutable
class NewSession:
    """A session as stored."""

    id: MemberSessionId
    organization_id: OrganizationId
    user_id: int
    secret_hash: bytes


@immutable
class OpenSession:
    """`member` as they were when they signed in."""

    id: MemberSessionId
    member: Member
    created_at: datetime
    ends_at: datetime


class MemberStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def apply(
        self,
        change: MemberChange,
        grantor: Grantor,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[MemberOutcome], bytes],
    ) -> StoredAnswer[MemberOutcome]:
        """Make the change, write its audit entry and record its answer, in one transaction. The
        sessions of the member end or change on every server process at once."""
        ...

    def member(self, organization_id: OrganizationId, member_id: MemberId) -> Member | None: ...

    def members(self, organization_id: OrganizationId, page: PageRequest) -> Page[Member]: ...

    def note(
        self,
        organization_ids: Collection[OrganizationId],
        action: str,
        origin: Origin,
        user_id: int,
        username: str,
    ) -> None:
        """Write an audit entry about this person into each of the organizations."""
        ...


class MemberSessionStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def open(self, session: NewSession, origin: Origin) -> OpenSession | None:
        """None if the person is not a member of the organization."""
        ...

    def close(
        self,
        organization_id: OrganizationId,
        session_ids: Sequence[MemberSessionId],
        origin: Origin,
    ) -> None: ...


@immutable
class Person:
    """Somebody with an account, and where they are members."""

    user_id: int
    username: str
    organization_ids: tuple[OrganizationId, ...]


@immutable
class Refused:
    """`person` is set if there is one with this name and the failure belongs in the audit. After
    too many attempts, none is checked for `retry_seconds`. `needs_two_factor`: the password was
    right, but the organization requires two-factor authentication, and this person has none."""

    person: Person | None
    retry_seconds: int | None
    needs_two_factor: bool = False


@immutable
class Credentials:
    organization_id: OrganizationId
    username: str
    password: str
    code: str


class PasswordCheck(Protocol):
    def check(self, credentials: Credentials, address: str, user_agent: str) -> Person | Refused:
        """Blocks for as long as it takes to hash a password, and may raise StoreError. Failures
        count together with those in the admin pages."""
        ...
