"""Cancels an order, or some of its tickets, and returns their places to sale."""

from collections.abc import Mapping

from holdfast.domain import refusals
from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, OrderCancelled
from holdfast.domain.group.plan import GroupPlan, key_of
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldKey, OrderId, OrderKey, OrganizationId, SeatId, TicketId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.cancellation import Cancellation, SoldPlace, places_of
from holdfast.domain.orders.order import Order, OrderStatus, Voiding
from holdfast.domain.orders.order_change import (
    check_refund_reference,
    check_tickets,
    named_tickets,
)
from holdfast.domain.orders.refusals import (
    order_already_cancelled,
    order_changed,
    ticket_already_void,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.assignment import seat_resources


@immutable
class CancelOrder(Command):
    """Make tickets of an order void: those named, or all that are valid if none is. The reason is
    that of the origin. With `version`, an order that has changed since is refused. An order can be
    cancelled at any time, even after its event was."""

    organization_id: OrganizationId
    order_id: OrderId
    ticket_ids: tuple[TicketId, ...]
    origin: Origin
    refund_reference: str | None = None
    version: int | None = None
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        check_tickets(self.ticket_ids)
        if self.refund_reference is not None:
            check_refund_reference(self.refund_reference)

    @property
    def order_key(self) -> OrderKey:
        return (self.organization_id, self.order_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(orders=(self.order_key,))

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """All holds of the order are locked: they guard it, so that two cancellations of its
        tickets come one after the other. All its tickets count, because all are read."""
        organization_id = self.organization_id
        required = key_of(self)
        unread = plan.survey.unread_orders.get(self.order_key)
        if unread is not None:
            return Footprint(frozenset(required), weight=1 + unread, is_unread=True)
        order = plan.survey.orders.get(self.order_key)
        if order is None:
            return Footprint(frozenset(required))
        places = self._places(order, plan.survey.holds)
        required |= {Resource(ResourceKind.HOLD, organization_id, id_) for id_ in order.hold_ids}
        required |= {
            Resource(ResourceKind.SESSION, organization_id, place.hold.session_id)
            for place in places
        }
        required |= {
            Resource(ResourceKind.POOL, organization_id, pool_id)
            for place in places
            for pool_id in place.line.pool_ids
        }
        seats = [place.line.seat.id for place in places if place.line.seat is not None]
        required |= seat_resources(organization_id, seats)
        return Footprint(frozenset(required), weight=1 + len(order.tickets))

    def decide(self, ledger: Ledger) -> Decision:
        order = ledger.orders.get(self.order_key)
        if order is None:
            return Decision(refusals.order_not_found())
        refusal = self._refuse(order)
        if refusal is not None:
            return Decision(refusal)
        places = self._places(order, ledger.holds)
        if not all(ledger.knows_place(place) for place in places):
            return Decision(NeedsMore())
        reason, reference = self.origin.reason, self.refund_reference
        voiding = Voiding(ledger.now, order.version + 1, reason, reference)
        after = order.cancelled({place.ticket.id for place in places}, voiding)
        first = ledger.holds[self.organization_id, order.hold_ids[0]]
        blocked = _blocked(ledger, places)
        cancellation = Cancellation(order, after, first, self.origin, voiding, places, blocked)
        void = tuple(place.ticket.id for place in places)
        outcome = OrderCancelled(after, void, cancellation.amount, ledger.now)
        return Decision(outcome, order_change=cancellation)

    def _refuse(self, order: Order) -> Refusal | None:
        if self.version not in {None, order.version}:
            return order_changed(str(order.id), order.version)
        if order.status is OrderStatus.CANCELLED:
            return order_already_cancelled(str(order.id))
        named = named_tickets(order, self.ticket_ids)
        if isinstance(named, Refusal):
            return named
        void = [str(ticket.id) for ticket in named if ticket.is_void]
        return ticket_already_void(str(order.id), void) if void else None

    def _places(self, order: Order, holds: Mapping[HoldKey, Hold]) -> tuple[SoldPlace, ...]:
        """The places of the tickets that become void, in the order of the tickets."""
        asked = frozenset(self.ticket_ids)
        if asked:
            return places_of(order, holds, lambda ticket: ticket.id in asked)
        return places_of(order, holds, lambda ticket: not ticket.is_void)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        return FailedAction("order.cancel_failed", order_id=self.order_id)


def _blocked(ledger: Ledger, places: tuple[SoldPlace, ...]) -> frozenset[SeatId]:
    seats = (place.line.seat.id for place in places if place.line.seat is not None)
    return frozenset(seat_id for seat_id in seats if ledger.seats[seat_id].is_blocked())
