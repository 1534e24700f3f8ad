"""API keys at the command line, as the owner of the tables."""

from collections.abc import Iterator, Sequence

from holdfast.adapters.postgres.access.keys import PostgresKeyStore
from holdfast.adapters.postgres.access.organizations import (
    OwnerDatabase,
    PostgresOrganizations,
    Side,
)
from holdfast.bootstrap.organizations import UnknownOrganization, operator_origin
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.keys import ApiKey
from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.ports.paging import PageRequest
from holdfast.services.access.keys import KeyRing


class UnknownKey(Exception):
    """There is no API key with this id."""


class KeyDesk:
    """The keys of every organization."""

    def __init__(self, settings: Settings) -> None:
        self._organizations = PostgresOrganizations(settings.required_owner_url)
        self._store = PostgresKeyStore(OwnerDatabase(settings.required_owner_url))
        self._origin = operator_origin()

    def ring(self, organization_id: OrganizationId, mode: Mode | None) -> KeyRing:
        """The keys of the organization with this id, or of its other side."""
        for side in self._sides(organization_id):
            if side.mode is mode or (mode is None and side.organization_id == organization_id):
                return self._ring(side)
        raise UnknownOrganization

    def ring_of(self, key_id: ApiKeyId) -> KeyRing:
        """The keys of the organization that has this one."""
        organization_id = self._organizations.organization_of(key_id)
        if organization_id is None:
            raise UnknownKey
        return self.ring(organization_id, None)

    def keys(self, organization_id: OrganizationId) -> Iterator[tuple[Side, Sequence[ApiKey]]]:
        """Newest first, by side."""
        for side in self._sides(organization_id):
            keys: list[ApiKey] = []
            page = self._store.keys(side.organization_id, PageRequest())
            keys.extend(page.items)
            while page.next is not None:
                page = self._store.keys(side.organization_id, PageRequest(after=page.next))
                keys.extend(page.items)
            yield side, keys

    def _sides(self, organization_id: OrganizationId) -> Sequence[Side]:
        sides = self._organizations.sides(organization_id)
        if not sides:
            raise UnknownOrganization
        return sides

    def _ring(self, side: Side) -> KeyRing:
        return KeyRing(self._store, side.organization_id, side.mode, None, self._origin)
