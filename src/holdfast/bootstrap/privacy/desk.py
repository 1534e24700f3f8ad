"""Personal data at the command line, as the owner of the tables."""

from collections.abc import Iterator

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations, Side
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.privacy.forgetting import PostgresForgetting
from holdfast.adapters.postgres.privacy.resealing import PostgresResealing
from holdfast.bootstrap.organizations import UnknownOrganization, operator_origin
from holdfast.bootstrap.privacy.addresses import addresses_of, refuse_missing_secrets
from holdfast.bootstrap.settings import Settings
from holdfast.domain.forgetting import Forgotten
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress
from holdfast.services.forgetting import Eraser


def forget(
    settings: Settings, email: EmailAddress, organization_id: OrganizationId | None
) -> Iterator[tuple[Side, Forgotten | Refusal]]:
    """In both sides of the organization with this id, or in all organizations. Raises SecretMissing
    if it could not find everything."""
    addresses = addresses_of(settings)
    organizations = PostgresOrganizations(settings.required_owner_url)
    known = organizations.all() if organization_id is None else organizations.sides(organization_id)
    if not known:
        raise UnknownOrganization
    concerned = None if organization_id is None else [side.organization_id for side in known]
    PostgresResealing(settings.required_owner_url, addresses).refuse_missing_secrets(concerned)
    database = Database(settings.required_owner_url, connections_max=1)
    database.open()
    try:
        store = PostgresForgetting(database, addresses)
        origin = operator_origin()
        for side in known:
            yield side, _forget(Eraser(store, side.organization_id, origin), email)
    finally:
        database.close()


def _forget(eraser: Eraser, email: EmailAddress) -> Forgotten | Refusal:
    """Repeat until nothing is left, because a command is not bound to the time of a request."""
    total = Forgotten()
    while True:
        outcome = eraser.forget(email).outcome
        assert outcome is not None
        if isinstance(outcome, Refusal):
            return outcome
        total = total.plus(outcome)
        if outcome.is_complete:
            return total


def resealing(settings: Settings) -> PostgresResealing:
    """Raises SettingsError if a secret is missing."""
    refuse_missing_secrets(settings, settings.required_owner_url)
    return PostgresResealing(settings.required_owner_url, addresses_of(settings))
