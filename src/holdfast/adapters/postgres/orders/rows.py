"""Checkouts, orders and tickets: the columns that are read and written, and the values in them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.engine.rows import ColumnList, Row, ids_array, metadata_json
from holdfast.adapters.postgres.holds.rows import line_seat
from holdfast.domain.ids import HoldId, OrderId, OrganizationId, SessionId, TicketId, TicketTypeId
from holdfast.domain.orders.order import Attendee, Checkout, Order, Ticket, Voiding
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.slices import giving_way
from holdfast.domain.values import Holder, Money, metadata_of
from holdfast.ports.privacy.addresses import Addresses

NEW_CHECKOUT = ColumnList("organization_id uuid, id uuid, hold_ids text::uuid[]")


def checkout_row(checkout: Checkout) -> Row:
    return (checkout.organization_id, checkout.id, ids_array(checkout.hold_ids))


NEW_ORDER = ColumnList(
    "organization_id uuid, id uuid, checkout_id uuid, hold_ids text::uuid[], customer_email bytea,"
    " email_key uuid, user_id text, total_minor bigint, currency text, payment_reference text,"
    " metadata jsonb"
)


def order_row(addresses: Addresses, order: Order) -> Row:
    return (
        order.organization_id,
        order.id,
        order.checkout_id,
        ids_array(order.hold_ids),
        *addresses.stored(order.organization_id, order.holder.email),
        order.holder.user_id,
        order.total.minor,
        order.total.currency,
        order.payment_reference,
        metadata_json(order.metadata),
    )


NEW_TICKET = ColumnList(
    "organization_id uuid, id uuid, order_id uuid, position smallint, hold_id uuid,"
    " session_id uuid, ticket_type_id uuid, seat_id uuid, unit_price_minor bigint, code text,"
    " attendee bytea, attendee_key uuid"
)


def ticket_rows(addresses: Addresses, order: Order) -> Iterable[Row]:
    for position, ticket in enumerate(giving_way(order.tickets)):
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
            *addresses.stored_attendee(order.organization_id, ticket.attendee),
        )


CHANGED_ORDER = ColumnList("organization_id uuid, id uuid, status text, version integer")


def changed_order_row(order: Order) -> Row:
    return (order.organization_id, order.id, order.status.value, order.version)


VOID_TICKET = ColumnList(
    "organization_id uuid, id uuid, voided_at timestamptz, voided_version integer,"
    " void_reason text, refund_reference text"
)


def void_ticket_rows(change: OrderChange) -> Iterator[Row]:
    for ticket in giving_way(change.tickets):
        void = ticket.voided
        assert void is not None, "only void tickets change"
        state = (void.at, void.version, void.reason, void.refund_reference)
        yield (change.after.organization_id, ticket.id, *state)


ORDER_COLUMNS = """
o.organization_id, o.id, o.checkout_id, o.hold_ids, o.customer_email, o.user_id, o.total_minor,
o.currency, o.payment_reference, o.created_at, o.metadata, o.version,
(SELECT array_agg(h.reference ORDER BY named.number)
 FROM unnest(o.hold_ids) WITH ORDINALITY AS named (hold_id, number)
 JOIN hold h ON h.organization_id = o.organization_id AND h.id = named.hold_id),
(SELECT array_agg(found.event_id ORDER BY found.number) FROM (
     SELECT s.event_id, min(named.number) AS number
     FROM unnest(o.hold_ids) WITH ORDINALITY AS named (hold_id, number)
     JOIN hold h ON h.organization_id = o.organization_id AND h.id = named.hold_id
     JOIN session s ON s.organization_id = h.organization_id AND s.id = h.session_id
     GROUP BY s.event_id) found),
(SELECT json_agg(json_build_array(
     json_build_array(t.id, t.hold_id, t.session_id, t.ticket_type_id), t.code,
     t.unit_price_minor, encode(t.attendee, 'hex'),
     CASE WHEN t.voided_at IS NOT NULL THEN
         json_build_array(t.voided_at, t.voided_version, t.void_reason, t.refund_reference) END,
     CASE WHEN t.seat_id IS NOT NULL THEN (
         SELECT json_build_array(s.id, s.block_id, b.name, s.row_name, s.number, s.position,
             s.is_accessible)
         FROM seat s JOIN block b ON b.organization_id = s.organization_id AND b.id = s.block_id
         WHERE s.organization_id = t.organization_id AND s.id = t.seat_id) END)
     ORDER BY t.position)
 FROM ticket t WHERE t.organization_id = o.organization_id AND t.order_id = o.id)
"""


def order_from_row(addresses: Addresses, row: Iterable[Any]) -> Order:
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
        version,
        references,
        event_ids,
        tickets,
    ) = row
    readable = addresses.readable_attendee
    return Order(
        organization_id=OrganizationId(organization_id),
        id=OrderId(id_),
        checkout_id=checkout_id,
        hold_ids=tuple(hold_ids),
        holder=Holder(addresses.opened(organization_id, customer_email), user_id),
        total=Money(total_minor, currency),
        payment_reference=payment_reference,
        created_at=created_at,
        metadata=metadata_of(metadata),
        version=version,
        references=tuple(references),
        event_ids=tuple(event_ids),
        tickets=tuple(
            _ticket(ids, code, price, readable(organization_id, _bytes(attendee)), *state)
            for ids, code, price, attendee, *state in giving_way(tickets)
        ),
    )


def _ticket(
    ids: Sequence[str],
    code: str,
    price: int,
    attendee: Attendee | None,
    *state: Sequence[Any] | None,
) -> Ticket:
    ticket_id, hold_id, session_id, ticket_type_id = map(UUID, ids)
    voided, seat = state
    return Ticket(
        TicketId(ticket_id),
        code,
        HoldId(hold_id),
        SessionId(session_id),
        TicketTypeId(ticket_type_id),
        price,
        None if seat is None else line_seat(*seat),
        attendee,
        None if voided is None else _voiding(*voided),
    )


def _voiding(at: str, version: int, reason: str | None, refund_reference: str | None) -> Voiding:
    return Voiding(datetime.fromisoformat(at), version, reason, refund_reference)


def _bytes(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)
