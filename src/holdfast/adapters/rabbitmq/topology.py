"""The exchanges and queues, declared by every connection, except for the inventory's."""

from typing import Any

from holdfast.adapters.rabbitmq.connections import Channel
from holdfast.ports.facts.deliveries import (
    DELIVERIES_MAX,
    ENDINGS,
    INVENTORY,
    NOTIFICATIONS,
    ORDERS,
    Subscription,
)

FACTS = "holdfast.facts"  # the exchange for our facts, routed by type
INBOUND = "holdfast.inbound"  # the exchange for messages of other services
DEAD = "holdfast.dead"
DEFAULT_EXCHANGE = ""  # takes the name of a queue as routing key
DEAD_LETTERS = "holdfast.dead-letters"

# Gets every fact: none is unroutable before there are consumers.
FACTS_QUEUE = "holdfast.facts"

_QUORUM = {"x-queue-type": "quorum"}
_CONSUMED = {
    **_QUORUM,
    "x-delivery-limit": DELIVERIES_MAX - 1,  # the first delivery is not counted
    "x-dead-letter-exchange": DEAD,
    # A message leaves its queue only once it is among the dead letters. RabbitMQ requires
    # reject-publish for this, which has no effect on a queue without a length limit.
    "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
}
# Reading a dead letter counts as a delivery, and newer brokers by default drop messages after
# twenty deliveries.
_KEPT = {**_QUORUM, "x-delivery-limit": 1_000_000}


def declare(channel: Channel, facts_queue: str | None = None) -> None:
    for exchange, kind in ((FACTS, "topic"), (INBOUND, "topic"), (DEAD, "fanout")):
        channel.exchange_declare(exchange, kind, durable=True, auto_delete=False)
    _declare_queue(channel, DEAD_LETTERS, _KEPT)
    channel.queue_bind(DEAD_LETTERS, DEAD)
    _declare_subscription(channel, NOTIFICATIONS, FACTS)
    _declare_subscription(channel, ENDINGS, FACTS)
    _declare_subscription(channel, ORDERS, INBOUND)
    if facts_queue is not None:
        _declare_queue(channel, facts_queue, _QUORUM)
        channel.queue_bind(facts_queue, FACTS, "#")


def declare_inventory(channel: Channel) -> None:
    """Only for an Inventory Service: without one, nobody would empty the queue."""
    _declare_subscription(channel, INVENTORY, FACTS)


def _declare_subscription(channel: Channel, subscription: Subscription, exchange: str) -> None:
    _declare_queue(channel, subscription.queue, _CONSUMED)
    for message_type in sorted(subscription.types):
        channel.queue_bind(subscription.queue, exchange, message_type)


def _declare_queue(channel: Channel, queue: str, arguments: dict[str, Any]) -> None:
    channel.queue_declare(queue, durable=True, auto_delete=False, arguments=arguments)
