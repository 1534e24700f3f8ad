"""Reads checkouts and orders."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import CheckoutId, HoldId, OrderId, OrganizationId
from holdfast.domain.orders.order import Checkout, Order
from holdfast.ports.paging import Page, PageRequest

# As many as one order may have.
TICKETS_PER_PAGE_MAX = 10_000


@dataclass(frozen=True, slots=True)
class SeenCheckout:
    """A checkout and its holds at the time `at`. `order_id` is set once it is complete."""

    checkout: Checkout
    holds: tuple[Hold, ...]
    order_id: OrderId | None
    at: datetime


class OrderReader(Protocol):
    """Every call blocks and may raise StoreUnavailable."""

    def checkout(
        self, organization_id: OrganizationId, checkout_id: CheckoutId
    ) -> SeenCheckout | None: ...

    def order(self, organization_id: OrganizationId, order_id: OrderId) -> Order | None: ...

    def orders(
        self,
        organization_id: OrganizationId,
        page: PageRequest,
        hold_id: HoldId | None = None,
        payment_reference: str | None = None,
    ) -> Page[Order]:
        """Orders, newest first. A page ends before the order that would exceed
        TICKETS_PER_PAGE_MAX, but has at least one order."""
        ...
