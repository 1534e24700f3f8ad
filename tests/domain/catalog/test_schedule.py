"""Sessions by rule, in local time."""

from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from holdfast.domain.catalog.schedule import Schedule, is_ambiguous, local_moment
from holdfast.domain.values import InvalidValue

BERLIN = ZoneInfo("Europe/Berlin")
EVENING = time(20)
SUNDAY = 6


def schedule(**changed: Any) -> Schedule:
    usual: dict[str, Any] = {
        "first": date(2030, 10, 20),
        "last": date(2030, 11, 3),
        "weekdays": frozenset({SUNDAY}),
        "times": (EVENING,),
        "zone": BERLIN,
    }
    return Schedule(**usual | changed)


def test_local_times_stay_when_clocks_change() -> None:
    starts = schedule().starts()
    assert [start.astimezone(UTC).hour for start in starts] == [18, 19, 19]
    assert [start.hour for start in starts] == [20, 20, 20]


def test_starts_are_in_order_and_different() -> None:
    starts = schedule(times=(EVENING, time(15), EVENING)).starts()
    assert len(starts) == 6
    assert list(starts) == sorted(set(starts))


def test_a_skipped_time_is_refused() -> None:
    with pytest.raises(InvalidValue, match="There is no 02:30 on 2030-03-31"):
        local_moment(datetime.fromisoformat("2030-03-31T02:30"), BERLIN)
    moment = local_moment(datetime.fromisoformat("2030-03-31T03:30"), BERLIN)
    assert moment.astimezone(UTC).hour == 1


def test_a_repeated_time_is_the_first_one() -> None:
    moment = local_moment(datetime.fromisoformat("2030-10-27T02:30"), BERLIN)
    assert is_ambiguous(moment)
    assert moment.astimezone(UTC).hour == 0
    assert not is_ambiguous(local_moment(datetime.fromisoformat("2030-10-27T03:30"), BERLIN))


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"last": date(2030, 10, 19)}, "invalid_dates"),
        ({"last": date(2033, 10, 21)}, "invalid_dates"),
        ({"weekdays": frozenset()}, "invalid_dates"),
        ({"times": ()}, "invalid_dates"),
        ({"last": date(2032, 1, 1), "times": (EVENING, time(15), time(10), time(12))}, "too_many"),
        ({"times": (time(2, 30),), "first": date(2030, 3, 31)}, "invalid_time"),
    ],
)
def test_a_wrong_rule_is_refused(changed: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        schedule(**changed).starts()
    assert refused.value.code == code


def test_the_largest_rules_are_allowed() -> None:
    assert len(schedule(last=date(2032, 9, 12), times=(EVENING, time(15))).starts()) == 200
    last = date(2033, 10, 19)
    assert (last - date(2030, 10, 20)).days + 1 == 1096
    assert len(schedule(last=last).starts()) == 157
