"""The exchanges and queues. Whoever connects declares them, and finds them or makes them."""

from typing import Any

from holdfast.adapters.rabbitmq.connecting import Channel
from holdfast.ports.facts.deliveries import DELIVERIES_MAX, NOTIFICATIONS, ORDERS, Subscription

FACTS = "holdfast.facts"  # the exchange of everything that happened, by type
INBOUND = "holdfast.inbound"  # where others send us what happened with them
DEAD = "holdfast.dead"
DEFAULT_EXCHANGE = ""  # takes the name of a queue as routing key
DEAD_LETTERS = "holdfast.dead-letters"

# Takes every fact, so that none is unroutable before anybody listens.
FACTS_QUEUE = "holdfast.facts"

_QUORUM = {"x-queue-type": "quorum"}
_CONSUMED = {
    **_QUORUM,
    "x-delivery-limit": DELIVERIES_MAX - 1,  # the first delivery is not counted
    "x-dead-letter-exchange": DEAD,
    # A message leaves its queue only when it has arrived among the dead letters. RabbitMQ wants the
    # queue to refuse rather than drop for this; ours has no limit at which it would.
    "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
}
# Looking at a dead letter counts as a delivery of it, and newer brokers drop what was delivered
# twenty times unless told otherwise.
_KEPT = {**_QUORUM, "x-delivery-limit": 1_000_000}


def declare(channel: Channel, facts_queue: str | None = None) -> None:
    for exchange, kind in ((FACTS, "topic"), (INBOUND, "topic"), (DEAD, "fanout")):
        channel.exchange_declare(exchange, kind, durable=True, auto_delete=False)
    _declare_queue(channel, DEAD_LETTERS, _KEPT)
    channel.queue_bind(DEAD_LETTERS, DEAD)
    _declare_subscription(channel, NOTIFICATIONS, FACTS)
    _declare_subscription(channel, ORDERS, INBOUND)
    if facts_queue is not None:
        _declare_queue(channel, facts_queue, _QUORUM)
        channel.queue_bind(facts_queue, FACTS, "#")


def _declare_subscription(channel: Channel, subscription: Subscription, exchange: str) -> None:
    _declare_queue(channel, subscription.queue, _CONSUMED)
    for message_type in sorted(subscription.types):
        channel.queue_bind(subscription.queue, exchange, message_type)


def _declare_queue(channel: Channel, queue: str, arguments: dict[str, Any]) -> None:
    channel.queue_declare(queue, durable=True, auto_delete=False, arguments=arguments)
