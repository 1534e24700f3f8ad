"""Releases a cart's hold."""

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.carts.cart import CartCommand, footprint_of_cart, newest_hold
from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.footprint import Footprint
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import CartEmptied, Decision, NeedsMore
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.placement import Asked
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder


@immutable
class EmptyCart(CartCommand):
    """Release the cart's live hold, if any. With `holder`, it must be theirs."""

    organization_id: OrganizationId
    cart: str
    origin: Origin
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None
    reach: Reach | None = None

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        return footprint_of_cart(plan, self, None, learnt)

    def decide(self, ledger: Ledger) -> Decision:
        hold = newest_hold(ledger, self.cart_key)
        if isinstance(hold, NeedsMore):
            return Decision(hold)
        if hold is None or not hold.is_live(ledger.now) or ledger.hides(hold, self.reach):
            return Decision(CartEmptied(None, ledger.now))
        if not hold.belongs_to(self.holder):
            return Decision(refusals.cart_of_another_holder())
        released = hold.released(ledger.now)
        return Decision(
            CartEmptied(released, ledger.now), (Transition(hold, released, self.origin),)
        )

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asked = Asked(cart=self.cart, holder=caller(self.holder, self.reach))
        return FailedAction("hold.release_failed", asked=asked)
