"""A relay killed at every step: nothing is lost, and what is told twice has the same id."""

import multiprocessing
import signal
from collections import Counter

import pytest

from tests.relay.crashing import Step, relay_and_die
from tests.relay.stage import Stage
from tests.support.brokers import BrokerUnderTest

PROCESS_SECONDS_MAX = 60


@pytest.mark.parametrize("step", Step, ids=lambda step: step.value)
def test_killed_at_every_step(stage: Stage, broker: BrokerUnderTest, step: Step) -> None:
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
    assert _told_twice([message.id for message in messages]) == _expected_twice(stage, step)


def _told_twice(ids: list[object]) -> int:
    return sum(count - 1 for count in Counter(ids).values())


def _expected_twice(stage: Stage, step: Step) -> int:
    """It died over the first partition: which shows that it died where it was to."""
    first = sum(fact.partition == 0 for fact in stage.stored())
    assert first > 1
    return {Step.AFTER_HALF: first // 2, Step.BEFORE_CURSOR: first}.get(step, 0)
