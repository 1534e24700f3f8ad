"""Placing a hold."""

from uuid import UUID

from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import Remarks
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.values import Holder


def repeat_key_text(sent: str | None, hold_id: UUID | None) -> str | None:
    """The key as sent, or else the hold id that the client chose. Keys as sent contain no spaces,
    so the two kinds never clash."""
    if sent is not None or hold_id is None:
        return sent
    return f"hold {hold_id}"


def place_command(
    organization_id: OrganizationId,
    session_id: SessionId,
    *,
    holder: Holder,
    asks: tuple[Ask | SeatAsk, ...],
    origin: Origin,
    idempotency: IdempotencyKey | None,
    hold_id: HoldId | None,
    remarks: Remarks,
    wants_alternative: bool,
) -> PlaceHold:
    """`hold_id` is set when the caller chose it."""
    return PlaceHold(
        organization_id,
        session_id,
        hold_id or HoldId(uuid7()),
        holder,
        asks,
        origin,
        idempotency,
        is_id_from_client=hold_id is not None,
        remarks=remarks,
        wants_alternative=wants_alternative,
    )
