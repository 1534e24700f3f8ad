"""Reads and changes the settings of organizations."""

from collections.abc import Callable
from typing import Protocol

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.organizations import ChangeOrganization, Organization
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.answers import StoredAnswer

OrganizationOutcome = Organization | Refusal


class OrganizationStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def organization(self, organization_id: OrganizationId) -> Organization | None: ...

    def apply(
        self,
        change: ChangeOrganization,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[OrganizationOutcome], bytes],
    ) -> StoredAnswer[OrganizationOutcome]:
        """Make the change, write its audit entry and record its answer, in one transaction. Returns
        when no hold is decided by the old policy any more."""
        ...
