"""Records the platform's refund of void tickets, after they were cancelled."""

from holdfast.domain import refusals
from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, RefundRecorded
from holdfast.domain.group.plan import GroupPlan, key_of
from holdfast.domain.ids import OrderId, OrderKey, OrganizationId, TicketId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Order, Ticket
from holdfast.domain.orders.order_change import (
    Refund,
    check_refund_reference,
    check_tickets,
    named_tickets,
)
from holdfast.domain.orders.refusals import already_refunded, order_changed, ticket_not_void
from holdfast.domain.refusal_codes import Refusal


@immutable
class RecordRefund(Command):
    """Give void tickets of an order a refund reference: those named, or all that have none. A
    reference is never replaced; recording the same one again changes nothing."""

    organization_id: OrganizationId
    order_id: OrderId
    refund_reference: str
    ticket_ids: tuple[TicketId, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    version: int | None = None  # of the order, as the person saw it

    locks_waitlists = False
    frees_places = False

    def __post_init__(self) -> None:
        check_tickets(self.ticket_ids)
        check_refund_reference(self.refund_reference)

    @property
    def order_key(self) -> OrderKey:
        return (self.organization_id, self.order_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(orders=(self.order_key,))

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """The holds of the order guard its tickets."""
        required = key_of(self)
        unread = plan.survey.unread_orders.get(self.order_key)
        if unread is not None:
            return Footprint(frozenset(required), weight=1 + unread, is_unread=True)
        order = plan.survey.orders.get(self.order_key)
        if order is None:
            return Footprint(frozenset(required))
        own = self.organization_id
        required |= {Resource(ResourceKind.HOLD, own, hold_id) for hold_id in order.hold_ids}
        return Footprint(frozenset(required), weight=1 + len(order.tickets))

    def decide(self, ledger: Ledger) -> Decision:
        order = ledger.orders.get(self.order_key)
        if order is None:
            return Decision(refusals.order_not_found())
        if self.version not in {None, order.version}:
            return Decision(order_changed(str(order.id), order.version))
        found = self._tickets(order)
        if isinstance(found, Refusal):
            return Decision(found)
        new = tuple(each.id for each in found if each.refund_reference is None)
        if not new:
            return Decision(RefundRecorded(order, (), ledger.now))
        after = order.refunded(frozenset(new), self.refund_reference)
        first = ledger.holds[self.organization_id, order.hold_ids[0]]
        refund = Refund(order, after, first, self.origin, self.refund_reference)
        return Decision(RefundRecorded(after, new, ledger.now), order_change=refund)

    def _tickets(self, order: Order) -> tuple[Ticket, ...] | Refusal:
        """Those that get the reference, or have it already."""
        named = named_tickets(order, self.ticket_ids)
        if isinstance(named, Refusal):
            return named
        asked = named or tuple(ticket for ticket in order.tickets if ticket.is_void)
        valid = [str(ticket.id) for ticket in named if not ticket.is_void]
        if valid or not asked:
            return ticket_not_void(str(order.id), valid)
        free = {None, self.refund_reference}
        others = [str(ticket.id) for ticket in named if ticket.refund_reference not in free]
        fitting = tuple(ticket for ticket in asked if ticket.refund_reference in free)
        return already_refunded(str(order.id), others) if others or not fitting else fitting

    def failed_action(self, refusal: Refusal) -> FailedAction:
        return FailedAction("order.refund_failed", order_id=self.order_id)
