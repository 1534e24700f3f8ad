"""Reads checkouts and orders."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import (
    CheckoutId,
    EventId,
    HoldId,
    OrderId,
    OrganizationId,
    SessionId,
    TicketId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Checkout, Order, OrderStatus
from holdfast.domain.values import EmailAddress
from holdfast.ports.paging import Page, PageRequest

# As many as one order may have.
TICKETS_PER_PAGE_MAX = 10_000


@immutable
class SeenCheckout:
    """A checkout and its holds at the time `at`. `order_id` is set once it is complete."""

    checkout: Checkout
    holds: tuple[Hold, ...]
    order_id: OrderId | None
    at: datetime


@immutable
class OrderFilter:
    """`hold_id` and `reference` find what a hold became, `event_id` and `session_id` the orders
    with a ticket of it."""

    hold_id: HoldId | None = None
    reference: str | None = None
    payment_reference: str | None = None
    ticket_code: str | None = None
    status: OrderStatus | None = None
    event_id: EventId | None = None
    session_id: SessionId | None = None
    email: EmailAddress | None = None
    user_id: str | None = None
    # With `email`: not of a person who also has a user id.
    is_without_user: bool | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


class OrderReader(Protocol):
    """Every call blocks and may raise StoreUnavailable."""

    def checkout(
        self, organization_id: OrganizationId, checkout_id: CheckoutId
    ) -> SeenCheckout | None: ...

    def order(self, organization_id: OrganizationId, order_id: OrderId) -> Order | None: ...

    def tickets_with_code(
        self, organization_ids: Sequence[OrganizationId], code: str
    ) -> Sequence[tuple[OrganizationId, TicketId]]:
        """The tickets of these organizations with this code: at most one in each."""
        ...

    def orders(
        self, organization_id: OrganizationId, only: OrderFilter, page: PageRequest
    ) -> Page[Order]:
        """Orders, newest first. A page ends before the order that would exceed
        TICKETS_PER_PAGE_MAX, but has at least one order."""
        ...
