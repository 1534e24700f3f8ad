"""The audit of attempts that failed. It is kept aside: a refusal changes nothing, so it must not
cost the buyers behind it a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.commands import Origin
from holdfast.domain.ids import HoldKey


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What was tried, by whom, and the code of the refusal. `at` is this machine's clock: it tells
    a person when, and decides nothing."""

    at: datetime
    action: str
    hold_key: HoldKey
    code: str
    origin: Origin


class AttemptLog(Protocol):
    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        """May raise a StoreError."""
        ...
