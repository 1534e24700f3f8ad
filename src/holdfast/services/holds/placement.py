"""Placing a hold."""

from dataclasses import dataclass
from uuid import UUID

from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import NO_REMARKS, Remarks
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.values import Holder
from holdfast.ports.access import Principal


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """`hold_id` is set when the caller chose it."""

    session_id: SessionId
    holder: Holder
    asks: tuple[Ask | SeatAsk, ...]
    hold_id: HoldId | None = None
    remarks: Remarks = NO_REMARKS
    wants_alternative: bool = False


def repeat_key_text(sent: str | None, hold_id: UUID | None) -> str | None:
    """The key as sent, or else the hold id that the client chose. Keys as sent contain no spaces,
    so the two kinds never clash."""
    if sent is not None or hold_id is None:
        return sent
    return f"hold {hold_id}"


def place_command(
    principal: Principal, request: HoldRequest, origin: Origin, idempotency: IdempotencyKey | None
) -> PlaceHold:
    return PlaceHold(
        organization_id=principal.organization_id,
        session_id=request.session_id,
        hold_id=request.hold_id or HoldId(uuid7()),
        holder=request.holder,
        asks=request.asks,
        origin=origin,
        idempotency=idempotency,
        is_id_from_client=request.hold_id is not None,
        remarks=request.remarks,
        wants_alternative=request.wants_alternative,
    )
