"""Publishing facts to RabbitMQ."""

import time
from collections.abc import Sequence

from holdfast.adapters.rabbitmq.confirms import ConfirmingChannel, Letter
from holdfast.adapters.rabbitmq.connections import (
    BROKER_ERRORS,
    HEARTBEAT_SECONDS,
    Connection,
    connect,
    disconnect,
)
from holdfast.adapters.rabbitmq.messages import to_raw
from holdfast.adapters.rabbitmq.topology import FACTS, FACTS_QUEUE, declare
from holdfast.ports.facts.log import Message, PublishFailed, Unroutable


class RabbitPublisher:
    """`facts_queue` gets every fact; with None, facts without a bound queue are unroutable."""

    def __init__(self, url: str, facts_queue: str | None = FACTS_QUEUE) -> None:
        self._url = url
        self._facts_queue = facts_queue
        self._connection: Connection | None = None
        self._channel: ConfirmingChannel | None = None
        self._used_at = 0.0

    def publish(self, messages: Sequence[Message]) -> None:
        try:
            channel = self._ready_channel()
            channel.publish(
                [
                    Letter(to_raw(channel.channel, message), FACTS, message.type)
                    for message in messages
                ]
            )
        except Unroutable:
            raise
        except PublishFailed:
            self._forget()
            raise
        except BROKER_ERRORS as error:
            self._forget()
            raise PublishFailed(type(error).__name__) from error

    def close(self) -> None:
        if self._connection is not None:
            disconnect(self._connection)
        self._connection = self._channel = None

    def _ready_channel(self) -> ConfirmingChannel:
        # No heartbeats are sent while idle, so the broker may have closed the connection.
        if time.monotonic() - self._used_at > HEARTBEAT_SECONDS:
            self._forget()
        if self._channel is None:
            self._connection = connect(self._url)
            channel = ConfirmingChannel(self._connection)
            declare(channel.channel, self._facts_queue)
            self._channel = channel
        self._used_at = time.monotonic()
        return self._channel

    def _forget(self) -> None:
        """Drop the connection without a close handshake, which the broker may not answer."""
        if self._connection is not None:
            self._connection.collect()
        self._connection = self._channel = None
