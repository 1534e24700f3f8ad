"""Sales statistics: the results of the last hours' holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from holdfast.domain.ids import OrganizationId, SessionId


@dataclass(frozen=True, slots=True)
class SaleStatistics:
    """Statistics of the holds created from `since` to `at`; the first got its places at `first_at`.
    Lapsed holds count as expired. A place on the waitlist counts as a hold once it is promoted.

    renewed       carts renewed after their hold had expired
    changed       carts whose hold was changed at least once
    promoted      holds promoted from the waitlist
    left_waitlist parties that left the waitlist or expired before their turn
    at_checkout   holds whose holder started a checkout or has paid
    abandoned     of those, the holds that ended without an order
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
    left_waitlist: int
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
        """The rate since the first hold, so that hours before the sale don't count."""
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
        """The share of ended holds that reached checkout; live ones still may."""
        return _ratio(self.converted + self.abandoned, self.ended)

    @property
    def abandonment_rate(self) -> float | None:
        return _ratio(self.abandoned, self.converted + self.abandoned)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleHour:
    """Statistics of the holds created in one hour. Holders count in the hour of their newest hold.
    `waited_seconds` is the total of all promoted holds."""

    first_at: datetime | None
    holds: int
    holders: int
    expired: int
    converted: int
    cancelled: int
    renewed: int
    changed: int
    promoted: int
    left_waitlist: int
    waited_seconds: float
    at_checkout: int
    abandoned: int


@dataclass(frozen=True, slots=True)
class SaleHistory:
    """Hours by their age in whole hours before `at`; hours without holds are left out."""

    at: datetime
    hours: Mapping[int, SaleHour]

    @property
    def holds(self) -> int:
        return sum(hour.holds for hour in self.hours.values())

    def last(self, hours: int) -> SaleStatistics:
        """The statistics of the last hours, as far as this history goes."""
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
            left_waitlist=sum(hour.left_waitlist for hour in counted),
            average_waiting_seconds=_ratio(sum(hour.waited_seconds for hour in counted), promoted),
            at_checkout=sum(hour.at_checkout for hour in counted),
            abandoned=sum(hour.abandoned for hour in counted),
        )


class SaleStatisticsReader(Protocol):
    def history(
        self, organization_id: OrganizationId, session_id: SessionId | None, hours: int
    ) -> SaleHistory:
        """May raise StoreUnavailable. Blocks, for longer than other reads."""
        ...


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None
