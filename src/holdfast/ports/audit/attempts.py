"""The audit of failed attempts. It is written separately: a refusal changes nothing, so it must not
cost a transaction."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, Self

from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal


@immutable
class FailedAttempt:
    """A refused attempt: the action, its origin and the refusal code. `at` is this machine's clock,
    for information only. Of several seats, `seat_id` is the contested one, or else the first."""

    at: datetime
    action: str
    organization_id: OrganizationId
    hold_id: HoldId | None
    seat_id: SeatId | None
    code: str
    origin: Origin

    @classmethod
    def now(
        cls,
        failed: FailedAction,
        organization_id: OrganizationId,
        refusal: Refusal,
        origin: Origin,
    ) -> Self:
        action, hold_id, seat_id = failed
        at, code = datetime.now(UTC), refusal.code.value
        return cls(at, action, organization_id, hold_id, seat_id, code, origin)


class AttemptJournal(Protocol):
    def failed(self, attempt: FailedAttempt) -> None:
        """Buffer the attempt until it is written. Quick; never raises."""
        ...


class AttemptLog(Protocol):
    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        """May raise StoreError."""
        ...
