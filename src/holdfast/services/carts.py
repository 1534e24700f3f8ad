"""Keeping a cart's holds in step with the cart."""

from dataclasses import dataclass

from uuid_utils.compat import uuid7

from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.items import CartAsk
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import Remarks
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.values import Holder, Metadata
from holdfast.ports.access import Principal


@dataclass(frozen=True, slots=True)
class CartRequest:
    """The whole content of a cart. The remarks contain its name. Without `metadata`, a live hold
    keeps its own."""

    session_id: SessionId
    cart: str
    holder: Holder
    asks: tuple[CartAsk, ...]
    remarks: Remarks
    metadata: Metadata | None


def fill_command(
    principal: Principal, request: CartRequest, origin: Origin, idempotency: IdempotencyKey | None
) -> FillCart:
    return FillCart(
        organization_id=principal.organization_id,
        session_id=request.session_id,
        cart=request.cart,
        hold_id=HoldId(uuid7()),
        group_id=uuid7(),
        holder=request.holder,
        asks=request.asks,
        origin=origin,
        idempotency=idempotency,
        remarks=request.remarks,
        metadata=request.metadata,
    )


def empty_command(
    principal: Principal,
    cart: str,
    holder: Holder | None,
    origin: Origin,
    idempotency: IdempotencyKey | None,
) -> EmptyCart:
    """With `holder`, only if the cart is theirs."""
    return EmptyCart(principal.organization_id, cart, origin, holder, idempotency)


def renew_command(
    principal: Principal,
    cart: str,
    holder: Holder | None,
    origin: Origin,
    idempotency: IdempotencyKey | None,
) -> RenewCart:
    return RenewCart(
        principal.organization_id,
        cart,
        HoldId(uuid7()),
        uuid7(),
        origin,
        holder,
        idempotency,
    )
