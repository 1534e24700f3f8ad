"""What both brokers do alike: publishing, consuming, putting aside, and sending again."""

import multiprocessing
import os
import threading
import time
from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.adapters.rabbitmq import confirming
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

    def test_an_empty_batch_is_nothing(self, broker: BrokerUnderTest) -> None:
        publisher = broker.address.publisher()
        publisher.publish([])
        publisher.close()
        assert broker.address.published() == []

    def test_a_broker_that_says_nothing_is_waited_for_in_bounded_time(
        self, broker: BrokerUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(confirming, "CONFIRM_SECONDS_MAX", 1.0)
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

    def test_what_others_tell_us_is_kept_from_what_we_tell(self, broker: BrokerUnderTest) -> None:
        ours, theirs = new_message(), new_message()
        told, orders = Handling(), Handling()
        with (
            running(broker.address.consumer(), told),
            running(broker.address.consumer(ORDERS), orders),
        ):
            broker.address.send_to_us(theirs)
            broker.address.publish([ours])
            told.wait_for(ours)
            orders.wait_for(theirs)
        assert (told.got, orders.got) == ([ours], [theirs])

    def test_what_is_done_does_not_come_again(self, broker: BrokerUnderTest) -> None:
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
    def test_not_now_means_once_more_as_often_as_it_takes(self, broker: BrokerUnderTest) -> None:
        first, second = new_message(), new_message()
        handling = Handling([Handled.AGAIN] * (DELIVERIES_MAX + 3))
        with running(broker.address.consumer(), handling):
            broker.address.publish([first, second])
            handling.wait_for(second)
        assert handling.got == [first] * (DELIVERIES_MAX + 4) + [second]
        assert broker.address.dead_letters().peek(10) == []

    @pytest.mark.usefixtures("quick")
    def test_who_is_delayed_for_long_lets_the_others_pass(self, broker: BrokerUnderTest) -> None:
        delayed, others = new_message(), [new_message() for _ in range(20)]
        seen: list[UUID] = []

        def handle(message: Message) -> Handled:
            seen.append(message.id)
            is_settled = message != delayed or set(seen) > {delayed.id}
            return Handled.DONE if is_settled else Handled.AGAIN

        with running(broker.address.consumer(patience_seconds=1.0), handle):
            broker.address.publish([delayed, *others])
            wait_until(lambda: len(set(seen)) == 21 and seen[-1] == delayed.id, "all are done")
        # So often that it would have been put aside, had it been counted.
        assert seen.count(delayed.id) > DELIVERIES_MAX
        assert seen[-21:] == [*(message.id for message in others), delayed.id]
        assert broker.address.dead_letters().peek(10) == []
        # Nothing of it is left over, and nobody else has got it.
        broker.address.publish([last := new_message()])
        later = Handling()
        with running(broker.address.consumer(), later):
            later.wait_for(last)
        assert later.got == [last]

    def test_a_consumer_that_is_stopped_gives_back_at_once(self, broker: BrokerUnderTest) -> None:
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
    def test_everybody_finds_the_way_back_and_nothing_confirmed_is_lost(
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
        # What was not confirmed was sent again, and may have arrived before.
        assert _once_each(broker.address.published()) == [before, after]


class TestDying:
    def test_what_a_killed_consumer_left_is_finished_by_another(
        self, broker: BrokerUnderTest
    ) -> None:
        message = new_message()
        broker.address.publish([message])
        _die_handling(broker.address)
        handling = Handling()
        with running(broker.address.consumer(), handling):
            handling.wait_for(message)
        assert handling.got == [message]

    def test_what_kills_every_consumer_is_put_aside(self, broker: BrokerUnderTest) -> None:
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
class TestPuttingAside:
    def test_a_handler_that_raises_gets_it_again(self, broker: BrokerUnderTest) -> None:
        first, second = new_message(), new_message()
        handling = Handling([ValueError("no"), OSError("no")])
        with running(broker.address.consumer(), handling):
            broker.address.publish([first, second])
            handling.wait_for(first, second)
            wait_until(lambda: len(handling.got) == 4, "the tries")
        assert handling.ids.count(first.id) == 3
        assert broker.address.dead_letters().peek(10) == []

    def test_what_always_raises_is_put_aside_and_the_next_one_comes(
        self, broker: BrokerUnderTest
    ) -> None:
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

    def test_what_its_handler_refuses_is_put_aside_at_once(self, broker: BrokerUnderTest) -> None:
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
    def test_looking_changes_nothing(self, broker: BrokerUnderTest) -> None:
        refused = _refuse(broker, 5)
        dead_letters = broker.address.dead_letters()
        for _ in range(25):  # more often than a newer RabbitMQ would let us by itself
            assert [letter.message for letter in dead_letters.peek(3)] == refused[:3]
        assert [letter.message for letter in dead_letters.peek(100)] == refused

    def test_one_is_sent_again_and_the_others_stay(self, broker: BrokerUnderTest) -> None:
        first, second, third = _refuse(broker, 3)
        dead_letters = broker.address.dead_letters()
        assert dead_letters.replay(second.id) == 1
        assert dead_letters.replay(second.id) == 0
        handling = Handling()
        with running(broker.address.consumer(), handling):
            handling.wait_for(second)
        assert handling.got == [second]
        assert [letter.message for letter in dead_letters.peek(10)] == [first, third]

    def test_all_are_sent_again_once(self, broker: BrokerUnderTest) -> None:
        refused = _refuse(broker, 3)
        dead_letters, handling = broker.address.dead_letters(), Handling(always=Dead("not wanted"))
        assert dead_letters.replay() == 3
        with running(broker.address.consumer(), handling):
            handling.wait_for(*refused)
        assert handling.got == refused
        assert [letter.message for letter in dead_letters.peek(10)] == refused

    def test_an_order_goes_back_to_the_orders(self, broker: BrokerUnderTest) -> None:
        order = new_message()
        refusing, handling = Handling([Dead("not wanted")]), Handling()
        with running(broker.address.consumer(ORDERS), refusing):
            broker.address.send_to_us(order)
            refusing.wait_for(order)
        assert broker.address.dead_letters().replay() == 1
        with running(broker.address.consumer(ORDERS), handling):
            handling.wait_for(order)
        assert handling.got == [order]

    def test_a_broker_that_is_away_is_told(self, broker: BrokerUnderTest) -> None:
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
    """As the relay does. A broker that has just come back may take a while to confirm."""
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
    """A consumer in a process of its own, which ends in the middle of a message."""
    process = multiprocessing.get_context("spawn").Process(target=_consume_and_die, args=(address,))
    process.start()
    process.join(WAIT_SECONDS_MAX)
    assert process.exitcode == 9


def _consume_and_die(address: BrokerAddress) -> None:
    def die(_message: Message) -> Handled:
        os._exit(9)

    address.consumer().run(die, threading.Event())
