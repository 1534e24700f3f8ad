"""Going to pay for holds, and making an order of them once they are paid. What reads blocks."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.commands import ConvertHolds, IdempotencyKey, Origin, StartCheckout
from holdfast.domain.hold import Hold
from holdfast.domain.ids import CheckoutId, EventId, HoldId, OrderId, OrganizationId
from holdfast.domain.order import SEED_BYTES, Attendee, Order, Purchase, revival_id
from holdfast.domain.refusals import Refusal
from holdfast.domain.values import Holder, Money
from holdfast.ports.access import Principal
from holdfast.ports.catalogue import CatalogueStore
from holdfast.ports.holds import HoldReader, SeenHold
from holdfast.ports.orders import OrderReader, SeenCheckout
from holdfast.ports.paging import Page, PageRequest
from holdfast.ports.payments import PaymentProvider, PaymentUnavailable
from holdfast.services import reading

_log = structlog.get_logger("holdfast.payments")


@dataclass(frozen=True, slots=True)
class Sale:
    """Holds that are to become an order, what pays for them, and who comes."""

    hold_ids: tuple[HoldId, ...]
    payment_reference: str | None
    attendees: tuple[Attendee | None, ...] = ()
    checkout_id: CheckoutId | None = None


def checkout_command(
    principal: Principal,
    hold_ids: tuple[HoldId, ...],
    holder: Holder | None,
    origin: Origin,
    idempotency: IdempotencyKey | None,
) -> StartCheckout:
    return StartCheckout(principal.organization_id, hold_ids, origin, holder, idempotency)


def convert_command(
    principal: Principal, sale: Sale, origin: Origin, idempotency: IdempotencyKey | None
) -> ConvertHolds:
    purchase = Purchase(
        OrderId(uuid7()), secrets.token_bytes(SEED_BYTES), sale.payment_reference, sale.attendees
    )
    return ConvertHolds(
        organization_id=principal.organization_id,
        hold_ids=sale.hold_ids,
        purchase=purchase,
        origin=origin,
        checkout_id=sale.checkout_id,
        idempotency=idempotency,
    )


def held_for_event(
    holds: HoldReader,
    catalogue: CatalogueStore,
    organization_id: OrganizationId,
    event_id: EventId,
    holder: Holder,
) -> tuple[HoldId, ...] | Refusal:
    """What a person holds of an event now. It may be nothing."""
    found = reading.read(lambda: holds.live_holds(organization_id, event_id, holder))
    if isinstance(found, Refusal):
        return found
    if not found:
        event = reading.event(catalogue, organization_id, event_id)
        if isinstance(event, Refusal):
            is_unknown = event == refusals.event_not_found()
            return refusals.invalid_event() if is_unknown else event
    return tuple(hold.id for hold in found)


def checkout(
    orders: OrderReader, organization_id: OrganizationId, checkout_id: CheckoutId
) -> SeenCheckout | Refusal:
    return reading.found(
        lambda: orders.checkout(organization_id, checkout_id), refusals.checkout_not_found
    )


def order(
    orders: OrderReader, organization_id: OrganizationId, order_id: OrderId
) -> Order | Refusal:
    return reading.found(lambda: orders.order(organization_id, order_id), refusals.order_not_found)


def orders(
    reader: OrderReader,
    organization_id: OrganizationId,
    page: PageRequest,
    hold_id: HoldId | None,
    payment_reference: str | None,
) -> Page[Order] | Refusal:
    return reading.read(lambda: reader.orders(organization_id, page, hold_id, payment_reference))


class Cashier:
    """Asks the payment provider before anything is changed, and outside of any transaction. What is
    paid already is not asked about again, but shown."""

    def __init__(self, holds: HoldReader, orders: OrderReader, payments: PaymentProvider) -> None:
        self._holds = holds
        self._orders = orders
        self._payments = payments

    def holds_to_complete(
        self, organization_id: OrganizationId, checkout_id: CheckoutId, reference: str | None
    ) -> tuple[HoldId, ...] | Refusal:
        """The holds of a checkout that this payment pays for."""
        seen = checkout(self._orders, organization_id, checkout_id)
        if isinstance(seen, Refusal):
            return seen
        refusal = None if seen.order_id else self._refuse(seen.holds, reference)
        return refusal or seen.checkout.hold_ids

    def hold_to_confirm(
        self, organization_id: OrganizationId, hold_id: HoldId, reference: str | None
    ) -> tuple[HoldId, ...] | Refusal:
        """The one hold that this payment pays for."""
        seen = reading.hold(self._holds, organization_id, hold_id)
        if isinstance(seen, Refusal):
            return seen
        is_settled = seen.hold.is_converted() or seen.hold.is_cancelled()
        if seen.hold.is_expired(seen.at):
            revived = reading.hold(self._holds, organization_id, revival_id(hold_id))
            is_settled = not isinstance(revived, Refusal)
        refusal = None if is_settled else self._refuse([seen.hold], reference)
        return refusal or (hold_id,)

    def paid_order(
        self, organization_id: OrganizationId, order_id: OrderId, reference: str | None
    ) -> Order | Refusal:
        """The order that was made before. Who now names another payment has paid twice, and has to
        know."""
        found = order(self._orders, organization_id, order_id)
        if isinstance(found, Refusal) or reference in {None, found.payment_reference}:
            return found
        return refusals.already_paid(str(order_id))

    def paid_hold(
        self,
        organization_id: OrganizationId,
        hold_id: HoldId,
        order_id: OrderId,
        reference: str | None,
    ) -> tuple[SeenHold, Order] | Refusal:
        """The hold, or the one that stands for it, with the order that it became before."""
        found = self.paid_order(organization_id, order_id, reference)
        if isinstance(found, Refusal):
            return found
        paid_id = hold_id if hold_id in found.hold_ids else revival_id(hold_id)
        seen = reading.hold(self._holds, organization_id, paid_id)
        return seen if isinstance(seen, Refusal) else (seen, found)

    def _refuse(self, holds: Sequence[Hold], reference: str | None) -> Refusal | None:
        total = Money(sum(hold.total.minor for hold in holds), holds[0].currency)
        try:
            problem = self._payments.problem(reference, total)
        except PaymentUnavailable:
            _log.warning("payment.unavailable")
            return refusals.service_unavailable()
        return None if problem is None else refusals.payment_refused(problem)
