"""A relay killed at every step: nothing is lost, and duplicates have the same id."""

import multiprocessing
import signal
from collections import Counter

import pytest

from tests.relay.crashing import Step, relay_and_die
from tests.relay.stage import Stage
from tests.support.brokers import BrokerUnderTest

PROCESS_SECONDS_MAX = 60


QUIET_STEPS = (Step.BEFORE_READING, Step.AFTER_READING)
# Before anything is published, there is nothing to lose.
STEPS = [
    *(pytest.param(step, marks=pytest.mark.long) for step in QUIET_STEPS),
    *(step for step in Step if step not in QUIET_STEPS),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.value)
def test_a_killed_relay_loses_nothing(stage: Stage, broker: BrokerUnderTest, step: Step) -> None:
    stage.place_and_release(100)
    process = multiprocessing.get_context("spawn").Process(
        target=relay_and_die, args=(stage.url, broker.address, step)
    )
    process.start()
    process.join(PROCESS_SECONDS_MAX)
    assert process.exitcode == -signal.SIGKILL
    stage.relay_all(broker.address.publisher())
    messages = broker.address.published()
    stage.assert_arrived(messages)
    assert _duplicates([message.id for message in messages]) == _expected_duplicates(stage, step)


def _duplicates(ids: list[object]) -> int:
    return sum(count - 1 for count in Counter(ids).values())


def _expected_duplicates(stage: Stage, step: Step) -> int:
    """The duplicates of the first partition, which prove that it died at that step."""
    first = sum(fact.partition == 0 for fact in stage.stored())
    assert first > 1
    return {Step.AFTER_HALF: first // 2, Step.BEFORE_CURSOR: first}.get(step, 0)
