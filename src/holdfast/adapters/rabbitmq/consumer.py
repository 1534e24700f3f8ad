"""Consuming messages from RabbitMQ."""

import threading
import time
from collections import deque
from contextlib import suppress

import structlog

from holdfast.adapters.rabbitmq.confirms import ConfirmingChannel, Letter
from holdfast.adapters.rabbitmq.connections import BROKER_ERRORS, Connection, connected
from holdfast.adapters.rabbitmq.messages import (
    QUEUE_HEADER,
    REASON_HEADER,
    RawMessage,
    from_raw,
    to_raw,
)
from holdfast.adapters.rabbitmq.topology import DEAD, DEFAULT_EXCHANGE, declare, declare_inventory
from holdfast.ports.facts.deliveries import (
    INVENTORY,
    PATIENCE_SECONDS,
    handle_until_settled,
    pause_seconds,
)
from holdfast.ports.facts.log import Dead, Handled, Handler, Message, PublishFailed

# A lost connection counts as a delivery of all prefetched messages, so prefetch no others.
PREFETCH = 1
LOOK_EVERY_SECONDS = 0.25
LINK_ERRORS: tuple[type[Exception], ...] = (*BROKER_ERRORS, PublishFailed)

_log = structlog.get_logger("holdfast.rabbitmq")


class RabbitConsumer:
    def __init__(self, url: str, queue: str, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._url = url
        self._queue = queue
        self._patience_seconds = patience_seconds

    def run(self, handler: Handler, stopped: threading.Event) -> None:
        """Consume until stopped, reconnecting as often as needed."""
        failures = 0
        while not stopped.is_set():
            try:
                with connected(self._url) as connection:
                    link = _Link(connection, self._queue, stopped)
                    failures = 0
                    link.consume(handler, self._patience_seconds)
            except LINK_ERRORS as error:
                _log.warning("consumer.lost", queue=self._queue, problem=type(error).__name__)
                stopped.wait(pause_seconds(failures))
                failures += 1

    def drain(self, handler: Handler, seconds_max: float) -> None:
        """Handle the messages that wait, for at most so long. One that cannot be handled now goes
        to the end of the queue. Raises one of LINK_ERRORS if the broker is unreachable."""
        with connected(self._url) as connection:
            _Link(connection, self._queue, threading.Event()).drain(handler, seconds_max)


class _Link:
    """One connection of the consumer."""

    def __init__(self, connection: Connection, queue: str, stopped: threading.Event) -> None:
        self._connection = connection
        self._queue = queue
        self._stopped = stopped
        self._arrived: deque[RawMessage] = deque()
        self._publishing = ConfirmingChannel(connection)
        self._channel = self._publishing.channel
        declare(self._channel)
        if queue == INVENTORY.queue:
            declare_inventory(self._channel)

    def consume(self, handler: Handler, patience_seconds: float) -> None:
        self._channel.basic_qos(0, PREFETCH, False)
        self._channel.basic_consume(self._queue, callback=self._arrived.append)
        while self._pause(0 if self._arrived else LOOK_EVERY_SECONDS):
            if self._arrived:
                self._deliver(self._arrived.popleft(), handler, patience_seconds)

    def drain(self, handler: Handler, seconds_max: float) -> None:
        until = time.monotonic() + seconds_max
        while (seconds := until - time.monotonic()) > 0:
            raw = self._channel.basic_get(self._queue)
            if raw is None:
                break
            self._deliver(raw, handler, seconds)

    def _deliver(self, raw: RawMessage, handler: Handler, patience_seconds: float) -> None:
        message = from_raw(raw)
        try:
            handled = handle_until_settled(handler, message, self._pause, patience_seconds)
        except Exception:
            _log.exception("message.failed", queue=self._queue, message_id=str(message.id))
            self._pause(pause_seconds(_failures_of(raw)))
            # The broker counts deliveries, and dead-letters the message at its limit.
            self._channel.basic_reject(raw.delivery_tag, requeue=True)
            return
        if handled is Handled.AGAIN:
            if self._stopped.is_set():
                return
            self._send_to_the_end(message)
        if isinstance(handled, Dead):
            self._put_aside(message, handled.reason)
        self._channel.basic_ack(raw.delivery_tag)

    def _put_aside(self, message: Message, reason: str) -> None:
        _log.warning("message.put_aside", queue=self._queue, message_id=str(message.id))
        notes = {QUEUE_HEADER: self._queue, REASON_HEADER: reason}
        raw = to_raw(self._channel, message, notes)
        self._publishing.publish([Letter(raw, DEAD, message.type)])

    def _send_to_the_end(self, message: Message) -> None:
        """Publish it again as a new message: requeuing would count as a failed delivery."""
        _log.warning("message.delayed", queue=self._queue, message_id=str(message.id))
        raw = to_raw(self._channel, message)
        self._publishing.publish([Letter(raw, DEFAULT_EXCHANGE, self._queue)])

    def _pause(self, seconds: float) -> bool:
        """Keep the connection alive for so long, or until a message arrives. False when stopped."""
        until = time.monotonic() + seconds
        while not self._stopped.is_set() and (remaining := until - time.monotonic()) > 0:
            had_arrived = len(self._arrived)
            with suppress(TimeoutError):
                self._connection.drain_events(timeout=min(remaining, LOOK_EVERY_SECONDS))
            self._connection.heartbeat_tick()
            if len(self._arrived) > had_arrived:
                break
        return not self._stopped.is_set()


def _failures_of(raw: RawMessage) -> int:
    headers = raw.properties.get("application_headers") or {}
    return int(headers.get("x-delivery-count", 0))
