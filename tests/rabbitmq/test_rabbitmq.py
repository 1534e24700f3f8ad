"""Behaviour specific to RabbitMQ: routing, refusals, and the queues as operators see them."""

import time

import pytest

from holdfast.adapters.rabbitmq import publisher as publishing
from holdfast.adapters.rabbitmq.connections import connected
from holdfast.adapters.rabbitmq.publisher import RabbitPublisher
from holdfast.adapters.rabbitmq.topology import FACTS, INBOUND, declare
from holdfast.ports.facts.deliveries import ORDERS
from holdfast.ports.facts.log import Dead, PublishFailed, Unroutable
from tests.support.brokers import BrokerUnderTest, Handling, new_message, running
from tests.support.patience import wait_until
from tests.support.rabbit import RabbitBroker


def test_the_queues_are_durable_quorum_queues(
    rabbit: RabbitBroker, rabbit_alone: BrokerUnderTest
) -> None:
    rabbit_alone.address.publish([new_message()])
    vhost = rabbit_alone.address.url.rpartition("/")[2]
    listed = rabbit.ctl("list_queues", "-p", vhost, "--no-table-headers", "name", "type", "durable")
    assert {tuple(line.split()) for line in listed.splitlines()} == {
        ("holdfast.facts", "quorum", "true"),
        ("holdfast.endings", "quorum", "true"),
        ("holdfast.notifications", "quorum", "true"),
        ("holdfast.orders", "quorum", "true"),
        ("holdfast.dead-letters", "quorum", "true"),
    }


def test_unroutable_messages_are_reported_by_type(rabbit_alone: BrokerUnderTest) -> None:
    publisher = RabbitPublisher(rabbit_alone.address.url, facts_queue=None)
    with pytest.raises(Unroutable) as unroutable:
        publisher.publish([new_message(name) for name in ("seat.sold", "order.confirmed", "a.b")])
    assert unroutable.value.types == ("a.b", "seat.sold")
    publisher.publish([new_message("order.confirmed")])
    publisher.close()


def test_a_refused_message_is_not_confirmed(
    rabbit_alone: BrokerUnderTest,
) -> None:
    publisher = rabbit_alone.address.publisher()
    publisher.publish([new_message()])
    with connected(rabbit_alone.address.url) as connection:
        channel = connection.channel()
        full = {"x-max-length": 1, "x-overflow": "reject-publish"}
        channel.queue_declare("full", durable=True, auto_delete=False, arguments=full)
        channel.queue_bind("full", FACTS, "hold.created")
    with pytest.raises(PublishFailed, match="refused"):
        publisher.publish([new_message("hold.created") for _ in range(10)])
    publisher.publish([new_message("hold.expired")])
    publisher.close()


def test_a_connection_closed_by_the_broker_is_reopened(
    rabbit: RabbitBroker, rabbit_alone: BrokerUnderTest
) -> None:
    publisher = rabbit_alone.address.publisher()
    publisher.publish([first := new_message()])
    rabbit.ctl("close_all_connections", "--global", "for the test")
    with pytest.raises(PublishFailed):
        publisher.publish([new_message()])
    publisher.publish([second := new_message()])
    publisher.close()
    assert rabbit_alone.address.published() == [first, second]


def test_a_publisher_reconnects_after_a_long_idle_time(
    rabbit: RabbitBroker, rabbit_alone: BrokerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = rabbit_alone.address.publisher()
    publisher.publish([first := new_message()])
    rabbit.ctl("close_all_connections", "--global", "as after missed heartbeats")
    monkeypatch.setattr(publishing, "HEARTBEAT_SECONDS", 0)
    publisher.publish([second := new_message()])
    publisher.close()
    assert rabbit_alone.address.published() == [first, second]


def test_a_message_without_an_id_is_known_by_its_content(
    rabbit_alone: BrokerUnderTest,
) -> None:
    handling = Handling([Dead("not wanted")])
    with running(rabbit_alone.address.consumer(ORDERS), handling):
        with connected(rabbit_alone.address.url) as connection:
            channel = connection.channel()
            declare(channel)
            for body in (b"one", b"two", b"one"):
                raw = channel.prepare_message(body, headers={"count": 3, "x-secret": "aside"})
                channel.basic_publish(raw, INBOUND, "order.confirmed")
            channel.close()
        wait_until(lambda: len(handling.got) == 3, "three messages arrive")
    first, second, again = handling.got
    assert (first.type, first.headers) == ("order.confirmed", {"count": "3"})
    assert first == again
    assert first.id != second.id
    (letter,) = rabbit_alone.address.dead_letters().peek(5)
    assert letter.message == first


@pytest.mark.parametrize("encoding", ["unicode_escape", "utf-16", "utf-8", "rot13", "\ud800"])
def test_a_body_is_unchanged_whatever_its_declared_encoding(
    rabbit_alone: BrokerUnderTest, encoding: str
) -> None:
    body = b'"\\ud800" \xff'
    handling = Handling([Dead("not wanted")])
    with running(rabbit_alone.address.consumer(ORDERS), handling):
        with connected(rabbit_alone.address.url) as connection:
            channel = connection.channel()
            declare(channel)
            raw = channel.prepare_message(
                body,
                content_encoding=encoding,
                headers={"half": "\udc00", b"\xff": b"\xff"},
                properties={"message_id": "half \ud800", "type": "order.\ud800"},
            )
            channel.basic_publish(raw, INBOUND, "order.confirmed")
            channel.close()
        wait_until(lambda: len(handling.got) == 1, "it arrives")
    dead_letters = rabbit_alone.address.dead_letters()
    (letter,) = dead_letters.peek(5)
    assert letter.message == handling.got[0]
    assert (letter.message.body, letter.message.type) == (body, "order.?")
    assert letter.message.headers == {"half": "?", "\ufffd": "\ufffd"}
    assert dead_letters.replay(letter.message.id) == 1


def test_a_message_with_an_empty_body_is_delivered(rabbit_alone: BrokerUnderTest) -> None:
    handling = Handling()
    with running(rabbit_alone.address.consumer(), handling):
        rabbit_alone.address.publish([empty := new_message(body=b"")])
        handling.wait_for(empty)
    assert handling.got == [empty]


def test_a_replay_reaches_only_the_original_queue(
    rabbit_alone: BrokerUnderTest,
) -> None:
    handling = Handling([Dead("not wanted")])
    with running(rabbit_alone.address.consumer(), handling):
        rabbit_alone.address.publish([message := new_message()])
        handling.wait_for(message)
    assert rabbit_alone.address.dead_letters().replay(message.id) == 1
    assert rabbit_alone.address.published() == [message]


def test_five_thousand_facts_are_confirmed_in_batches(
    rabbit_alone: BrokerUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [new_message("hold.created", b"x" * 400) for _ in range(5_000)]
    publisher = rabbit_alone.address.publisher()
    publisher.publish([])  # connects
    began = time.monotonic()
    for start in range(0, len(messages), 500):
        publisher.publish(messages[start : start + 500])
    seconds = time.monotonic() - began
    publisher.close()
    with capsys.disabled():
        print(  # noqa: T201
            f"\nRabbitMQ confirmed {len(messages) / seconds:,.0f} facts/s in batches of 500"
        )
    assert rabbit_alone.address.published() == messages
