"""Local times, and sessions by rule: on which weekdays, from when to when, at what times of day."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from holdfast.domain.immutable import immutable
from holdfast.domain.values import InvalidValue

SESSIONS_PER_RULE_MAX = 200
DAYS_PER_RULE_MAX = 1_096


def local_moment(wall_clock: datetime, zone: ZoneInfo) -> datetime:
    """The moment when clocks in the zone show this. A time that clocks show twice is the first one.
    Raises InvalidValue for a time that they skip."""
    moment = wall_clock.replace(tzinfo=zone, fold=0)
    if moment.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall_clock:
        skipped = f"There is no {wall_clock:%H:%M} on {wall_clock:%Y-%m-%d} in {zone.key}"
        raise InvalidValue("invalid_time", f"{skipped}: clocks go forward")
    return moment


def is_ambiguous(moment: datetime) -> bool:
    """Whether local clocks show this time twice."""
    return moment.utcoffset() != moment.replace(fold=1).utcoffset()


@immutable
class Schedule:
    """Weekdays as in Python: Monday is 0."""

    first: date
    last: date
    weekdays: frozenset[int]
    times: tuple[time, ...]
    zone: ZoneInfo

    def starts(self) -> tuple[datetime, ...]:
        """When the sessions start, in order, in local time. Raises InvalidValue."""
        days = (self.last - self.first).days + 1
        if days < 1:
            raise InvalidValue("invalid_dates", "The last day must not be before the first")
        if days > DAYS_PER_RULE_MAX:
            message = f"At most {DAYS_PER_RULE_MAX} days from the first to the last"
            raise InvalidValue("invalid_dates", message)
        dates = [self.first + timedelta(days=day) for day in range(days)]
        dates = [day for day in dates if day.weekday() in self.weekdays]
        times = sorted(set(self.times))
        if len(dates) * len(times) > SESSIONS_PER_RULE_MAX:
            message = (
                f"This makes {len(dates) * len(times)} sessions; at most {SESSIONS_PER_RULE_MAX} "
                "at once"
            )
            raise InvalidValue("too_many", message)
        if not dates or not times:
            raise InvalidValue("invalid_dates", "No day from the first to the last is chosen")
        return tuple(
            local_moment(datetime.combine(day, at), self.zone) for day in dates for at in times
        )
