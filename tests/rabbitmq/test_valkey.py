"""Behaviour specific to streams: several groups on one stream."""

from contextlib import closing

from holdfast.adapters.redis import streams
from holdfast.ports.facts.deliveries import MALFORMED, NOTIFICATIONS, Subscription
from holdfast.ports.facts.log import Dead
from tests.support.brokers import BrokerUnderTest, Handling, new_message, running
from tests.support.patience import wait_until

OTHERS = Subscription("others", NOTIFICATIONS.types)


def test_every_group_gets_every_message(valkey_alone: BrokerUnderTest) -> None:
    ours, theirs = Handling(), Handling()
    with (
        running(valkey_alone.address.consumer(), ours),
        running(valkey_alone.address.consumer(OTHERS), theirs),
    ):
        valkey_alone.address.publish([message := new_message()])
        ours.wait_for(message)
        theirs.wait_for(message)
    assert (ours.got, theirs.got) == ([message], [message])


def test_the_consumers_of_a_group_share_the_work(valkey_alone: BrokerUnderTest) -> None:
    one, other = Handling(), Handling()
    messages = [new_message() for _ in range(200)]
    with (
        running(valkey_alone.address.consumer(), one),
        running(valkey_alone.address.consumer(), other),
    ):
        valkey_alone.address.publish(messages)
        wait_until(lambda: len(one.got) + len(other.got) >= len(messages), "all are handled")
    assert sorted(one.ids + other.ids) == sorted(message.id for message in messages)


def test_a_replay_reaches_only_the_original_group(
    valkey_alone: BrokerUnderTest,
) -> None:
    refusing, theirs = Handling([Dead("not wanted")]), Handling()
    with (
        running(valkey_alone.address.consumer(), refusing),
        running(valkey_alone.address.consumer(OTHERS), theirs),
    ):
        valkey_alone.address.publish([message := new_message()])
        theirs.wait_for(message)
        wait_until(lambda: valkey_alone.address.dead_letters().replay() == 1, "it can be replayed")
        wait_until(lambda: len(refusing.got) == 2, "it comes again")
        valkey_alone.address.publish([last := new_message()])
        theirs.wait_for(last)
    assert theirs.got == [message, last]


def test_a_malformed_entry_becomes_a_dead_letter(valkey_alone: BrokerUnderTest) -> None:
    handling = Handling()
    with closing(streams.connect(valkey_alone.address.url)) as client:
        client.xadd(streams.FACTS, {"type": b"order.confirmed \xff", "nobody": "knows"})
    with running(valkey_alone.address.consumer(), handling):
        valkey_alone.address.publish([message := new_message()])
        handling.wait_for(message)
    assert handling.got == [message]
    (letter,) = valkey_alone.address.dead_letters().peek(5)
    assert (letter.message.type, letter.reason) == ("order.confirmed \ufffd", MALFORMED)


def test_a_stopped_consumer_removes_itself_from_the_group(valkey_alone: BrokerUnderTest) -> None:
    handling = Handling()
    with running(valkey_alone.address.consumer(), handling):
        valkey_alone.address.publish([message := new_message()])
        handling.wait_for(message)
    with closing(streams.connect(valkey_alone.address.url)) as client:
        assert client.xinfo_consumers(streams.FACTS, NOTIFICATIONS.queue) == []


def test_consumers_recover_after_valkey_was_flushed(valkey_alone: BrokerUnderTest) -> None:
    handling = Handling()
    with running(valkey_alone.address.consumer(), handling):
        valkey_alone.address.publish([first := new_message()])
        handling.wait_for(first)
        with closing(streams.connect(valkey_alone.address.url)) as client:
            client.flushall()
        valkey_alone.address.publish([second := new_message()])
        handling.wait_for(second)
