"""Reading checkouts and orders."""

from typing import Any

from holdfast.adapters.postgres.engine.rows import array
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.orders import statements as sql
from holdfast.adapters.postgres.orders.rows import order_from_row
from holdfast.domain.ids import (
    CheckoutId,
    HoldId,
    OrderId,
    OrganizationId,
)
from holdfast.domain.orders.order import Checkout, Order, revival_id
from holdfast.ports.orders import TICKETS_PER_PAGE_MAX, SeenCheckout
from holdfast.ports.paging import Cursor, Page, PageRequest


class PostgresOrders:
    """Implements OrderReader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def checkout(
        self, organization_id: OrganizationId, checkout_id: CheckoutId
    ) -> SeenCheckout | None:
        with self._database.transaction(organization_id) as connection:
            found = connection.execute(sql.CHECKOUT, (organization_id, checkout_id)).fetchone()
            if found is None:
                return None
            hold_ids, created_at, at = found
            wanted = [*hold_ids, *map(revival_id, hold_ids)]
            rows = connection.execute(sql.HOLDS, (organization_id, array(wanted))).fetchall()
        holds = {hold.id: hold for hold in map(hold_from_row, rows)}
        # A late payment replaced an expired hold: show the replacement.
        shown = tuple(holds.get(revival_id(hold_id)) or holds[hold_id] for hold_id in hold_ids)
        orders = {hold.order_id for hold in shown}
        return SeenCheckout(
            Checkout(organization_id, checkout_id, tuple(hold_ids), created_at),
            shown,
            orders.pop() if len(orders) == 1 else None,
            at,
        )

    def order(self, organization_id: OrganizationId, order_id: OrderId) -> Order | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.ORDER, (organization_id, order_id)).fetchone()
        return None if row is None else order_from_row(row)

    def orders(
        self,
        organization_id: OrganizationId,
        page: PageRequest,
        hold_id: HoldId | None = None,
        payment_reference: str | None = None,
    ) -> Page[Order]:
        conditions = ["o.organization_id = %(organization_id)s"]
        names: dict[str, Any] = {
            "organization_id": organization_id,
            "size": page.size,
            "tickets_max": TICKETS_PER_PAGE_MAX,
        }
        if hold_id is not None:
            conditions.append(sql.OF_HOLD)
            names |= {"hold_id": hold_id, "revival_id": revival_id(hold_id)}
        if payment_reference is not None:
            conditions.append("o.payment_reference = %(payment_reference)s")
            names["payment_reference"] = payment_reference
        if page.after is not None:
            conditions.append("(o.created_at, o.id) < (%(after)s, %(after_id)s)")
            names |= {"after": page.after.at, "after_id": page.after.id}
        query = sql.ORDERS.format(conditions=" AND ".join(conditions))
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(query, names).fetchall()
        items = tuple(order_from_row(order) for _, *order in rows)
        has_more = any(found > len(rows) for found, *_ in rows[:1])
        return Page(items, Cursor(items[-1].created_at, items[-1].id) if has_more else None)
