"""The audit of attempts that failed. It is kept aside: a refusal changes nothing, so it must not
cost the buyers behind it a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import HoldId, OrganizationId, SeatId


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What was tried, by whom, and the code of the refusal. `at` is this machine's clock: it tells
    a person when, and decides nothing. Of several seats that were named, the one that was in the
    way stands for all, or else the first."""

    at: datetime
    action: str
    organization_id: OrganizationId
    hold_id: HoldId | None
    seat_id: SeatId | None
    code: str
    origin: Origin


class AttemptJournal(Protocol):
    def failed(self, attempt: FailedAttempt) -> None:
        """Keep it until it is written down. Quick; never raises."""
        ...


class AttemptLog(Protocol):
    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        """May raise a StoreError."""
        ...
