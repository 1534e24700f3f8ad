"""The relay on real brokers: everything arrives, in the order of each hold, whatever fails."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from uuid import UUID

import pytest

from holdfast.adapters.postgres.facts.inbox import PostgresInbox
from holdfast.adapters.postgres.facts.outbox import PostgresOutbox
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.rabbitmq.connections import Channel, connected
from holdfast.adapters.rabbitmq.messages import from_raw
from holdfast.adapters.rabbitmq.publisher import RabbitPublisher
from holdfast.adapters.rabbitmq.topology import FACTS, declare
from holdfast.domain.group.origin import Receipt
from holdfast.domain.ids import HoldId
from holdfast.ports.facts.deliveries import PAUSE_SECONDS_MAX
from holdfast.ports.facts.log import PARTITIONS, Message, Publisher, PublishFailed, Unroutable
from holdfast.services.facts import relay as relaying
from holdfast.services.facts.relay import AFTER_STORE_ERROR_SECONDS, BATCH, IDLE_SECONDS
from tests.relay.stage import Listed, Stage
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

LOAD_ROUNDS = 40


def test_everything_arrives_once_and_in_order(stage: Stage, broker: BrokerUnderTest) -> None:
    stage.place_and_release(300)
    stage.relay_all(broker.address.publisher())
    stage.assert_arrived(broker.address.published(), once=True)


def test_several_batches_arrive_in_order(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaying, "BATCH", 5)
    stage.place_and_release(100)
    published = Listed([])
    stage.relay_all(published)
    stage.assert_arrived(published.messages, once=True)


def test_two_relays_share_the_work(stage: Stage, broker: BrokerUnderTest) -> None:
    publishers = [_Watched(broker.address.publisher()) for _ in range(2)]
    with _relaying(stage, *publishers):
        for _ in range(LOAD_ROUNDS):
            stage.place_and_release(20)
        stage.wait_until_relayed()
    stage.assert_arrived(broker.address.published(), once=True)
    assert all(publisher.count for publisher in publishers), "one of them did nothing"


def test_a_broker_outage_loses_nothing(stage: Stage, broker: BrokerUnderTest, quick: None) -> None:
    """The broker is killed under load and returns when a backlog has built up."""
    relayed_before = _Watched(broker.address.publisher())
    with _relaying(stage, relayed_before):
        stage.place_and_release(50)
        wait_until(lambda: relayed_before.count > 0, "something is relayed")
        broker.server.kill()
        for _ in range(10):
            stage.place_and_release(20)
        broker.server.start()
        stage.place_and_release(50)
        stage.wait_until_relayed()
    stage.assert_arrived(broker.address.published())


def test_unroutable_facts_wait_for_a_queue(
    stage: Stage, rabbit_alone: BrokerUnderTest, quick: None
) -> None:
    """Facts of other partitions do not wait; once a queue is bound, all arrive."""
    url = rabbit_alone.address.url
    with connected(url) as connection:
        channel = connection.channel()
        declare(channel)
        channel.queue_declare("early", durable=True, auto_delete=False)
        channel.queue_bind("early", FACTS, "seat.blocked")
        hold_id, seat = _hold_and_seat_of_different_partitions(stage)
        stage.ask(stage.venue.block(seat))
        with _relaying(stage, RabbitPublisher(url, None)):
            sent: list[Message] = []
            wait_until(lambda: bool(_take(channel, "early", sent)), "the fact of the seat arrives")
            assert {message.type for message in sent} == {"seat.blocked"}
            channel.queue_declare("late", durable=True, auto_delete=False)
            channel.queue_bind("late", FACTS, "#")
            stage.wait_until_relayed()
        _take(channel, "late", sent)
    assert hold_id in {fact.subject for fact in stage.stored()}
    stage.assert_arrived(sent)


def test_an_unroutable_fact_is_soon_sent_alone(stage: Stage, quick: None) -> None:
    """The others of its batch are sent again each time, which must be bounded."""
    hold_id = stage.place_and_release(1)[0]
    stage.ask(*(stage.venue.place(("standing", 1), hold_id=each) for each in _neighbours(hold_id)))
    sent: list[Message] = []

    def refuse_the_first(messages: Sequence[Message]) -> None:
        sent.extend(messages)
        if any(message.type == "hold.cancelled" for message in messages):
            raise Unroutable(["hold.cancelled"])

    with stage.relay(Listed([], refuse_the_first)) as relay:
        wait_until(lambda: _tend(relay) and sent[-1].type == "hold.cancelled", "it is sent")
        wait_until(lambda: _tend(relay) and _is_alone(sent, 5), "it is sent alone repeatedly")
    others = Counter(message.id for message in sent if message.type != "hold.cancelled")
    assert max(others.values()) <= BATCH.bit_length()


def test_the_relay_backs_off_exponentially(stage: Stage) -> None:
    stage.place(1)
    now = 0.0
    broken = True

    def fail(_: object) -> None:
        if broken:
            raise PublishFailed("the broker is away")

    with stage.relay(Listed([], fail)) as made:
        relay = relaying.Relay(made._outbox, made._publisher, clock=lambda: now)
        pauses = []
        for _ in range(12):
            pauses.append(relay.tend())
            assert relay.tend() == pauses[-1], "it was retried too early"
            now += pauses[-1]
        assert pauses[0] < pauses[4] < pauses[-1]
        assert PAUSE_SECONDS_MAX / 2 <= pauses[-1] <= PAUSE_SECONDS_MAX
        broken = False
        assert relay.tend() < IDLE_SECONDS
        assert relay.tend() == IDLE_SECONDS
        broken = True
        stage.place(1)
        assert relay.tend() <= pauses[0] * 2, "the back-off was not reset"


def test_refused_facts_do_not_delay_other_partitions(stage: Stage, quick: None) -> None:
    hold_ids = stage.place(64)
    bad = hold_ids[0].int % PARTITIONS
    published = Listed([])

    def refuse_partition(messages: Sequence[Message]) -> None:
        if UUID(messages[0].headers["cloudEvents:subject"]).int % PARTITIONS == bad:
            raise PublishFailed("the broker refused 1 of 1")

    published.before = refuse_partition
    others = {fact.event_id for fact in stage.stored() if fact.partition != bad}
    assert others
    with stage.relay(published) as relay:
        wait_until(lambda: _tend(relay) and set(published.ids) == others, "the others arrive")


def test_cut_database_connections_lose_nothing(stage: Stage) -> None:
    """Repeatedly, at any point of the relay's work."""
    published = Listed([])
    with _relaying(stage, published):
        for _ in range(5):
            stage.place_and_release(20)
            stage.cut_relays()
        stage.wait_until_relayed()
    stage.assert_arrived(published.messages)


def test_the_relay_waits_for_an_unavailable_database() -> None:
    nowhere = PostgresOutbox("postgresql://holdfast@127.0.0.1:1/nowhere")
    assert relaying.Relay(nowhere, Listed([])).tend() == AFTER_STORE_ERROR_SECONDS


def test_a_consumer_that_tracks_ids_acts_once(stage: Stage, broker: BrokerUnderTest) -> None:
    """Relayed twice because the cursors are lost, and delivered in any order to concurrent
    consumers."""
    stage.place_and_release(50)
    stage.relay_all(broker.address.publisher())
    stage.forget_cursors()
    stage.relay_all(broker.address.publisher())
    delivered = broker.address.published()
    assert len(delivered) == 2 * len(stage.stored())
    random.Random(5).shuffle(delivered)
    effects: list[UUID] = []
    database = Database(stage.url)
    database.open()
    inbox = PostgresInbox(database)

    def take_in(message: Message) -> bool:
        receipt = Receipt("tests", message.id)
        effect = partial(effects.append, message.id)
        return inbox.once(stage.venue.organization_id, receipt, effect)

    with ThreadPoolExecutor(4) as consumers:
        acted = list(consumers.map(take_in, delivered))
    database.close()
    assert acted.count(True) == len(effects) == len(stage.stored())
    assert set(effects) == {fact.event_id for fact in stage.stored()}


class _Watched:
    """Counts the messages passed on."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.count = 0

    def publish(self, messages: Sequence[Message]) -> None:
        self._publisher.publish(messages)
        self.count += len(messages)

    def close(self) -> None:
        self._publisher.close()


@contextmanager
def _relaying(stage: Stage, *publishers: Publisher) -> Iterator[None]:
    """Run relays, each on its own thread, as in a server."""
    stopped = threading.Event()

    def run(publisher: Publisher) -> None:
        with stage.relay(publisher) as relay:
            while not stopped.wait(relay.tend()):
                pass

    threads = [threading.Thread(target=run, args=(each,)) for each in publishers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def _tend(relay: relaying.Relay) -> bool:
    relay.tend()
    return True


def _is_alone(sent: Sequence[Message], times: int) -> bool:
    return len(sent) >= times and {message.type for message in sent[-times:]} == {"hold.cancelled"}


def _neighbours(hold_id: HoldId) -> list[HoldId]:
    """Hold ids in the same partition."""
    return [HoldId(UUID(int=hold_id.int + PARTITIONS * number)) for number in range(1, 60)]


def _hold_and_seat_of_different_partitions(stage: Stage) -> tuple[HoldId, str]:
    (hold_id,) = stage.place(1)
    partition = hold_id.int % PARTITIONS
    places = stage.venue.places.items()
    return hold_id, next(name for name, place in places if place.id.int % PARTITIONS != partition)


def _take(channel: Channel, queue: str, into: list[Message]) -> int:
    """Read all available messages; the total so far."""
    while (raw := channel.basic_get(queue, no_ack=True)) is not None:
        into.append(from_raw(raw))
    return len(into)
