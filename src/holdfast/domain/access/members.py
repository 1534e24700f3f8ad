"""The members of an organization, and who may change them. Test and live have separate members
(ADR 0043)."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from holdfast.domain import refusals
from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.ids import MemberId, MemberSessionId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue

MEMBERS_MAX = 200
# Failed log-ins of one person that are audited within the time of a lock-out.
FAILURES_NOTED_MAX = 20
INVITATION_SECONDS = 7 * 86_400
USERNAME_LENGTH_MAX = 150
# `$` alone would allow a line break at the end; JavaScript has no `\Z`.
USERNAME_PATTERN = r"^[\w.@+-]+$(?!\n)"
# In every place where a person chooses one.
PASSWORD_LENGTH_MIN = 12
USERNAME_RULE = (
    f"Must be 1 to {USERNAME_LENGTH_MAX} characters: letters, digits and @ . + - _. "
    "An e-mail address is fine."
)
ACTING_USER_LENGTH_MAX = 200


def normal_username(text: str) -> str:
    """Full-width letters, ligatures and the like are the letters that they look like. Raises
    InvalidValue."""
    name = unicodedata.normalize("NFKC", text)
    if len(name) > USERNAME_LENGTH_MAX or re.search(USERNAME_PATTERN, name) is None:
        raise InvalidValue("invalid_username", USERNAME_RULE)
    return name


@immutable
class Member:
    """A person in an organization. `is_invited` until they have chosen a password."""

    id: MemberId
    created_at: datetime
    user_id: int
    username: str
    role: Role
    is_active: bool
    is_invited: bool
    last_login_at: datetime | None


@immutable
class InvitedMember:
    """A new member, and the secret with which they choose their password, which is shown only
    now."""

    member: Member
    invitation: str


@immutable
class SignedIn:
    """The member behind a session of the API."""

    session_id: MemberSessionId
    user_id: int
    username: str
    role: Role


@immutable
class Grantor:
    """The caller who changes members. An operator of the installation (`scopes` is None) may do
    everything; others may grant, change or remove only scopes that they have themselves."""

    scopes: frozenset[str] | None = None

    @property
    def is_operator(self) -> bool:
        return self.scopes is None

    def refusal(self, roles: Iterable[Role]) -> Refusal | None:
        if self.scopes is None:
            return None
        for role in roles:
            missing = sorted(SCOPES_OF_ROLE[role] - self.scopes)
            if missing:
                return refusals.role_above_own(role.value, missing[0])
        return None


@immutable
class AddMember:
    """`invitation_hash` is stored, and `invitation` shown, if the person is invited. An operator
    adds an account that has a password only with `takes_existing`."""

    organization_id: OrganizationId
    id: MemberId
    username: str
    email: str | None
    role: Role
    invitation: str
    invitation_hash: bytes
    takes_existing: bool = False


@immutable
class ChangeRole:
    organization_id: OrganizationId
    id: MemberId
    role: Role


@immutable
class RemoveMember:
    organization_id: OrganizationId
    id: MemberId


MemberChange = AddMember | ChangeRole | RemoveMember


def refuse_change(
    member: Member, becomes: Role | None, owners: int, grantor: Grantor
) -> Refusal | None:
    """`becomes` is None for a removal; `owners` are those who can log in now."""
    if (refusal := grantor.refusal({member.role, becomes or member.role})) is not None:
        return refusal
    is_owner = member.role is Role.OWNER and member.is_active and not member.is_invited
    is_leaving = is_owner and becomes is not Role.OWNER
    return refusals.last_owner() if is_leaving and owners <= 1 else None
