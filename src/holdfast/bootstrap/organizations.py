"""The settings and members of organizations for commands, which act like a server does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from getpass import getuser

from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.access.members import PostgresMembers
from holdfast.adapters.postgres.access.organizations import PostgresOrganizations, Side
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.members import Grantor, Member
from holdfast.domain.access.scopes import Mode
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.ports.organizations import OrganizationStore
from holdfast.ports.paging import PageRequest
from holdfast.services.access.members import MemberRoll


def operator_origin() -> Origin:
    """Who changes something at the command line, for the audit log."""
    return Origin(actor="operator", request_id=str(uuid7()), acting_user=_login_name())


def _login_name() -> str | None:
    try:
        return getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return None


class UnknownOrganization(Exception):
    """There is no organization with this id."""


@contextmanager
def settings_of(settings: Settings, organization_id: OrganizationId) -> Iterator[OrganizationStore]:
    if not PostgresOrganizations(settings.required_owner_url).sides(organization_id):
        raise UnknownOrganization
    database = Database(settings.required_owner_url, connections_max=1)
    database.open()
    try:
        yield PostgresOrganizationSettings(database)
    finally:
        database.close()


@immutable
class MemberDesk:
    """The members of one organization, by side."""

    sides: Sequence[Side]
    _store: PostgresMembers
    _origin: Origin

    def roll(self, side: Side) -> MemberRoll:
        return MemberRoll(self._store, side.organization_id, Grantor(), self._origin)

    def members(self, side: Side) -> list[Member]:
        """Newest first."""
        page = self._store.members(side.organization_id, PageRequest())
        members = list(page.items)
        while page.next is not None:
            page = self._store.members(side.organization_id, PageRequest(after=page.next))
            members.extend(page.items)
        return members

    def find(self, side: Side, username: str) -> Member | None:
        return next((each for each in self.members(side) if each.username == username), None)


@contextmanager
def members_of(
    settings: Settings, organization_id: OrganizationId, mode: Mode | None
) -> Iterator[MemberDesk]:
    """Both sides of the organization, or only the one with this mode."""
    known = PostgresOrganizations(settings.required_owner_url).sides(organization_id)
    if not known:
        raise UnknownOrganization
    database = Database(settings.required_owner_url, connections_max=1)
    database.open()
    try:
        origin = operator_origin()
        sides = [side for side in known if mode is None or side.mode is mode]
        yield MemberDesk(sides, PostgresMembers(database), origin)
    finally:
        database.close()
