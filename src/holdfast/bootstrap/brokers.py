"""The configured broker. Import this module only if a broker is configured: the two client
libraries add half to the import time."""

from typing import Any

from holdfast.adapters.rabbitmq.connections import tls_of
from holdfast.adapters.rabbitmq.consumer import RabbitConsumer
from holdfast.adapters.rabbitmq.dead_letters import RabbitDeadLetters
from holdfast.adapters.rabbitmq.publisher import RabbitPublisher
from holdfast.adapters.redis.dead_letters import ValkeyDeadLetters
from holdfast.adapters.redis.facts import ValkeyConsumer, ValkeyPublisher
from holdfast.adapters.redis.health import RedisDependency
from holdfast.adapters.redis.rates import ValkeyRates
from holdfast.adapters.redis.streams import FACTS, INBOUND
from holdfast.bootstrap.settings import Settings
from holdfast.ports.facts.deliveries import ORDERS, Consumer, DeadLetters, Subscription
from holdfast.ports.facts.log import Handler, Publisher
from holdfast.ports.health import Dependency
from holdfast.ports.rates import SharedRates

NO_QUEUE = "none"
# The stream only serves current readers; older facts can be polled.
STREAM_LENGTH = 100_000


def publisher_of(settings: Settings) -> Publisher:
    """Like the functions below, prefers RabbitMQ, which keeps unread messages."""
    if settings.amqp_url is not None:
        queue = settings.holdfast_facts_queue
        return RabbitPublisher(settings.amqp_url, None if queue == NO_QUEUE else queue)
    return ValkeyPublisher(_redis_url(settings), STREAM_LENGTH)


def consumer_of(settings: Settings, subscription: Subscription) -> Consumer:
    if settings.amqp_url is not None:
        return RabbitConsumer(settings.amqp_url, subscription.queue)
    stream = INBOUND if subscription is ORDERS else FACTS
    return ValkeyConsumer(
        _redis_url(settings), subscription.queue, subscription.types, stream=stream
    )


def drain(
    settings: Settings, subscription: Subscription, handler: Handler, seconds_max: float
) -> None:
    """For workers, which have RabbitMQ."""
    assert settings.amqp_url is not None, "workers get their tasks from RabbitMQ"
    RabbitConsumer(settings.amqp_url, subscription.queue).drain(handler, seconds_max)


def dead_letters_of(settings: Settings) -> DeadLetters:
    if settings.amqp_url is not None:
        return RabbitDeadLetters(settings.amqp_url)
    return ValkeyDeadLetters(_redis_url(settings))


def celery_tls(amqp_url: str) -> dict[str, Any] | None:
    return tls_of(amqp_url)


def redis_dependency(settings: Settings) -> Dependency:
    return RedisDependency(_redis_url(settings))


def shared_rates(settings: Settings) -> SharedRates:
    return ValkeyRates(_redis_url(settings))


def _redis_url(settings: Settings) -> str:
    assert settings.redis_url is not None, "a broker is configured"
    return settings.redis_url
