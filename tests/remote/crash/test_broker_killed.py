"""kill -9 of RabbitMQ while holds are made and end. Both services agree within a minute although it
is away, and still do when it returns with the messages that it had kept."""

from collections.abc import Iterator

import pytest

from holdfast.adapters.rabbitmq.dead_letters import RabbitDeadLetters
from tests.remote.agreement import assert_agree
from tests.remote.crash.bursts import OPERATIONS, Burst
from tests.remote.layout import TwoServices
from tests.support.auditing import rows
from tests.support.patience import wait_until
from tests.support.rabbit import RabbitBroker

UNPUBLISHED = """
SELECT FROM outbox o JOIN relay_cursor c USING (partition) WHERE (o.xid, o.seq) > (c.xid, c.seq)
"""


@pytest.fixture
def killable(rabbit: RabbitBroker) -> Iterator[RabbitBroker]:
    yield rabbit
    if not rabbit.is_running:
        rabbit.start()


@pytest.mark.parametrize(
    "operations",
    [OPERATIONS, *(pytest.param((each,), marks=pytest.mark.long) for each in OPERATIONS)],
    ids=" and ".join,
)
def test_killed_during_a_burst(
    services: TwoServices, killable: RabbitBroker, operations: tuple[str, ...]
) -> None:
    burst = Burst(services, operations)
    burst.run(killable.kill_at_once)
    burst.finish()
    assert_agree(services)
    killable.start()
    url = services.holds.database_url
    wait_until(lambda: not rows(url, UNPUBLISHED), "the relay has caught up")
    assert_agree(services)
    burst.assert_happened()
    assert not RabbitDeadLetters(services.amqp_url).peek(10)
