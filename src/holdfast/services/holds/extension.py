"""Extending a hold."""

from dataclasses import dataclass

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.ids import HoldId
from holdfast.domain.values import Holder
from holdfast.ports.access import Principal


@dataclass(frozen=True, slots=True)
class ExtensionRequest:
    """With `holder`, only if the hold is theirs."""

    hold_id: HoldId
    seconds: int
    holder: Holder | None = None
    is_operator: bool = False


def extend_command(
    principal: Principal,
    request: ExtensionRequest,
    origin: Origin,
    idempotency: IdempotencyKey | None,
) -> ExtendHold:
    return ExtendHold(
        organization_id=principal.organization_id,
        hold_id=request.hold_id,
        seconds=request.seconds,
        origin=origin,
        holder=request.holder,
        is_operator=request.is_operator,
        idempotency=idempotency,
    )
