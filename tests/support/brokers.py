"""The two brokers that carry facts, behind one interface for the tests."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.rabbitmq.confirms import ConfirmingChannel, Letter
from holdfast.adapters.rabbitmq.connections import connected
from holdfast.adapters.rabbitmq.consumer import RabbitConsumer
from holdfast.adapters.rabbitmq.dead_letters import RabbitDeadLetters
from holdfast.adapters.rabbitmq.messages import from_raw, to_raw
from holdfast.adapters.rabbitmq.publisher import RabbitPublisher
from holdfast.adapters.rabbitmq.topology import FACTS_QUEUE, INBOUND, declare
from holdfast.adapters.redis import streams
from holdfast.adapters.redis.dead_letters import ValkeyDeadLetters
from holdfast.adapters.redis.facts import ValkeyConsumer, ValkeyPublisher
from holdfast.ports.facts.deliveries import (
    NOTIFICATIONS,
    ORDERS,
    Consumer,
    DeadLetters,
    Subscription,
)
from holdfast.ports.facts.deliveries import PATIENCE_SECONDS as BROKER_PATIENCE_SECONDS
from holdfast.ports.facts.log import Dead, Handled, Handler, Message, Publisher, PublishFailed
from tests.support.patience import PATIENCE_SECONDS, wait_until
from tests.support.rabbit import RabbitBroker

WAIT_SECONDS_MAX = PATIENCE_SECONDS
# Long enough for a test that handles messages at once, short enough to wait for.
CLAIM_AFTER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Small enough to pass to another process."""

    kind: str
    url: str

    def publisher(self) -> Publisher:
        if self.kind == "rabbitmq":
            return RabbitPublisher(self.url)
        return ValkeyPublisher(self.url, kept=100_000)

    def publish(self, messages: Sequence[Message]) -> None:
        with closing(self.publisher()) as publisher:
            publisher.publish(messages)

    def consumer(
        self,
        subscription: Subscription = NOTIFICATIONS,
        *,
        patience_seconds: float = BROKER_PATIENCE_SECONDS,
    ) -> Consumer:
        if self.kind == "rabbitmq":
            return RabbitConsumer(self.url, subscription.queue, patience_seconds=patience_seconds)
        return ValkeyConsumer(
            self.url,
            subscription.queue,
            subscription.types,
            stream=streams.INBOUND if subscription == ORDERS else streams.FACTS,
            claim_after_seconds=CLAIM_AFTER_SECONDS,
            patience_seconds=patience_seconds,
        )

    def dead_letters(self) -> DeadLetters:
        if self.kind == "rabbitmq":
            return RabbitDeadLetters(self.url)
        return ValkeyDeadLetters(self.url)

    def send_to_us(self, message: Message) -> None:
        """Send an order message like another system, until it is accepted."""
        if self.kind == "rabbitmq":
            wait_until(lambda: _is_taken(self.url, message), "the message is taken")
        else:
            with closing(ValkeyPublisher(self.url, 1_000, stream=streams.INBOUND)) as publisher:
                publisher.publish([message])

    def published(self) -> list[Message]:
        """Every published fact, in order. Call once: RabbitMQ removes them."""
        if self.kind == "rabbitmq":
            return _in_queue(self.url, FACTS_QUEUE)
        with closing(streams.connect(self.url)) as client:
            entries = client.xrange(streams.FACTS)
        found = [streams.from_fields(fields) for _, fields in entries]
        return [message for message in found if message is not None]


def _is_taken(url: str, message: Message) -> bool:
    """Whether the broker accepted it: a queue that is just being created refuses messages
    briefly."""
    with connected(url) as connection:
        publishing = ConfirmingChannel(connection)
        declare(publishing.channel)
        raw = to_raw(publishing.channel, message)
        try:
            publishing.publish([Letter(raw, INBOUND, message.type)])
        except PublishFailed:
            return False
    return True


def _in_queue(url: str, queue: str) -> list[Message]:
    found: list[Message] = []
    with connected(url) as connection:
        channel = connection.channel()
        waiting = channel.queue_declare(queue, passive=True).message_count
        channel.basic_consume(queue, no_ack=True, callback=lambda raw: found.append(from_raw(raw)))
        while len(found) < waiting:
            connection.drain_events(timeout=WAIT_SECONDS_MAX)
    return found


@dataclass(frozen=True, slots=True)
class BrokerUnderTest:
    """A broker whose data survives whatever is done to the server."""

    address: BrokerAddress
    server: RabbitBroker | EmbeddedValkey

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Stop the server's processes without ending them."""
        os.kill(self.server.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: is_stopped(self.server.pid), "the broker is stopped")
            yield
        finally:
            os.kill(self.server.pid, signal.SIGCONT)


def is_stopped(pid: int) -> bool:
    """Whether every thread is stopped: the last may still answer briefly after the signal."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    states = [(each / "stat").read_text().rpartition(")")[2].split()[0] for each in threads]
    return set(states) == {"T"}


def new_message(message_type: str = "order.confirmed", body: bytes = b'{"n": 1}') -> Message:
    return Message(uuid4(), message_type, body, {"ce-specversion": "1.0", "ce-source": "/tests"})


@dataclass
class Handling:
    """A handler that records messages and returns the given answers, then DONE."""

    answers: list[Handled | Dead | Exception] = field(default_factory=list)
    always: Handled | Dead | Exception = Handled.DONE
    got: list[Message] = field(default_factory=list)

    def __call__(self, message: Message) -> Handled | Dead:
        self.got.append(message)
        answer = self.answers.pop(0) if self.answers else self.always
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def ids(self) -> list[UUID]:
        return [message.id for message in self.got]

    def wait_for(self, *messages: Message) -> None:
        wanted = {message.id for message in messages}
        wait_until(lambda: wanted <= set(self.ids), f"{len(wanted)} messages arrive")


@contextmanager
def running(consumer: Consumer, handler: Handler) -> Iterator[None]:
    """Run the consumer on its own thread, and stop it gracefully."""
    stopped = threading.Event()
    thread = threading.Thread(target=consumer.run, args=(handler, stopped))
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(WAIT_SECONDS_MAX)
        assert not thread.is_alive()
