"""The audit of failed attempts. It is written separately: a refusal changes nothing, so it must not
cost a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import HoldId, OrganizationId, SeatId


@dataclass(frozen=True, slots=True)
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


class AttemptJournal(Protocol):
    def failed(self, attempt: FailedAttempt) -> None:
        """Buffer the attempt until it is written. Quick; never raises."""
        ...


class AttemptLog(Protocol):
    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        """May raise StoreError."""
        ...
