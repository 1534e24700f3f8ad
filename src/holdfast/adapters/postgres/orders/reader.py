"""Reading checkouts and orders."""

from collections.abc import Sequence
from dataclasses import replace
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
from holdfast.ports.orders import TICKETS_PER_PAGE_MAX, OrderFilter, SeenCheckout
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
        # What a late payment made of a lapsed hold stands in its place.
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
        self, organization_id: OrganizationId, only: OrderFilter, page: PageRequest
    ) -> Page[Order]:
        with self._database.transaction(organization_id) as connection:
            if only.reference is not None:
                found = connection.execute(
                    sql.HOLD_OF_REFERENCE, (organization_id, only.reference)
                ).fetchone()
                if found is None or only.hold_id not in {None, found[0]}:
                    return Page((), None)
                only = replace(only, reference=None, hold_id=found[0])
            rows = connection.execute(*orders_query(organization_id, only, page)).fetchall()
        items = tuple(_order(row) for row in rows)
        has_more = bool(rows) and rows[0][-1] > len(rows)
        return Page(items, Cursor(items[-1].created_at, items[-1].id) if has_more else None)


def orders_query(
    organization_id: OrganizationId, only: OrderFilter, page: PageRequest
) -> tuple[str, dict[str, Any]]:
    """Only the conditions that are asked for, so that each combination finds its index."""
    asked = {
        "user_id": only.user_id,
        "email": only.email and only.email.normalized,
        "created_from": only.created_from,
        "created_before": only.created_before,
        "payment_reference": only.payment_reference,
        "hold_ids": only.hold_id and [only.hold_id, revival_id(only.hold_id)],
        "after": page.after and page.after.at,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    names: dict[str, Any] = given | {
        "organization_id": organization_id,
        "event_id": only.event_id,
        "session_id": only.session_id,
        "after_id": page.after and page.after.id,
        "size": page.size,
        "tickets_max": TICKETS_PER_PAGE_MAX,
    }
    asked_for = (
        "x.organization_id = %(organization_id)s",
        *(sql.CONDITIONS[name] for name in given),
    )
    return sql.ORDERS.format(candidates=_candidates(only, " AND ".join(asked_for))), names


def _candidates(only: OrderFilter, conditions: str) -> str:
    if only.event_id is None and only.session_id is None:
        return sql.CANDIDATES.format(conditions=conditions.format(at="x.created_at", id="x.id"))
    of_hold = conditions.format(at="x.confirmed_at", id="x.order_id")
    if only.event_id is None:
        return sql.CANDIDATES_OF_SESSION.format(conditions=of_hold, session="%(session_id)s")
    return sql.CANDIDATES_OF_EVENT.format(
        of_session=sql.CANDIDATES_OF_SESSION.format(conditions=of_hold, session="s.id"),
        narrowed="" if only.session_id is None else "AND s.id = %(session_id)s",
    )


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
