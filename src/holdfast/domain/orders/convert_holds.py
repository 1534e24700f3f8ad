"""Converts paid holds to an order, all or nothing.

A payment may arrive after a hold has expired. If the policy allows it and the places are still
free, a new hold with the same lines and prices replaces the expired one and is converted at once.
The expired hold stays expired, and nobody loses a place.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind, text_resource
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import AlreadyConverted, Converted, Decision, NeedsMore
from holdfast.domain.group.plan import (
    SEATS_FREED_BY_ONE_MAX,
    GroupPlan,
    key_of,
    resources_of,
    seats_of,
)
from holdfast.domain.group.transitions import Transition, units_by_pool, units_of
from holdfast.domain.holds.eviction import make_room
from holdfast.domain.holds.hold import Hold, HoldStatus, rounded_up
from holdfast.domain.holds.placement import Asked
from holdfast.domain.holds.preconditions import refuse_status
from holdfast.domain.ids import (
    CheckoutId,
    HoldId,
    HoldKey,
    OrderId,
    OrganizationId,
    PaymentKey,
    PoolId,
    SessionKey,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import (
    SEATS_PER_ORDER_MAX,
    Purchase,
    check_hold_ids,
    make_order,
    refuse_mixture,
    revival_id,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat_choice import lapsed_on
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.fairness import passes, taking_of


@immutable
class ConvertHolds(Command):
    """Make one order of all these paid holds, or none. A single-use payment makes no other
    order."""

    frees_places = False

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    purchase: Purchase
    origin: Origin
    checkout_id: CheckoutId | None = None
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None
    is_payment_single_use: bool = False
    # The total the payment was checked against (a cart may have changed since); None if unchecked.
    total_minor: int | None = None
    payment_problem: str | None = None  # why the payment was not accepted
    reach: Reach | None = None

    def __post_init__(self) -> None:
        check_hold_ids(self.hold_ids)

    @property
    def single_payment(self) -> PaymentKey | None:
        """The payment, if it is for single use."""
        reference = self.purchase.payment_reference
        if reference is None or not self.is_payment_single_use:
            return None
        return (self.organization_id, reference)

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)

    @property
    def revival_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, revival_id(hold_id)) for hold_id in self.hold_ids)

    def needs(self, learnt: NeedsMore) -> Needs:
        keys = {*self.hold_keys, *self.revival_keys}
        return Needs(holds=frozenset(keys | learnt.holds), lapsed=learnt.lapsed)

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        paid = [hold for hold in plan.known(self.hold_keys) if self._is_own(hold)]
        ending = plan.known(learnt.holds)
        if seats_of(paid) > SEATS_PER_ORDER_MAX:
            refusal = refusals.too_many_seats_in_order(SEATS_PER_ORDER_MAX)
            return Footprint(frozenset(), refusal=refusal)
        if seats_of(ending) > SEATS_FREED_BY_ONE_MAX:
            # The seats are on lapsed holds: the reaper ends those a few at a time.
            return Footprint(frozenset(), refusal=refusals.service_unavailable())
        required = resources_of((*paid, *ending)) | plan.holders_of(paid) | key_of(self)
        required |= {Resource(ResourceKind.HOLD, *key) for key in self.revival_keys}
        payment = self.single_payment
        if payment is not None:
            required.add(text_resource(ResourceKind.PAYMENT, payment))
        optional = plan.lapsed(learnt.lapsed)
        return Footprint(
            frozenset(required),
            frozenset(optional - required),
            new_holds=self.revival_keys,
            payment=payment,
            attendees=self.purchase.attendees,
            weight=1 + sum(hold.quantity for hold in paid),
        )

    def _is_own(self, hold: Hold) -> bool:
        """Another holder's holds must not be locked or counted."""
        return self.reach is None or hold.belongs_to(self.reach.holder)

    def decide(self, ledger: Ledger) -> Decision:
        holds = [ledger.holds[key] for key in self.hold_keys if key in ledger.holds]
        if len(holds) < len(self.hold_ids) or not all(
            hold.belongs_to(self.holder) and not ledger.hides(hold, self.reach) for hold in holds
        ):
            return Decision(refusals.hold_not_found())
        orders = {_order_of(ledger, hold) for hold in holds}
        if len(orders) == 1 and (order_id := next(iter(orders))) is not None:
            return Decision(AlreadyConverted(order_id, ledger.now))
        refusal = _refuse(ledger, self, holds)
        if refusal is not None:
            return Decision(refusal)
        if not all(map(ledger.knows_places_of, holds)):
            return Decision(NeedsMore())
        revived = _revive(ledger, self, [hold for hold in holds if hold.is_expired(ledger.now)])
        if isinstance(revived, Decision):
            return revived
        return _convert(ledger, self, holds, revived)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asked = Asked(holder=caller(self.holder, self.reach))
        return FailedAction("hold.convert_failed", self.hold_ids[0], asked=asked)


def _convert(
    ledger: Ledger, command: ConvertHolds, holds: Sequence[Hold], revived: "_Revived"
) -> Decision:
    replacements = {hold.revives: hold for hold in revived.holds}
    paid = [replacements.get(hold.id, hold) for hold in holds]
    created = [Transition(None, hold, command.origin) for hold in revived.holds]
    converted = [
        Transition(hold, hold.converted(ledger.now, command.purchase.order_id), command.origin)
        for hold in paid
    ]
    after = tuple(each.after for each in converted)
    events = dict.fromkeys(ledger.sessions[hold.session_key].event_id for hold in after)
    order = make_order(after, command.purchase, ledger.now, command.checkout_id, tuple(events))
    return Decision(
        Converted(order, after, ledger.now),
        (*revived.ended, *created, *converted),
        order=order,
        passed=revived.passed,
    )


def _order_of(ledger: Ledger, hold: Hold) -> OrderId | None:
    """The order that the hold, or its replacement, became."""
    replacement = ledger.holds.get((hold.organization_id, revival_id(hold.id)))
    if replacement is None or replacement.revives != hold.id:
        return hold.order_id
    return hold.order_id or replacement.order_id


def _refuse(ledger: Ledger, command: ConvertHolds, holds: Sequence[Hold]) -> Refusal | None:
    for hold in holds:
        if (
            hold.is_cancelled()
            or hold.is_waiting(ledger.now)
            or hold.is_pending()
            or hold.has_failed()
            or _order_of(ledger, hold) is not None
        ):
            return refusals.invalid_hold_state(hold.status.value)
        refusal = refuse_status(ledger.sessions[hold.session_key])
        if refusal is not None:
            return refusal
    if command.payment_problem is not None:
        # Don't ask for another payment if these holds cannot be paid for at all.
        return _refuse_late(ledger, holds) or refusals.payment_refused(command.payment_problem)
    refusal = _refuse_amount(command, holds)
    if refusal is not None:
        return refusal
    tickets = sum(hold.quantity for hold in holds)
    if len(command.purchase.attendees) > tickets:
        return refusals.too_many_attendees(tickets)
    return (
        refuse_mixture(holds)
        or _refuse_used_payment(ledger, command, holds)
        or _refuse_late(ledger, holds)
    )


def _refuse_amount(command: ConvertHolds, holds: Sequence[Hold]) -> Refusal | None:
    """Check the total again: a cart may have changed since the unlocked payment check."""
    total = sum(hold.total.minor for hold in holds)
    if command.total_minor in {None, total}:
        return None
    return refusals.amount_changed(total, holds[0].currency)


def _refuse_used_payment(
    ledger: Ledger, command: ConvertHolds, holds: Sequence[Hold]
) -> Refusal | None:
    payment = command.single_payment
    order_id = None if payment is None else ledger.paid.get(payment)
    if order_id is None or not any(hold.total.minor for hold in holds):
        return None
    return refusals.payment_already_used(str(order_id))


def _refuse_late(ledger: Ledger, holds: Sequence[Hold]) -> Refusal | None:
    lapsed = [hold for hold in holds if hold.is_expired(ledger.now)]
    if all(_may_be_late(ledger, hold) for hold in lapsed):
        return None
    return refusals.hold_expired([str(hold.id) for hold in lapsed])


def _may_be_late(ledger: Ledger, hold: Hold) -> bool:
    if hold.held_at is None or hold.is_remote:
        return False  # it never had places, or another service has given them away
    offers = ledger.sessions[hold.session_key].offers
    seconds = min(offers[line.ticket_type_id].policy.late_payment_seconds for line in hold.lines)
    return ledger.now < hold.expires_at + timedelta(seconds=seconds)


@immutable
class _Revived:
    """Replacements of expired holds, the holds that end for them, and the waitlist queues they
    overtake."""

    holds: tuple[Hold, ...] = ()
    ended: tuple[Transition, ...] = ()
    passed: tuple[UUID, ...] = ()


def _revive(ledger: Ledger, command: ConvertHolds, lapsed: Sequence[Hold]) -> _Revived | Decision:
    if not lapsed:
        return _Revived()
    gone = Decision(refusals.hold_expired([str(hold.id) for hold in lapsed]))
    if any((hold.organization_id, revival_id(hold.id)) in ledger.holds for hold in lapsed):
        return gone  # another hold has the id, so there can be no replacement
    seat_ids = [seat.id for hold in lapsed for seat in hold.seats]
    # Two of them may have had the same seat at different times; only one can have it now.
    is_contested = len(set(seat_ids)) < len(seat_ids)
    if is_contested or not all(ledger.seats[seat_id].is_free(ledger.now) for seat_id in seat_ids):
        return gone
    in_the_way = lapsed_on(ledger, seat_ids)
    if isinstance(in_the_way, NeedsMore):
        return Decision(in_the_way)
    ending = {hold.key: hold for hold in (*lapsed, *in_the_way) if hold.is_lapsed(ledger.now)}
    vacated = tuple(
        Transition(hold, hold.expired(ledger.now), command.origin) for hold in ending.values()
    )
    demand: Counter[PoolId] = Counter()
    for hold in lapsed:
        demand.update(units_by_pool(hold))
    passed = _passed(ledger, lapsed)
    if passed is None:
        return gone
    room = make_room(ledger, demand, vacated, command.origin)
    if not room.short_pools:
        replacements = tuple(_replacement(ledger, hold) for hold in lapsed)
        return _Revived(replacements, (*vacated, *room.evictions), passed)
    if any(ledger.available(pool_id) < units for pool_id, units in demand.items()):
        return gone
    session_of = {pool: hold.session_key for hold in lapsed for pool in units_by_pool(hold)}
    short = frozenset((session_of[pool], pool) for pool in room.short_pools)
    # Keep this round's evictions as progress for the next.
    return Decision(NeedsMore(lapsed=short), room.evictions)


def _passed(ledger: Ledger, lapsed: Sequence[Hold]) -> tuple[UUID, ...] | None:
    """The waitlist queues overtaken if these holds get their places back; None if others come
    first."""
    by_session: defaultdict[SessionKey, list[Hold]] = defaultdict(list)
    for hold in lapsed:
        by_session[hold.session_key].append(hold)
    passed: tuple[UUID, ...] = ()
    for session_key, holds in by_session.items():
        session = ledger.sessions[session_key]
        if not session.has_waitlist or not ledger.waitlists.get(session_key):
            continue
        demand = units_of(line for hold in holds for line in hold.lines)
        seats = [seat for hold in holds for seat in hold.seats]
        wants = {*demand, *(seat.block_id for seat in seats)}
        taking = taking_of(ledger, wants, demand, (seat.id for seat in seats))
        found = passes(ledger, session, taking)
        if found is None:
            return None
        passed += found
    return passed


def _replacement(ledger: Ledger, hold: Hold) -> Hold:
    """A hold with the same places and prices, to be converted in the same transaction."""
    hold_id = revival_id(hold.id)
    return replace(
        hold,
        id=hold_id,
        reference=ledger.references[hold.organization_id, hold_id],
        status=HoldStatus.ACTIVE,
        version=1,
        created_at=ledger.now,
        updated_at=ledger.now,
        held_at=ledger.now,
        expires_at=rounded_up(ledger.now) + timedelta(seconds=1),
        expired_at=None,
        warn_at=None,
        given_up_at=None,
        is_cart=False,  # the cart may have a new hold by now
        revives=hold.id,
    )
