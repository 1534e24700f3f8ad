"""Reading checkouts and orders."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.engine.rows import Row, array, hold_from_row, line_seat
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.orders import statements as sql
from holdfast.domain.ids import (
    CheckoutId,
    HoldId,
    OrderId,
    OrganizationId,
    SessionId,
    TicketId,
    TicketTypeId,
)
from holdfast.domain.orders.order import Attendee, Checkout, Order, Ticket, revival_id
from holdfast.domain.slices import giving_way
from holdfast.domain.values import EmailAddress, Holder, Money
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
        return None if row is None else _order(row)

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
        items = tuple(_order(row) for row in rows)
        has_more = bool(rows) and rows[0][-1] > len(rows)
        return Page(items, Cursor(items[-1].created_at, items[-1].id) if has_more else None)


def _order(row: Row) -> Order:
    return Order(
        organization_id=OrganizationId(row[0]),
        id=OrderId(row[1]),
        checkout_id=row[2],
        hold_ids=tuple(row[3]),
        holder=Holder(EmailAddress(row[4]) if row[4] is not None else None, row[5]),
        total=Money(row[6], row[7]),
        payment_reference=row[8],
        created_at=row[9],
        tickets=tuple(_ticket(*ticket) for ticket in giving_way(row[10])),
    )


def _ticket(
    ids: Sequence[str],
    code: str,
    price: int,
    attendee: tuple[str | None, str | None],
    seat: Sequence[Any] | None,
) -> Ticket:
    ticket_id, hold_id, session_id, ticket_type_id = map(UUID, ids)
    name, email = attendee
    is_named = name is not None or email is not None
    return Ticket(
        TicketId(ticket_id),
        code,
        HoldId(hold_id),
        SessionId(session_id),
        TicketTypeId(ticket_type_id),
        price,
        None if seat is None else line_seat(*seat),
        Attendee(name, EmailAddress(email) if email else None) if is_named else None,
    )
