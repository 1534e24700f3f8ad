"""Renews a cart whose hold has expired."""

from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.carts.cart import (
    CartCommand,
    footprint_of_cart,
    newest_hold,
    place_new_hold,
    unchanged_cart,
)
from holdfast.domain.carts.items import asks_again
from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.footprint import Footprint
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.holds.hold import CartItem, Hold
from holdfast.domain.holds.place_hold import contested_seat
from holdfast.domain.holds.placement import Asked, Placement
from holdfast.domain.ids import HoldId, HoldKey, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder


@immutable
class RenewCart(CartCommand):
    """Place a new hold with the contents of the cart's expired one. A live hold is left alone."""

    can_choose_seats = True

    organization_id: OrganizationId
    cart: str
    hold_id: HoldId
    group_id: UUID
    origin: Origin
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None
    reach: Reach | None = None

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        hold = plan.survey.carts.get(self.cart_key)
        is_renewed = hold is not None and hold.is_over()
        placement = _renewal_of(self, hold) if is_renewed and hold is not None else None
        return footprint_of_cart(plan, self, placement, learnt)

    def decide(self, ledger: Ledger) -> Decision:
        hold = newest_hold(ledger, self.cart_key)
        if isinstance(hold, NeedsMore):
            return Decision(hold)
        if hold is not None and ledger.hides(hold, self.reach):
            return Decision(refusals.nothing_to_renew())
        if hold is not None and not hold.belongs_to(self.holder):
            return Decision(refusals.cart_of_another_holder())
        if hold is None or not (hold.is_live(ledger.now) or hold.is_expired(ledger.now)):
            return Decision(refusals.nothing_to_renew())
        if hold.is_live(ledger.now):
            return Decision(unchanged_cart(ledger, hold))
        return place_new_hold(ledger, hold, _renewal_of(self, hold))

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asked = Asked(cart=self.cart, holder=caller(self.holder, self.reach))
        return FailedAction("cart.renew_failed", None, contested_seat(refusal), asked)


def _renewal_of(command: RenewCart, hold: Hold) -> Placement:
    asks = asks_again(hold)
    holder = hold.holder if command.holder is None else hold.holder.with_email_of(command.holder)
    return Placement(
        organization_id=command.organization_id,
        session_id=hold.session_id,
        hold_id=command.hold_id,
        holder=holder,
        asks=tuple(each.ask for each in asks),
        origin=command.origin,
        remarks=hold.remarks,
        is_cart=True,
        items=tuple(CartItem(each.item_id, command.group_id) for each in asks),
        renews=hold.id,
        reach=command.reach,
    )
