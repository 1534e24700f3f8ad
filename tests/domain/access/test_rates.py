"""Rate limits as they are written in settings."""

import pytest

from holdfast.domain.access.rates import COUNT_MAX, SECONDS_MAX, Rate, RateLimits
from holdfast.domain.organizations import check_setting
from holdfast.domain.refusals import rate_limit_exceeded
from holdfast.domain.values import InvalidValue

NOTHING = {
    "rate_seats_per_holder": None,
    "rate_requests_per_key": None,
    "rate_requests_per_holder": None,
    "rate_requests_per_address": None,
}


def test_a_rate_is_a_number_and_a_period_in_seconds() -> None:
    assert Rate.parse("10/300") == Rate(10, 300)
    assert Rate.parse(f"{COUNT_MAX}/{SECONDS_MAX}") == Rate(COUNT_MAX, SECONDS_MAX)


@pytest.mark.parametrize(
    "text",
    [
        *("", "10", "10/", "/300", "0/300", "10/0", "-1/300", "10/300 ", "10 / 300", "1e3/1"),
        *(
            "10/5m",
            "1000001/1",
            "1/86401",
            "\N{ARABIC-INDIC DIGIT THREE}/300",
            "010/300",
            "10/300\n",
        ),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="rate_requests_per_key must be a number and a period"):
        check_setting("rate_requests_per_key", text)


def test_buyers_and_addresses_are_not_remembered_for_a_day() -> None:
    check_setting("rate_requests_per_key", "10/86400")
    for name in NOTHING.keys() - {"rate_requests_per_key"}:
        check_setting(name, "10/3600")
        with pytest.raises(InvalidValue, match="in 1 to 3600 seconds"):
            check_setting(name, "10/3601")


@pytest.mark.parametrize(
    ("seconds", "period"),
    [
        *((1, "1 second"), (45, "45 seconds"), (60, "1 minute"), (300, "5 minutes")),
        *((7200, "2 hours"), (90, "90 seconds"), (86_400, "24 hours")),
    ],
)
def test_a_period_is_written_as_people_say_it(seconds: int, period: str) -> None:
    assert Rate(1, seconds).period == period


def test_limits_that_are_not_set_do_not_exist() -> None:
    assert RateLimits.of(NOTHING) == RateLimits()
    some = RateLimits.of({**NOTHING, "rate_seats_per_holder": "10/300"})
    assert some == RateLimits(seats_per_holder=Rate(10, 300))


def test_a_request_that_can_never_fit_is_not_told_to_retry() -> None:
    refusal = rate_limit_exceeded("seats_per_holder", Rate(10, 300), None)
    assert "retry_after_seconds" not in refusal.details
    assert refusal.message == "Rate limit exceeded: max 10 seats reserved per 5 minutes"
