"""Statistics: the current holds, and the results of the last hours' holds."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Protocol

from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.immutable import immutable


@immutable
class HoldStatistics:
    """`active` holds have `tickets`, of which `seats` are assigned seats; `expiring_soon` counts
    some of them. `lapsed` holds are not yet recorded as expired. Parties on the waitlist have no
    places: `waiting` ones are live, `lapsed_waiting` ones ran out of time."""

    active: int
    lapsed: int
    tickets: int
    seats: int
    expiring_soon: int
    waiting: int
    lapsed_waiting: int
    at: datetime


@immutable(kw_only=True)
class SaleHour:
    """The numbers of holds created in one hour; the first got its places at `first_at`. Lapsed
    holds count as expired. A place on the waitlist counts as a hold once it is promoted. Holders
    count in the hour of their newest hold.

    renewed         carts renewed after their hold had expired
    changed         carts whose hold was changed at least once
    promoted        holds promoted from the waitlist
    left_waitlist   parties that left the waitlist or expired before their turn
    waited_seconds  the total wait of the promoted holds
    checkouts       holds whose holder started a checkout or has paid
    abandoned       of those, the holds that ended without an order
    """

    first_at: datetime | None = None
    holds: int = 0
    holders: int = 0
    expired: int = 0
    converted: int = 0
    cancelled: int = 0
    renewed: int = 0
    changed: int = 0
    promoted: int = 0
    left_waitlist: int = 0
    waited_seconds: float = 0.0
    checkouts: int = 0
    abandoned: int = 0


_COUNTED = tuple(each.name for each in fields(SaleHour) if each.name != "first_at")


@immutable(kw_only=True)
class SaleStatistics(SaleHour):
    """The sums of the hours from `since` to `at`, and what follows from them."""

    since: datetime
    at: datetime

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

    @property
    def average_wait_seconds(self) -> float | None:
        """The average of the promoted holds."""
        return _ratio(self.waited_seconds, self.promoted)


@immutable
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
        sums = {name: sum(getattr(hour, name) for hour in counted) for name in _COUNTED}
        firsts = (hour.first_at for hour in counted if hour.first_at is not None)
        first_at, since = min(firsts, default=None), self.at - timedelta(hours=hours)
        return SaleStatistics(since=since, at=self.at, first_at=first_at, **sums)


class SaleStatisticsReader(Protocol):
    def history(
        self, organization_id: OrganizationId, session_id: SessionId | None, hours: int
    ) -> SaleHistory:
        """May raise StoreUnavailable. Blocks, for longer than other reads."""
        ...


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None
