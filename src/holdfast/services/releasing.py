"""Letting a hold go."""

from holdfast.domain.commands import IdempotencyKey, Origin, ReleaseHold
from holdfast.domain.decide import Outcome, Released
from holdfast.domain.ids import HoldId
from holdfast.domain.transitions import FactType
from holdfast.ports.access import Principal
from holdfast.services.hold_log import log_hold


def release_command(
    principal: Principal, hold_id: HoldId, origin: Origin, idempotency: IdempotencyKey | None
) -> ReleaseHold:
    return ReleaseHold(principal.organization_id, hold_id, origin, idempotency)


def log_released(command: ReleaseHold, outcome: Outcome | None) -> None:
    if isinstance(outcome, Released):
        log_hold(FactType.HOLD_CANCELLED, outcome.hold, command.origin.request_id)
