"""How a sale goes: what became of the holds of the last hours."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from holdfast.domain.ids import OrganizationId, SessionId


@dataclass(frozen=True, slots=True)
class SaleStatistics:
    """Of the holds that were made from `since` to `at`; the first of them had its places at
    `first_at`. A lapsed one counts as expired. A place in a line is no hold until it is promoted.

    renewed       carts that came back after their hold had expired
    changed       carts whose hold was changed at least once
    promoted      got their places after they had waited for them
    left_line     waited, and left or ran out of time before their turn came
    at_checkout   their holder went to pay, or has paid
    abandoned     of those, what ended without an order
    """

    since: datetime
    at: datetime
    first_at: datetime | None
    holds: int
    holders: int
    expired: int
    converted: int
    cancelled: int
    renewed: int
    changed: int
    promoted: int
    left_line: int
    average_waiting_seconds: float | None
    at_checkout: int
    abandoned: int

    @property
    def ended(self) -> int:
        return self.expired + self.converted + self.cancelled

    @property
    def holds_per_holder(self) -> float | None:
        return _ratio(self.holds, self.holders)

    @property
    def reservations_per_minute(self) -> float:
        """Since the first of them: a sale that has just begun is not measured by the hours
        before."""
        if self.first_at is None:
            return 0.0
        return self.holds / max(1.0, (self.at - self.first_at) / timedelta(minutes=1))

    @property
    def expiration_rate(self) -> float | None:
        return _ratio(self.expired, self.ended)

    @property
    def conversion_rate(self) -> float | None:
        return _ratio(self.converted, self.ended)

    @property
    def hold_to_checkout_rate(self) -> float | None:
        """Of those that have ended: the others may still go."""
        return _ratio(self.converted + self.abandoned, self.ended)

    @property
    def abandonment_rate(self) -> float | None:
        return _ratio(self.abandoned, self.converted + self.abandoned)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleHour:
    """The same of the holds that were made in one hour. A holder is counted in the hour of its
    newest hold. `waited_seconds` is the sum over those who were promoted."""

    first_at: datetime | None
    holds: int
    holders: int
    expired: int
    converted: int
    cancelled: int
    renewed: int
    changed: int
    promoted: int
    left_line: int
    waited_seconds: float
    at_checkout: int
    abandoned: int


@dataclass(frozen=True, slots=True)
class SaleHistory:
    """Hours by how many whole ones lie between them and `at`; those without a hold are left out."""

    at: datetime
    hours: Mapping[int, SaleHour]

    @property
    def holds(self) -> int:
        return sum(hour.holds for hour in self.hours.values())

    def last(self, hours: int) -> SaleStatistics:
        """Not more than there are in this history."""
        counted = [hour for ago, hour in self.hours.items() if ago < hours]
        firsts = [hour.first_at for hour in counted if hour.first_at is not None]
        promoted = sum(hour.promoted for hour in counted)
        return SaleStatistics(
            since=self.at - timedelta(hours=hours),
            at=self.at,
            first_at=min(firsts, default=None),
            holds=sum(hour.holds for hour in counted),
            holders=sum(hour.holders for hour in counted),
            expired=sum(hour.expired for hour in counted),
            converted=sum(hour.converted for hour in counted),
            cancelled=sum(hour.cancelled for hour in counted),
            renewed=sum(hour.renewed for hour in counted),
            changed=sum(hour.changed for hour in counted),
            promoted=promoted,
            left_line=sum(hour.left_line for hour in counted),
            average_waiting_seconds=_ratio(sum(hour.waited_seconds for hour in counted), promoted),
            at_checkout=sum(hour.at_checkout for hour in counted),
            abandoned=sum(hour.abandoned for hour in counted),
        )


class SaleStatisticsReader(Protocol):
    def history(
        self, organization_id: OrganizationId, session_id: SessionId | None, hours: int
    ) -> SaleHistory:
        """May raise StoreUnavailable; it blocks, and longer than other readings do."""
        ...


def _ratio(part: float, whole: int) -> float | None:
    """Of nothing, nobody knows."""
    return part / whole if whole else None
