"""The availability of a session whose tickets the Inventory Service counts."""

from dataclasses import replace

from holdfast.domain.catalog.model import SessionAvailability, TicketTypeAvailability
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.ports.catalog import AvailabilityReader
from holdfast.ports.inventory.service import Inventory, InventoryUnavailable, Item
from holdfast.ports.store import StoreUnavailable
from holdfast.services.inventory.circuit import Circuit


@immutable
class RemoteAvailability:
    """Names, prices and the sale come from this service, the counts from the Inventory Service."""

    catalog: AvailabilityReader
    inventory: Inventory
    circuit: Circuit

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None:
        ours = self.catalog.availability(organization_id, session_id)
        if ours is None:
            return None
        of_type = {item.ticket_type_id: item for item in self._items(session_id)}
        counted = [_counted(each, of_type.get(each.ticket_type_id)) for each in ours.ticket_types]
        return replace(ours, ticket_types=tuple(counted))

    def _items(self, session_id: SessionId) -> tuple[Item, ...]:
        """Once the circuit is open, readers no longer wait for a service that hangs."""
        if not self.circuit.may_try():
            raise StoreUnavailable("the Inventory Service: the circuit is open")
        try:
            items = self.inventory.items(session_id)
        except InventoryUnavailable as error:
            self.circuit.failed()
            raise StoreUnavailable(f"the Inventory Service: {error.reason}") from None
        self.circuit.succeeded()
        return items or ()


def _counted(ours: TicketTypeAvailability, item: Item | None) -> TicketTypeAvailability:
    if item is None:
        return replace(ours, total=0, held=0, sold=0, available=0)
    return replace(
        ours, total=item.total, held=item.held, sold=item.committed, available=item.available
    )
