"""The circuit breaker in front of the Inventory Service."""

import pytest

from holdfast.services.inventory.circuit import (
    FAILURES_MAX,
    OPEN_SECONDS,
    TRIAL_SECONDS,
    Circuit,
    CircuitState,
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(clock: Clock) -> Circuit:
    circuit = Circuit(clock)
    for _ in range(FAILURES_MAX):
        assert circuit.may_try()
        circuit.failed()
    assert circuit.state is CircuitState.OPEN
    return circuit


def test_a_success_forgets_earlier_failures(clock: Clock) -> None:
    circuit = Circuit(clock)
    for _ in range(3):
        for _ in range(FAILURES_MAX - 1):
            circuit.failed()
        circuit.succeeded()
    assert circuit.state is CircuitState.CLOSED
    assert circuit.may_try()


def test_it_lets_nothing_pass_for_a_while_and_then_one_trial(clock: Clock, opened: Circuit) -> None:
    assert not opened.may_try()
    clock.now += OPEN_SECONDS
    assert opened.state is CircuitState.HALF_OPEN
    assert [opened.may_try() for _ in range(3)] == [True, False, False]


def test_a_successful_trial_closes_it(clock: Clock, opened: Circuit) -> None:
    clock.now += OPEN_SECONDS
    assert opened.may_try()
    opened.succeeded()
    assert opened.state is CircuitState.CLOSED
    assert all(opened.may_try() for _ in range(3))


def test_a_failed_trial_opens_it_again(clock: Clock, opened: Circuit) -> None:
    clock.now += OPEN_SECONDS
    assert opened.may_try()
    opened.failed()
    assert opened.state is CircuitState.OPEN
    assert not opened.may_try()
    clock.now += OPEN_SECONDS
    assert opened.may_try()


def test_a_trial_that_is_given_up_makes_way_for_another(clock: Clock, opened: Circuit) -> None:
    clock.now += OPEN_SECONDS
    assert opened.may_try()
    opened.withdrew()
    assert opened.may_try()


def test_a_trial_that_nobody_hears_of_is_forgotten(clock: Clock, opened: Circuit) -> None:
    clock.now += OPEN_SECONDS
    assert opened.may_try()
    clock.now += TRIAL_SECONDS
    assert opened.may_try()
