"""Blocking and unblocking seats."""

from dataclasses import dataclass

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import SeatId, SessionId
from holdfast.domain.seats.block_seats import BlockSeats
from holdfast.ports.access import Principal


@dataclass(frozen=True, slots=True)
class BlockingRequest:
    session_id: SessionId
    seat_ids: tuple[SeatId, ...]
    reason: str
    is_lifted: bool


def block_command(
    principal: Principal,
    request: BlockingRequest,
    origin: Origin,
    idempotency: IdempotencyKey | None,
) -> BlockSeats:
    return BlockSeats(
        organization_id=principal.organization_id,
        session_id=request.session_id,
        seat_ids=request.seat_ids,
        reason=request.reason,
        origin=origin,
        idempotency=idempotency,
        is_lifted=request.is_lifted,
    )
