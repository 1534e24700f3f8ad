"""A change of tickets of an order, whose locks are those of the order's holds."""

from collections.abc import Sequence

from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import TicketId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import (
    REFUND_REFERENCE_LENGTH_MAX,
    TICKETS_PER_ORDER_MAX,
    Order,
    Ticket,
)
from holdfast.domain.orders.refusals import invalid_ticket
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.slices import giving_way
from holdfast.domain.values import InvalidValue, Money


@immutable
class OrderChange:
    """An order before and after some of its tickets changed."""

    before: Order
    after: Order
    first_hold: Hold  # of the order: facts and audit records name it
    origin: Origin

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """The changed ones, as they are now."""
        pairs = zip(self.before.tickets, self.after.tickets, strict=True)
        return tuple(new for old, new in giving_way(pairs) if new is not old)

    @property
    def amount(self) -> Money:
        """What these tickets had cost."""
        minor = sum(ticket.unit_price_minor for ticket in self.tickets)
        return Money(minor, self.after.total.currency)


@immutable
class Refund(OrderChange):
    """The platform's refund of void tickets."""

    reference: str


def check_tickets(ticket_ids: Sequence[TicketId]) -> None:
    if len(ticket_ids) > TICKETS_PER_ORDER_MAX:
        message = f"Name at most {TICKETS_PER_ORDER_MAX} tickets"
        raise InvalidValue("too_many_tickets", message)
    if len(set(ticket_ids)) != len(ticket_ids):
        raise InvalidValue("duplicate_ticket", "Name each ticket only once")


def check_refund_reference(reference: str) -> None:
    if not 1 <= len(reference) <= REFUND_REFERENCE_LENGTH_MAX:
        raise InvalidValue(
            "invalid_refund_reference",
            f"refund_reference must have 1 to {REFUND_REFERENCE_LENGTH_MAX} characters",
        )


def named_tickets(order: Order, ticket_ids: Sequence[TicketId]) -> tuple[Ticket, ...] | Refusal:
    known = {ticket.id: ticket for ticket in order.tickets}
    unknown = [n for n, id_ in enumerate(ticket_ids) if id_ not in known]
    if unknown:
        return invalid_ticket(str(order.id), unknown)
    return tuple(known[ticket_id] for ticket_id in ticket_ids)
