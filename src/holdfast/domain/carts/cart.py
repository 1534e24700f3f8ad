"""Shared by the cart commands. A cart has at most one live hold, which matches its items."""

from dataclasses import replace

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Footprint, Needs, ResourceKind, text_resource
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import CartChanged, Decision, NeedsMore, Waiting
from holdfast.domain.group.plan import GroupPlan, key_of, resources_of, without_places
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX, Hold
from holdfast.domain.holds.place_hold import footprint_of, place
from holdfast.domain.holds.placement import Placement
from holdfast.domain.ids import CartKey
from holdfast.domain.values import InvalidValue


class CartCommand(Command):
    """A command about the cart with this name."""

    __slots__ = ()

    cart: str

    def __post_init__(self) -> None:
        if not (1 <= len(self.cart) <= CART_TOKEN_LENGTH_MAX and self.cart.isprintable()):
            raise InvalidValue(
                "invalid_cart",
                f"A cart's name must have 1 to {CART_TOKEN_LENGTH_MAX} printable characters",
            )

    @property
    def cart_key(self) -> CartKey:
        return (self.organization_id, self.cart)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(holds=learnt.holds, lapsed=learnt.lapsed, carts=(self.cart_key,))


def footprint_of_cart(
    plan: GroupPlan, command: CartCommand, placement: Placement | None, learnt: NeedsMore
) -> Footprint:
    """The footprint of a cart command; `placement` is the new hold or the addition to place."""
    cart = command.cart_key
    hold = plan.survey.carts.get(cart)
    required = key_of(command) | {text_resource(ResourceKind.CART, cart)}
    if hold is not None:
        is_over = hold.is_over()
        required |= without_places(resources_of([hold])) if is_over else resources_of([hold])
    base = Footprint(frozenset(), cart=cart)
    if placement is not None:
        base = footprint_of(plan, placement, learnt)
        if base.awaits is not None or base.refusal is not None:
            return base
    return replace(
        base,
        required=base.required | required,
        optional=base.optional - required,
        cart=cart,
    )


def newest_hold(ledger: Ledger, cart: CartKey) -> Hold | NeedsMore | None:
    """The newest hold of the cart, with its places locked unless it is over."""
    key = ledger.carts.get(cart)
    if key is None:
        return None
    hold = ledger.holds.get(key)
    if hold is None or not (hold.is_over() or ledger.knows_places_of(hold)):
        return NeedsMore(holds=frozenset({key}), was_overtaken=True)
    return hold


def place_new_hold(ledger: Ledger, ended: Hold | None, placement: Placement) -> Decision:
    """Place a new hold. A lapsed one is expired first, because the cart may want its places
    again."""
    if ended is not None and ended.is_lapsed(ledger.now):
        expiry = Transition(ended, ended.expired(ledger.now), placement.origin)
        return Decision(NeedsMore(was_overtaken=True), (expiry,))
    if placement.hold_key not in ledger.references:
        return Decision(NeedsMore(was_overtaken=True))  # the hold was live at planning
    return place(ledger, placement)


def unchanged_cart(ledger: Ledger, hold: Hold) -> CartChanged | Waiting:
    if hold.waiting is not None:
        return Waiting(hold, ledger.now, is_repeat=True)
    return CartChanged(hold, ledger.now, is_repeat=True)
