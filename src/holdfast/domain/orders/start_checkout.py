"""Starts a checkout and extends its holds to give the buyer time to pay."""

from collections.abc import Sequence

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import CheckoutStarted, Decision, NeedsMore
from holdfast.domain.group.plan import GroupPlan, key_of, resources_of, seats_of
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.extend_hold import (
    end_of_life,
    later_expiry,
    policies_of,
    warning_seconds,
)
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Asked
from holdfast.domain.holds.preconditions import refuse_status
from holdfast.domain.ids import CheckoutId, HoldId, HoldKey, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import (
    SEATS_PER_ORDER_MAX,
    Checkout,
    check_hold_ids,
    checkout_id_of,
    refuse_mixture,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder


@immutable
class StartCheckout(Command):
    """Start paying for these holds. Each is extended once, as its policy says. Without holds it is
    refused, unless it repeats a request that was answered when there were some."""

    gives_time = True
    frees_places = False

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    origin: Origin
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None
    reach: Reach | None = None

    def __post_init__(self) -> None:
        if self.hold_ids:
            check_hold_ids(self.hold_ids)

    @property
    def checkout_id(self) -> CheckoutId:
        return checkout_id_of(self.hold_ids)

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(holds=frozenset(self.hold_keys))

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        holds = [hold for hold in plan.known(self.hold_keys) if self._is_own(hold)]
        if seats_of(holds) > SEATS_PER_ORDER_MAX:
            refusal = refusals.too_many_seats_in_order(SEATS_PER_ORDER_MAX)
            return Footprint(frozenset(), refusal=refusal)
        required = resources_of(holds) | plan.holders_of(holds) | key_of(self)
        return Footprint(frozenset(required), weight=1 + seats_of(holds))

    def _is_own(self, hold: Hold) -> bool:
        """Another holder's holds must not be locked or counted."""
        return self.reach is None or hold.belongs_to(self.reach.holder)

    def decide(self, ledger: Ledger) -> Decision:
        if not self.hold_ids:
            return Decision(refusals.empty_cart())
        holds = [ledger.holds[key] for key in self.hold_keys if key in ledger.holds]
        if len(holds) < len(self.hold_ids) or not all(
            hold.belongs_to(self.holder) and not ledger.hides(hold, self.reach) for hold in holds
        ):
            return Decision(refusals.hold_not_found())
        refusal = _refuse_checkout(ledger, holds)
        if refusal is not None:
            return Decision(refusal)
        if not all(map(ledger.knows_places_of, holds)):
            return Decision(NeedsMore())
        checkout_id = self.checkout_id
        if all(hold.checkout_id == checkout_id for hold in holds):
            return Decision(CheckoutStarted(checkout_id, tuple(holds), ledger.now, is_repeat=True))
        transitions = tuple(
            Transition(hold, _checked_out(ledger, hold, checkout_id), self.origin)
            for hold in holds
            if hold.checkout_id != checkout_id
        )
        changed = {each.after.id: each.after for each in transitions}
        started = CheckoutStarted(
            checkout_id, tuple(changed.get(hold.id, hold) for hold in holds), ledger.now
        )
        checkout = Checkout(self.organization_id, checkout_id, self.hold_ids, ledger.now)
        return Decision(started, transitions, checkout=checkout)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        hold_id = self.hold_ids[0] if self.hold_ids else None
        asked = Asked(holder=caller(self.holder, self.reach))
        return FailedAction("checkout.start_failed", hold_id, asked=asked)


def _checked_out(ledger: Ledger, hold: Hold, checkout_id: CheckoutId) -> Hold:
    """Add the hold to the checkout. Only a hold's first checkout extends it."""
    session = ledger.sessions[hold.session_key]
    until = hold.expires_at
    if hold.checkout_id is None:
        seconds = min(policy.checkout_extension_seconds for policy in policies_of(session, hold))
        until = min(later_expiry(ledger.now, hold, seconds), end_of_life(session, hold))
    return hold.checked_out(ledger.now, checkout_id, until, warning_seconds(session, hold))


def _refuse_checkout(ledger: Ledger, holds: Sequence[Hold]) -> Refusal | None:
    """Refuse holds that could not be converted after payment."""
    for hold in holds:
        refusal = refuse_status(ledger.sessions[hold.session_key])
        if refusal is not None:
            return refusal
    now = ledger.now
    lapsed = [hold for hold in holds if hold.is_expired(now)]
    if lapsed:
        return refusals.expired_before_checkout([str(hold.id) for hold in lapsed])
    ended = next((hold for hold in holds if not hold.is_active(now)), None)
    if ended is not None:
        return refusals.invalid_hold_state(ended.status.value)
    return refuse_mixture(holds)
