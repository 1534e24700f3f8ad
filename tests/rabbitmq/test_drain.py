"""Consuming what waits, and no more, as the workers do."""

import pytest

from holdfast.adapters.rabbitmq.consumer import LINK_ERRORS, RabbitConsumer
from holdfast.ports.facts.deliveries import DELIVERIES_MAX, NOTIFICATIONS, TOO_OFTEN
from holdfast.ports.facts.log import Handled
from tests.support.brokers import BrokerUnderTest, Handling, new_message
from tests.support.patience import PATIENCE_SECONDS, wait_until
from tests.support.servers import free_port


@pytest.fixture
def consumer(rabbit_alone: BrokerUnderTest) -> RabbitConsumer:
    return RabbitConsumer(rabbit_alone.address.url, NOTIFICATIONS.queue)


def test_it_ends_when_every_message_is_handled(
    rabbit_alone: BrokerUnderTest, consumer: RabbitConsumer
) -> None:
    rabbit_alone.address.publish(messages := [new_message() for _ in range(20)])
    handling = Handling()
    consumer.drain(handling, PATIENCE_SECONDS)
    assert handling.got == messages
    consumer.drain(handling, PATIENCE_SECONDS)
    assert handling.got == messages, "they are acknowledged"


def test_it_ends_when_its_time_is_up(
    rabbit_alone: BrokerUnderTest, consumer: RabbitConsumer
) -> None:
    rabbit_alone.address.publish([new_message()])
    consumer.drain(late := Handling(), 0.0)
    assert late.got == []
    consumer.drain(handling := Handling(), PATIENCE_SECONDS)
    assert len(handling.got) == 1


@pytest.mark.usefixtures("quick")
def test_a_message_that_fails_each_time_becomes_a_dead_letter(
    rabbit_alone: BrokerUnderTest, consumer: RabbitConsumer
) -> None:
    rabbit_alone.address.publish([bad := new_message(), good := new_message()])
    handling = Handling([RuntimeError("of the test")] * DELIVERIES_MAX)
    wait_until(lambda: good in _drained(consumer, handling), "the other is handled")
    assert handling.got.count(bad) == DELIVERIES_MAX
    dead_letters = rabbit_alone.address.dead_letters()
    wait_until(lambda: len(dead_letters.peek(2)) == 1, "it is a dead letter")
    (letter,) = dead_letters.peek(2)
    assert (letter.message, letter.reason) == (bad, TOO_OFTEN)


@pytest.mark.usefixtures("quick")
def test_a_message_that_must_wait_is_never_a_failure(
    rabbit_alone: BrokerUnderTest, consumer: RabbitConsumer
) -> None:
    """A mail server may be down for many turns."""
    rabbit_alone.address.publish([waiting := new_message()])
    handling = Handling(always=Handled.AGAIN)
    for _ in range(DELIVERIES_MAX + 2):
        consumer.drain(handling, 0.1)
    handling.always = Handled.DONE
    handling.got.clear()
    consumer.drain(handling, PATIENCE_SECONDS)
    assert handling.got == [waiting]
    assert rabbit_alone.address.dead_letters().peek(1) == []


def test_an_unreachable_broker_is_an_error() -> None:
    nobody = RabbitConsumer(f"amqp://127.0.0.1:{free_port()}", NOTIFICATIONS.queue)
    with pytest.raises(LINK_ERRORS):
        nobody.drain(Handling(), 1.0)


def _drained(consumer: RabbitConsumer, handling: Handling) -> list[object]:
    """All that was handled so far: a message that was refused takes a moment to come back."""
    consumer.drain(handling, PATIENCE_SECONDS)
    return list(handling.got)
