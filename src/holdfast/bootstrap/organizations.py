"""The settings of organizations for commands, which act like a server does."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.bootstrap.settings import Settings
from holdfast.domain.ids import OrganizationId
from holdfast.ports.organizations import OrganizationStore


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
