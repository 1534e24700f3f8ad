"""Starting checkouts, and turning paid holds into orders. Calls that read block."""

import secrets
from collections.abc import Callable, Sequence

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach
from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import CheckoutId, EventId, HoldId, OrderId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.convert_holds import ConvertHolds
from holdfast.domain.orders.order import (
    HOLDS_PER_CHECKOUT_MAX,
    SEED_BYTES,
    Attendee,
    Order,
    Purchase,
    revival_id,
)
from holdfast.domain.orders.selection import lost_of_selection
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder, Metadata, Money
from holdfast.ports.audit.attempts import AttemptJournal, FailedAttempt
from holdfast.ports.catalog import CatalogStore
from holdfast.ports.holds import HoldReader, SeenHold
from holdfast.ports.orders import OrderReader
from holdfast.ports.payments import PaymentProvider, PaymentUnavailable
from holdfast.services import reads

_log = structlog.get_logger("holdfast.payments")


@immutable
class Due:
    """Holds to be paid for, and the total that the payment was checked against: None if they
    already became an order, and nothing was checked. `problem` says why the payment is invalid."""

    hold_ids: tuple[HoldId, ...]
    total_minor: int | None = None
    problem: str | None = None


@immutable
class Sale:
    """Holds that are to become an order, with its attendees and metadata."""

    due: Due
    attendees: tuple[Attendee | None, ...]
    metadata: Metadata
    checkout_id: CheckoutId | None = None


@immutable
class Payment:
    """A payment as the caller reports it. Without `amount_minor`, it is for the total due."""

    organization_id: OrganizationId
    reference: str | None
    origin: Origin
    amount_minor: int | None = None
    reach: Reach | None = None  # of the caller's token
    currency: str | None = None


@immutable
class Buyer:
    """`sees` tells the holds that exist for the caller, which may have a holder token."""

    holder: Holder
    sees: Callable[[Hold], bool]


def held_for_event(
    holds: HoldReader,
    catalog: CatalogStore,
    organization_id: OrganizationId,
    event_id: EventId,
    buyer: Buyer,
) -> tuple[HoldId, ...] | Refusal:
    """The holds of a person for an event. If some of those they chose have lapsed, only these: the
    checkout is then refused, and nobody pays for less than they chose. May be empty."""
    live = reads.read(lambda: holds.live_holds(organization_id, event_id, buyer.holder))
    if isinstance(live, Refusal):
        return live
    live = tuple(filter(buyer.sees, live))
    since = min((hold.created_at for hold in live), default=None)
    recent = reads.read(lambda: holds.recent_holds(organization_id, event_id, buyer.holder, since))
    if isinstance(recent, Refusal):
        return recent
    recent = tuple(seen for seen in recent if buyer.sees(seen.hold))
    if not recent:
        event = reads.event(catalog, organization_id, event_id)
        if isinstance(event, Refusal):
            is_unknown = event == refusals.event_not_found()
            return refusals.invalid_event() if is_unknown else event
        return ()
    lost = lost_of_selection(live, [seen.hold for seen in reversed(recent)], recent[0].at)
    return tuple(hold.id for hold in lost[:HOLDS_PER_CHECKOUT_MAX] or live)


def held_in_cart(
    holds: HoldReader,
    organization_id: OrganizationId,
    cart: str,
    is_visible: Callable[[Hold], bool] = lambda _: True,
) -> tuple[HoldId, ...] | Refusal:
    """The active holds of a cart. Without any, its lapsed or waiting hold: the refusal then says
    why it cannot be paid for. Otherwise empty. Holds that are not visible to the caller's token
    don't count."""
    live = reads.read(lambda: holds.live_holds_of_cart(organization_id, cart))
    if isinstance(live, Refusal):
        return live
    live = tuple(filter(is_visible, live))
    if live:
        return tuple(hold.id for hold in live)
    newest = reads.read(lambda: holds.cart_hold(organization_id, cart))
    if isinstance(newest, Refusal):
        return newest
    if newest is None or newest.hold.is_cancelled() or newest.hold.is_converted():
        return ()
    if not is_visible(newest.hold):
        return ()
    return (newest.hold.id,)


checkout = reads.lookup_of(OrderReader.checkout, refusals.checkout_not_found)
order = reads.lookup_of(OrderReader.order, refusals.order_not_found)
orders = reads.query_of(OrderReader.orders)


class Cashier:
    """Checks payments with the provider before any change and outside any transaction. Holds that
    are already paid for are shown without another check. An invalid payment still goes to the
    engine: only the engine knows whether the holds could be paid for at all."""

    def __init__(
        self,
        holds: HoldReader,
        orders: OrderReader,
        payments: PaymentProvider,
        attempts: AttemptJournal,
    ) -> None:
        self._holds = holds
        self._orders = orders
        self._payments = payments
        self._attempts = attempts

    @property
    def verifies_payments(self) -> bool:
        return self._payments.is_verified

    def holds_to_complete(self, payment: Payment, checkout_id: CheckoutId) -> Due | Refusal:
        """The holds of the checkout that this payment is for."""
        seen = checkout(self._orders, payment.organization_id, checkout_id)
        if isinstance(seen, Refusal):
            return seen
        reach = payment.reach
        if reach is not None and not all(hold.belongs_to(reach.holder) for hold in seen.holds):
            return refusals.checkout_not_found()
        if seen.order_id:
            return Due(seen.checkout.hold_ids)
        return self._checked(payment, seen.checkout.hold_ids, seen.holds)

    def hold_to_confirm(self, payment: Payment, hold_id: HoldId) -> Due | Refusal:
        """The hold that this payment is for."""
        seen = reads.hold(self._holds, payment.organization_id, hold_id)
        if isinstance(seen, Refusal):
            return seen
        is_settled = seen.hold.is_converted() or seen.hold.is_cancelled()
        if seen.hold.is_expired(seen.at):
            revived = reads.hold(self._holds, payment.organization_id, revival_id(hold_id))
            is_settled = not isinstance(revived, Refusal) and revived.hold.revives == hold_id
        return Due((hold_id,)) if is_settled else self._checked(payment, (hold_id,), [seen.hold])

    def command(
        self, payment: Payment, sale: Sale, idempotency: IdempotencyKey | None
    ) -> ConvertHolds:
        purchase = Purchase(
            OrderId(uuid7()),
            secrets.token_bytes(SEED_BYTES),
            payment.reference,
            sale.attendees,
            sale.metadata,
        )
        return ConvertHolds(
            organization_id=payment.organization_id,
            hold_ids=sale.due.hold_ids,
            purchase=purchase,
            origin=payment.origin,
            checkout_id=sale.checkout_id,
            idempotency=idempotency,
            is_payment_single_use=self._payments.is_single_use,
            total_minor=sale.due.total_minor,
            payment_problem=sale.due.problem,
            reach=payment.reach,
        )

    def paid_order(self, payment: Payment, hold_id: HoldId, order_id: OrderId) -> Order | Refusal:
        """The order that this hold already became. A caller who names another payment has paid
        twice, and is refused."""
        found = order(self._orders, payment.organization_id, order_id)
        if isinstance(found, Refusal) or payment.reference in {None, found.payment_reference}:
            return found
        refusal = refusals.already_paid(str(order_id))
        failed = FailedAction("hold.convert_failed", hold_id)
        attempt = FailedAttempt.now(failed, payment.organization_id, refusal, payment.origin)
        self._attempts.failed(attempt)
        return refusal

    def paid_hold(
        self, payment: Payment, hold_id: HoldId, order_id: OrderId
    ) -> tuple[SeenHold, Order] | Refusal:
        """The hold, or its replacement after a late payment, with its order."""
        found = self.paid_order(payment, hold_id, order_id)
        if isinstance(found, Refusal):
            return found
        paid_id = hold_id if hold_id in found.hold_ids else revival_id(hold_id)
        seen = reads.hold(self._holds, payment.organization_id, paid_id)
        return seen if isinstance(seen, Refusal) else (seen, found)

    def _checked(
        self, payment: Payment, hold_ids: tuple[HoldId, ...], holds: Sequence[Hold]
    ) -> Due | Refusal:
        minor, due = payment.amount_minor, sum(hold.total.minor for hold in holds)
        if payment.currency not in {None, holds[0].currency}:
            return refusals.amount_changed(due, holds[0].currency)
        if minor is None:
            minor = due
        # The amount due may still change; the engine compares it once the holds are locked.
        total = Money(minor, holds[0].currency)
        try:
            problem = self._payments.problem(payment.reference, total)
        except PaymentUnavailable:
            _log.warning("payment.unavailable")
            return refusals.service_unavailable()
        return Due(hold_ids, total.minor, problem)
