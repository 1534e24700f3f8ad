"""Signs members in to the API, and out. Every call blocks."""

from dataclasses import replace

from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import MemberSessionId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.ports.members import (
    Credentials,
    MemberSessionStore,
    MemberStore,
    NewSession,
    OpenSession,
    PasswordCheck,
    Refused,
)
from holdfast.services.access.authentication import new_session_secret


@immutable
class SignedInNow:
    session: OpenSession
    secret: str


@immutable
class NotSignedIn:
    """The same for an unknown name, a wrong password or code, and a person who is not a member:
    strangers learn nothing. After too many attempts, `retry_seconds` is set. `needs_two_factor` is
    for people with the right password only."""

    retry_seconds: int | None
    needs_two_factor: bool = False


@immutable
class FrontDesk:
    passwords: PasswordCheck
    members: MemberStore
    sessions: MemberSessionStore

    def sign_in(self, credentials: Credentials, origin: Origin) -> SignedInNow | NotSignedIn:
        """A failure is noted where the person is a member, whatever organization was named. May
        raise StoreError."""
        checked = self.passwords.check(credentials, origin.ip or "", origin.user_agent or "")
        person = checked.person if isinstance(checked, Refused) else checked
        if person is not None:
            origin = replace(origin, actor=f"member:{person.user_id}", acting_user=person.username)
        if isinstance(checked, Refused):
            if person is not None:
                about = (person.user_id, person.username)
                self.members.note(person.organization_ids, "member.login_failed", origin, *about)
            return NotSignedIn(checked.retry_seconds, checked.needs_two_factor)
        secret, hashed = new_session_secret()
        own, session_id = credentials.organization_id, MemberSessionId(uuid7())
        new = NewSession(session_id, own, checked.user_id, hashed)
        opened = self.sessions.open(new, origin)
        return NotSignedIn(None) if opened is None else SignedInNow(opened, secret)

    def sign_out(
        self, organization_id: OrganizationId, session_id: MemberSessionId, origin: Origin
    ) -> None:
        """May raise StoreError."""
        self.sessions.close(organization_id, (session_id,), origin)
