"""A server that reads orders in one statement and their tickets in another. Python imports this
file first when its directory is on PYTHONPATH."""

from dataclasses import replace
from typing import Any

from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain.orders.order import Order
from holdfast.ports.paging import Page

at_once = PostgresOrders.orders


def torn(self: PostgresOrders, *asked: Any) -> Page[Order]:
    orders, tickets = at_once(self, *asked), at_once(self, *asked)
    pairs = zip(orders.items, tickets.items, strict=True)
    return Page(tuple(replace(order, tickets=then.tickets) for order, then in pairs), orders.next)


PostgresOrders.orders = torn  # type: ignore[method-assign]
