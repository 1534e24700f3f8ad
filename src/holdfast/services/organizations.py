"""Changes the settings of an organization. Every call blocks."""

from collections.abc import Callable, Mapping

import structlog

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.organizations import ChangeOrganization, SettingValue
from holdfast.domain.policy import PolicyChange
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.organizations import OrganizationOutcome, OrganizationStore
from holdfast.ports.store import StoreError
from holdfast.services.failures import refusal_for

_log = structlog.get_logger("holdfast.organizations")


@immutable
class SettingsEditor:
    """On behalf of one caller."""

    store: OrganizationStore
    organization_id: OrganizationId
    origin: Origin
    idempotency: IdempotencyKey | None = None
    render: Callable[[OrganizationOutcome], bytes] = lambda _: b""

    def change(
        self, policy: PolicyChange | None, settings: Mapping[str, SettingValue | None]
    ) -> StoredAnswer[OrganizationOutcome]:
        """The settings have been checked."""
        change = ChangeOrganization(self.organization_id, policy, settings)
        try:
            return self.store.apply(change, self.origin, self.idempotency, self.render)
        except StoreError as error:
            _log.error("organization.change_failed", problem=error.problem)
            return StoredAnswer(refusal_for(error))
