"""Reads the reservations of this Inventory Service. Every call blocks and may raise StoreError."""

from typing import Protocol

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.paging import Page, PageRequest


class ReservationReader(Protocol):
    def reservations(
        self,
        organization_id: OrganizationId,
        status: ReservationStatus | None,
        page: PageRequest,
    ) -> Page[Hold]:
        """Oldest first. One that was made while a page was read may be missing there."""
        ...

    def organizations_of(self, session_id: SessionId) -> tuple[OrganizationId, ...]:
        """The organizations with a session of this id: hardly ever more than one."""
        ...
