"""Checkouts, orders and tickets: the columns that are read and written, and the values in them."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.engine.rows import ColumnList, Row, ids_array, metadata_json
from holdfast.adapters.postgres.holds.rows import line_seat
from holdfast.domain.ids import HoldId, OrderId, OrganizationId, SessionId, TicketId, TicketTypeId
from holdfast.domain.orders.order import Attendee, Checkout, Order, Ticket
from holdfast.domain.slices import giving_way
from holdfast.domain.values import EmailAddress, Holder, Money, metadata_of

NEW_CHECKOUT = ColumnList("organization_id uuid, id uuid, hold_ids text::uuid[]")


def checkout_row(checkout: Checkout) -> Row:
    return (checkout.organization_id, checkout.id, ids_array(checkout.hold_ids))


NEW_ORDER = ColumnList(
    "organization_id uuid, id uuid, checkout_id uuid, hold_ids text::uuid[], customer_email text,"
    " user_id text, total_minor bigint, currency text, payment_reference text, metadata jsonb"
)


def order_row(order: Order) -> Row:
    email = order.holder.email
    return (
        order.organization_id,
        order.id,
        order.checkout_id,
        ids_array(order.hold_ids),
        email.value if email else None,
        order.holder.user_id,
        order.total.minor,
        order.total.currency,
        order.payment_reference,
        metadata_json(order.metadata),
    )


NEW_TICKET = ColumnList(
    "organization_id uuid, id uuid, order_id uuid, position smallint, hold_id uuid,"
    " session_id uuid, ticket_type_id uuid, seat_id uuid, unit_price_minor bigint, code text,"
    " attendee_name text, attendee_email text"
)


def ticket_rows(order: Order) -> Iterable[Row]:
    for position, ticket in enumerate(giving_way(order.tickets)):
        attendee = ticket.attendee
        email = attendee.email if attendee else None
        yield (
            order.organization_id,
            ticket.id,
            order.id,
            position,
            ticket.hold_id,
            ticket.session_id,
            ticket.ticket_type_id,
            ticket.seat.id if ticket.seat else None,
            ticket.unit_price_minor,
            ticket.code,
            attendee.name if attendee else None,
            email.value if email else None,
        )


ORDER_COLUMNS = """
o.organization_id, o.id, o.checkout_id, o.hold_ids, o.customer_email, o.user_id, o.total_minor,
o.currency, o.payment_reference, o.created_at, o.metadata,
(SELECT json_agg(json_build_array(
     json_build_array(t.id, t.hold_id, t.session_id, t.ticket_type_id), t.code,
     t.unit_price_minor, json_build_array(t.attendee_name, t.attendee_email),
     CASE WHEN t.seat_id IS NOT NULL THEN (
         SELECT json_build_array(s.id, s.block_id, b.name, s.row_name, s.number, s.position,
             s.is_accessible)
         FROM seat s JOIN block b ON b.organization_id = s.organization_id AND b.id = s.block_id
         WHERE s.organization_id = t.organization_id AND s.id = t.seat_id) END)
     ORDER BY t.position)
 FROM ticket t WHERE t.organization_id = o.organization_id AND t.order_id = o.id)
"""


def order_from_row(row: Iterable[Any]) -> Order:
    """Of ORDER_COLUMNS."""
    (
        organization_id,
        id_,
        checkout_id,
        hold_ids,
        customer_email,
        user_id,
        total_minor,
        currency,
        payment_reference,
        created_at,
        metadata,
        tickets,
    ) = row
    return Order(
        organization_id=OrganizationId(organization_id),
        id=OrderId(id_),
        checkout_id=checkout_id,
        hold_ids=tuple(hold_ids),
        holder=Holder(None if customer_email is None else EmailAddress(customer_email), user_id),
        total=Money(total_minor, currency),
        payment_reference=payment_reference,
        created_at=created_at,
        metadata=metadata_of(metadata),
        tickets=tuple(_ticket(*ticket) for ticket in giving_way(tickets)),
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
