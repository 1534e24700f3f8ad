"""Publishing with confirms, many messages at a time."""

import time
from collections.abc import Sequence

from holdfast.adapters.rabbitmq.connections import Channel, Connection
from holdfast.adapters.rabbitmq.messages import RawMessage
from holdfast.domain.immutable import immutable
from holdfast.ports.facts.log import PublishFailed, Unroutable

CONFIRM_SECONDS_MAX = 15.0


@immutable
class Letter:
    """A message with its destination."""

    raw: RawMessage
    exchange: str
    routing_key: str


class ConfirmingChannel:
    """A channel on which the broker confirms every message. After any error but Unroutable it is
    unusable."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.channel: Channel = connection.channel()
        # Keep bodies as bytes, whatever encoding they declare.
        self.channel.auto_decode = False
        self.channel.events["basic_ack"].add(self._on_ack)
        self.channel.events["basic_nack"].add(self._on_nack)
        self.channel.events["basic_return"].add(self._on_return)
        self.channel.confirm_select()
        self._last_tag = 0
        self._first_open_tag = 1
        self._open: set[int] = set()
        self._refused = 0
        self._returned: list[str] = []

    def publish(self, letters: Sequence[Letter]) -> None:
        """Publish, and wait until the broker has confirmed all. Raises PublishFailed or one of
        BROKER_ERRORS."""
        self._refused = 0
        self._returned = []
        for letter in letters:
            self._last_tag += 1
            self._open.add(self._last_tag)
            self.channel.basic_publish(
                letter.raw, letter.exchange, letter.routing_key, mandatory=True
            )
        self._wait_for_confirms()
        if self._refused:
            raise PublishFailed(f"the broker refused {self._refused} of {len(letters)} messages")
        if self._returned:
            raise Unroutable(self._returned)

    def _wait_for_confirms(self) -> None:
        deadline = time.monotonic() + CONFIRM_SECONDS_MAX
        while self._open:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise PublishFailed(f"{len(self._open)} messages not confirmed in time")
            self._connection.drain_events(timeout=remaining)

    def _on_ack(self, tag: int, multiple: bool) -> None:
        if not multiple:
            self._open.discard(tag)
            return
        while self._first_open_tag <= tag:
            self._open.discard(self._first_open_tag)
            self._first_open_tag += 1

    def _on_nack(self, tag: int, multiple: bool) -> None:
        before = len(self._open)
        self._on_ack(tag, multiple)
        self._refused += before - len(self._open)

    def _on_return(
        self, _error: Exception, _exchange: str, routing_key: str, _raw: RawMessage
    ) -> None:
        self._returned.append(routing_key)
