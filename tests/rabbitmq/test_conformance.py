"""Behaviour common to both brokers: publishing, consuming, dead letters and replay."""

import multiprocessing
import os
import threading
import time
from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.adapters.rabbitmq import confirms
from holdfast.adapters.redis import streams
from holdfast.ports.facts.deliveries import DELIVERIES_MAX, NOTIFICATIONS, ORDERS, TOO_OFTEN
from holdfast.ports.facts.log import Dead, Handled, Message, Publisher, PublishFailed
from tests.support.brokers import (
    WAIT_SECONDS_MAX,
    BrokerAddress,
    BrokerUnderTest,
    Handling,
    new_message,
    running,
)
from tests.support.patience import wait_until
from tests.support.servers import free_port


class TestPublishing:
    def test_every_message_arrives_whole_and_in_order(self, broker: BrokerUnderTest) -> None:
        messages = [new_message(f"hold.type-{n % 7}", b"%d \xc3\xa4" % n) for n in range(300)]
        publisher = broker.address.publisher()
        for start in range(0, 300, 100):
            publisher.publish(messages[start : start + 100])
        publisher.close()
        assert broker.address.published() == messages

    def test_an_empty_batch_publishes_nothing(self, broker: BrokerUnderTest) -> None:
        publisher = broker.address.publisher()
        publisher.publish([])
        publisher.close()
        assert broker.address.published() == []

    def test_publishing_to_a_silent_broker_times_out(
        self, broker: BrokerUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(confirms, "CONFIRM_SECONDS_MAX", 1.0)
        monkeypatch.setattr(streams, "TIMEOUT_SECONDS", 1.0)
        publisher = broker.address.publisher()
        publisher.publish([new_message()])
        with broker.silent():
            began = time.monotonic()
            with pytest.raises(PublishFailed):
                publisher.publish([new_message()])
            assert time.monotonic() - began < 10
        publisher.publish([last := new_message()])
        publisher.close()
        assert broker.address.published()[-1] == last


class TestConsuming:
    def test_a_message_arrives_whole(self, broker: BrokerUnderTest) -> None:
        handling, message = Handling(), new_message()
        with running(broker.address.consumer(), handling):
            broker.address.publish([message])
            handling.wait_for(message)
        assert handling.got == [message]

    def test_a_consumer_gets_its_own_types_in_order(self, broker: BrokerUnderTest) -> None:
        types = ["hold.created", "hold.expiring", "seat.sold", "order.confirmed"] * 25
        messages = [new_message(message_type) for message_type in types]
        broker.address.publish(messages)
        handling = Handling()
        wanted = [message for message in messages if message.type in NOTIFICATIONS.types]
        with running(broker.address.consumer(), handling):
            handling.wait_for(*wanted)
        assert handling.got == wanted

    def test_inbound_messages_and_our_facts_are_separate(self, broker: BrokerUnderTest) -> None:
        ours, theirs = new_message(), new_message()
        notices, orders = Handling(), Handling()
        with (
            running(broker.address.consumer(), notices),
            running(broker.address.consumer(ORDERS), orders),
        ):
            broker.address.send_to_us(theirs)
            broker.address.publish([ours])
            notices.wait_for(ours)
            orders.wait_for(theirs)
        assert (notices.got, orders.got) == ([ours], [theirs])

    def test_a_handled_message_is_not_delivered_again(self, broker: BrokerUnderTest) -> None:
        first, second = new_message(), new_message()
        handling = Handling()
        with running(broker.address.consumer(), handling):
            broker.address.publish([first])
            handling.wait_for(first)
        broker.address.publish([second])
        later = Handling()
        with running(broker.address.consumer(), later):
            later.wait_for(second)
        assert later.got == [second]

    @pytest.mark.usefixtures("quick")
    def test_a_deferred_message_is_retried_without_limit(self, broker: BrokerUnderTest) -> None:
        first, second = new_message(), new_message()
        handling = Handling([Handled.AGAIN] * (DELIVERIES_MAX + 3))
        with running(broker.address.consumer(), handling):
            broker.address.publish([first, second])
            handling.wait_for(second)
        assert handling.got == [first] * (DELIVERIES_MAX + 4) + [second]
        assert broker.address.dead_letters().peek(10) == []

    @pytest.mark.usefixtures("quick")
    def test_a_message_deferred_for_long_lets_others_pass(self, broker: BrokerUnderTest) -> None:
        delayed, others = new_message(), [new_message() for _ in range(20)]
        seen: list[UUID] = []

        def handle(message: Message) -> Handled:
            seen.append(message.id)
            is_settled = message != delayed or set(seen) > {delayed.id}
            return Handled.DONE if is_settled else Handled.AGAIN

        with running(broker.address.consumer(patience_seconds=1.0), handle):
            broker.address.publish([delayed, *others])
            wait_until(lambda: len(set(seen)) == 21 and seen[-1] == delayed.id, "all are done")
        # More than enough deliveries to become a dead letter, had they been counted.
        assert seen.count(delayed.id) > DELIVERIES_MAX
        assert seen[-21:] == [*(message.id for message in others), delayed.id]
        assert broker.address.dead_letters().peek(10) == []
        # Nothing of it is left over, and nobody else got it.
        broker.address.publish([last := new_message()])
        later = Handling()
        with running(broker.address.consumer(), later):
            later.wait_for(last)
        assert later.got == [last]

    def test_a_stopped_consumer_returns_its_messages_at_once(self, broker: BrokerUnderTest) -> None:
        messages = [new_message() for _ in range(5)]
        busy = Handling(always=Handled.AGAIN)
        with running(broker.address.consumer(), busy):
            broker.address.publish(messages)
            busy.wait_for(messages[0])
        handling = Handling()
        with running(broker.address.consumer(), handling):
            handling.wait_for(*messages)
        assert handling.got == messages


class TestCrashingBroker:
    def test_clients_reconnect_and_no_confirmed_message_is_lost(
        self, broker: BrokerUnderTest
    ) -> None:
        before, after = new_message(), new_message()
        handling, publisher = Handling(), broker.address.publisher()
        with running(broker.address.consumer(), handling):
            publisher.publish([before])
            handling.wait_for(before)
            broker.server.kill()
            with pytest.raises(PublishFailed):
                publisher.publish([after])
            broker.server.start()
            _publish_until_taken(publisher, after)
            handling.wait_for(after)
        publisher.close()
        # Unconfirmed messages were sent again, and may have arrived before.
        assert _once_each(broker.address.published()) == [before, after]


class TestKilledConsumers:
    def test_another_consumer_finishes_the_message_of_a_killed_one(
        self, broker: BrokerUnderTest
    ) -> None:
        message = new_message()
        broker.address.publish([message])
        _die_handling(broker.address)
        handling = Handling()
        with running(broker.address.consumer(), handling):
            handling.wait_for(message)
        assert handling.got == [message]

    def test_a_message_that_kills_consumers_is_dead_lettered(self, broker: BrokerUnderTest) -> None:
        poison, harmless = new_message(body=b"poison"), new_message()
        broker.address.publish([poison])
        for _ in range(DELIVERIES_MAX):
            _die_handling(broker.address)
        handling = Handling()
        with running(broker.address.consumer(), handling):
            broker.address.publish([harmless])
            handling.wait_for(harmless)
            _wait_for_dead_letters(broker, 1)
        assert handling.got == [harmless]
        (letter,) = broker.address.dead_letters().peek(10)
        assert (letter.message, letter.reason) == (poison, TOO_OFTEN)


@pytest.mark.usefixtures("quick")
class TestFailingHandlers:
    def test_a_message_is_redelivered_after_an_exception(self, broker: BrokerUnderTest) -> None:
        first, second = new_message(), new_message()
        handling = Handling([ValueError("no"), OSError("no")])
        with running(broker.address.consumer(), handling):
            broker.address.publish([first, second])
            handling.wait_for(first, second)
            wait_until(lambda: len(handling.got) == 4, "the tries")
        assert handling.ids.count(first.id) == 3
        assert broker.address.dead_letters().peek(10) == []

    def test_a_message_that_always_raises_is_dead_lettered(self, broker: BrokerUnderTest) -> None:
        poison, harmless = new_message(), new_message()
        handling = Handling([ValueError("no")] * DELIVERIES_MAX)
        with running(broker.address.consumer(), handling):
            broker.address.publish([poison])
            _wait_for_dead_letters(broker, 1)
            broker.address.publish([harmless])
            handling.wait_for(harmless)
        assert handling.got == [poison] * DELIVERIES_MAX + [harmless]
        (letter,) = broker.address.dead_letters().peek(10)
        assert letter.message == poison
        assert (letter.queue, letter.reason) == (NOTIFICATIONS.queue, TOO_OFTEN)

    def test_a_refused_message_is_dead_lettered_at_once(self, broker: BrokerUnderTest) -> None:
        refused, harmless = new_message(), new_message()
        handling = Handling([Dead("not wanted")])
        with running(broker.address.consumer(), handling):
            broker.address.publish([refused, harmless])
            handling.wait_for(harmless)
        assert handling.got == [refused, harmless]
        (letter,) = broker.address.dead_letters().peek(10)
        assert letter.message == refused
        assert (letter.queue, letter.reason) == (NOTIFICATIONS.queue, "not wanted")


class TestDeadLetters:
    def test_peeking_changes_nothing(self, broker: BrokerUnderTest) -> None:
        refused = _refuse(broker, 5)
        dead_letters = broker.address.dead_letters()
        for _ in range(25):  # more often than a newer RabbitMQ allows by default
            assert [letter.message for letter in dead_letters.peek(3)] == refused[:3]
        assert [letter.message for letter in dead_letters.peek(100)] == refused

    def test_one_can_be_replayed_and_the_others_stay(self, broker: BrokerUnderTest) -> None:
        first, second, third = _refuse(broker, 3)
        dead_letters = broker.address.dead_letters()
        assert dead_letters.replay(second.id) == 1
        assert dead_letters.replay(second.id) == 0
        handling = Handling()
        with running(broker.address.consumer(), handling):
            handling.wait_for(second)
        assert handling.got == [second]
        assert [letter.message for letter in dead_letters.peek(10)] == [first, third]

    def test_all_are_replayed_once(self, broker: BrokerUnderTest) -> None:
        refused = _refuse(broker, 3)
        dead_letters, handling = broker.address.dead_letters(), Handling(always=Dead("not wanted"))
        assert dead_letters.replay() == 3
        with running(broker.address.consumer(), handling):
            handling.wait_for(*refused)
        assert handling.got == refused
        assert [letter.message for letter in dead_letters.peek(10)] == refused

    def test_an_inbound_order_is_replayed_to_the_order_queue(self, broker: BrokerUnderTest) -> None:
        order = new_message()
        refusing, handling = Handling([Dead("not wanted")]), Handling()
        with running(broker.address.consumer(ORDERS), refusing):
            broker.address.send_to_us(order)
            refusing.wait_for(order)
        assert broker.address.dead_letters().replay() == 1
        with running(broker.address.consumer(ORDERS), handling):
            handling.wait_for(order)
        assert handling.got == [order]

    def test_an_unreachable_broker_raises_publish_failed(self, broker: BrokerUnderTest) -> None:
        nobody = replace(
            broker.address,
            url=broker.address.url.replace(str(broker.server.port), str(free_port())),
        )
        with pytest.raises(PublishFailed):
            nobody.dead_letters().peek(1)
        with pytest.raises(PublishFailed):
            nobody.dead_letters().replay()


def _once_each(messages: list[Message]) -> list[Message]:
    return list({message.id: message for message in messages}.values())


def _publish_until_taken(publisher: Publisher, message: Message) -> None:
    """Publish as the relay does: a broker that just restarted may need a while to confirm."""
    deadline = time.monotonic() + 2 * WAIT_SECONDS_MAX
    while True:
        try:
            publisher.publish([message])
        except PublishFailed:
            assert time.monotonic() < deadline
        else:
            return


def _refuse(broker: BrokerUnderTest, count: int) -> list[Message]:
    messages = [new_message(body=b"%d" % n) for n in range(count)]
    handling = Handling(always=Dead("not wanted"))
    with running(broker.address.consumer(), handling):
        broker.address.publish(messages)
        handling.wait_for(*messages)
    return messages


def _wait_for_dead_letters(broker: BrokerUnderTest, count: int) -> None:
    dead_letters = broker.address.dead_letters()
    wait_until(lambda: len(dead_letters.peek(count + 1)) == count, f"{count} dead letters")


def _die_handling(address: BrokerAddress) -> None:
    """Run a consumer in a separate process that dies while handling a message."""
    process = multiprocessing.get_context("spawn").Process(target=_consume_and_die, args=(address,))
    process.start()
    process.join(WAIT_SECONDS_MAX)
    assert process.exitcode == 9


def _consume_and_die(address: BrokerAddress) -> None:
    def die(_message: Message) -> Handled:
        os._exit(9)

    address.consumer().run(die, threading.Event())
