"""What a process grants by itself, by a clock that the test moves."""

from dataclasses import dataclass
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.access.rates import Rate
from holdfast.domain.ids import OrganizationId
from holdfast.ports.rates import SLOTS, Want
from holdfast.services.access.rates.local import LocalRates

OWN = OrganizationId(uuid4())
TEN = Rate(10, 300)


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def want(units: int = 1, key: str = "buyer", rate: Rate = TEN) -> Want:
    return Want("seats_per_holder", key, rate, units)


def test_the_limit_can_be_used_up_exactly() -> None:
    rates = LocalRates(Clock())
    assert rates.take(OWN, [want(8)]).is_taken
    assert not rates.take(OWN, [want(3)]).is_taken
    assert rates.take(OWN, [want(2)]).is_taken
    assert not rates.take(OWN, [want(1)]).is_taken


def test_what_was_taken_is_free_again_after_the_period_and_no_later_than_announced() -> None:
    clock = Clock()
    rates = LocalRates(clock)
    rates.take(OWN, [want(6)])
    clock.now += 100
    rates.take(OWN, [want(4)])
    wait = rates.take(OWN, [want(6)]).levels[0].wait_seconds
    assert wait is not None
    assert 200 < wait <= 200 + 300 / SLOTS
    clock.now += wait - 0.001
    assert not rates.take(OWN, [want(6)]).is_taken
    clock.now += 0.002
    assert rates.take(OWN, [want(6)]).is_taken
    assert not rates.take(OWN, [want(1)]).is_taken


def test_more_than_the_limit_never_fits() -> None:
    (level,) = LocalRates(Clock()).take(OWN, [want(11)]).levels
    assert level.wait_seconds is None


def test_nothing_always_fits_even_beyond_a_limit_that_was_lowered() -> None:
    rates = LocalRates(Clock())
    rates.take(OWN, [want(10)])
    assert rates.take(OWN, [want(0, rate=Rate(5, 300))]).is_taken


def test_of_several_limits_all_or_none_is_taken() -> None:
    rates = LocalRates(Clock())
    rates.take(OWN, [want(10, "other")])
    assert not rates.take(OWN, [want(1), want(1, "other")]).is_taken
    assert rates.take(OWN, [want(10)]).is_taken


def test_what_is_given_back_can_be_taken_again() -> None:
    rates = LocalRates(Clock())
    (level,) = rates.take(OWN, [want(10)]).levels
    rates.give_back(OWN, [want(4)], [level.slot])
    assert not rates.take(OWN, [want(5)]).is_taken
    assert rates.take(OWN, [want(4)]).is_taken


def test_giving_back_late_does_not_create_units() -> None:
    clock = Clock()
    rates = LocalRates(clock)
    (level,) = rates.take(OWN, [want(10)]).levels
    clock.now += 400
    rates.take(OWN, [want(10)])
    rates.give_back(OWN, [want(10)], [level.slot])
    assert not rates.take(OWN, [want(1)]).is_taken


@given(
    st.lists(st.tuples(st.floats(0, 40), st.integers(1, 4), st.booleans()), max_size=60),
    st.floats(0, 1e6),
)
def test_no_period_ever_has_more_than_the_limit(
    steps: list[tuple[float, int, bool]], start: float
) -> None:
    clock, rate = Clock(start), Rate(10, 30)
    rates = LocalRates(clock)
    kept: list[tuple[float, int]] = []
    for pause, units, is_kept in steps:
        clock.now += pause
        count = rates.take(OWN, [want(units, rate=rate)])
        if count.is_taken and is_kept:
            kept.append((clock.now, units))
            in_period = sum(taken for at, taken in kept if clock.now - at < rate.seconds)
            assert in_period <= rate.count
        elif count.is_taken:
            rates.give_back(OWN, [want(units, rate=rate)], [count.levels[0].slot])


def test_memory_is_bounded_and_organizations_do_not_displace_each_other() -> None:
    rates = LocalRates(Clock(), counts_max=100)
    other = OrganizationId(uuid4())
    rates.take(other, [want(10)])
    for number in range(1_000):
        rates.take(OWN, [want(1, f"buyer {number}")])
    assert len(rates) == 101
    assert not rates.take(other, [want(1)]).is_taken


def test_other_subjects_displace_no_seats() -> None:
    rates = LocalRates(Clock(), counts_max=100)
    rates.take(OWN, [want(10)])
    for number in range(1_000):
        rates.take(OWN, [Want("requests_per_address", f"address {number}", TEN, 1)])
    assert len(rates) == 101
    assert not rates.take(OWN, [want(1)]).is_taken


def test_memory_is_bounded_in_all_and_the_largest_limit_gives_way() -> None:
    rates = LocalRates(Clock(), counts_in_all_max=100)
    others = [OrganizationId(uuid4()) for _ in range(20)]
    for other in others:
        rates.take(other, [want(10)])
    for number in range(1_000):
        rates.take(OWN, [want(1, f"buyer {number}")])
    assert len(rates) == 100
    assert not any(rates.take(other, [want(1)]).is_taken for other in others)


def test_only_new_subjects_are_too_many() -> None:
    rates = LocalRates(Clock(), counts_max=3)
    counts = [rates.take(OWN, [want(1, key)]) for key in ("a", "b", "c", "d", "d", "c")]
    assert [count.is_crowded for count in counts] == [False, False, False, True, False, False]


def test_short_counts_are_removed_before_long_ones_that_were_first() -> None:
    clock = Clock()
    rates = LocalRates(clock)
    rates.take(OWN, [want(1, "long", Rate(10, 86_400))])
    for number in range(100):
        rates.take(OWN, [want(1, f"buyer {number}")])
    clock.now += 400
    # By requests of another organization: nobody uses this limit any more.
    for _ in range(200):
        rates.take(OrganizationId(OWN), [want(0, "x", Rate(10, 7))])
    assert len(rates) <= 2


def test_counts_that_have_ended_are_removed() -> None:
    clock = Clock()
    rates = LocalRates(clock)
    for number in range(100):
        rates.take(OWN, [want(1, f"buyer {number}")])
    clock.now += 400
    for _ in range(100):
        rates.take(OWN, [want(0, "buyer")])
    assert len(rates) <= 1
