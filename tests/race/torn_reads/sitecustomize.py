"""A server that reads orders in one statement and their tickets in another. Python imports this
file first when its directory is on PYTHONPATH."""

from dataclasses import replace

from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain.ids import OrganizationId
from holdfast.domain.orders.order import Order
from holdfast.ports.orders import OrderFilter
from holdfast.ports.paging import Page, PageRequest

at_once = PostgresOrders.orders


def torn(
    self: PostgresOrders, organization_id: OrganizationId, only: OrderFilter, page: PageRequest
) -> Page[Order]:
    orders, tickets = (at_once(self, organization_id, only, page) for _ in range(2))
    pairs = zip(orders.items, tickets.items, strict=True)
    return Page(tuple(replace(order, tickets=then.tickets) for order, then in pairs), orders.next)


PostgresOrders.orders = torn  # type: ignore[method-assign]
