"""Releasing a hold."""

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId
from holdfast.ports.access import Principal


def release_command(
    principal: Principal, hold_id: HoldId, origin: Origin, idempotency: IdempotencyKey | None
) -> ReleaseHold:
    return ReleaseHold(principal.organization_id, hold_id, origin, idempotency)
