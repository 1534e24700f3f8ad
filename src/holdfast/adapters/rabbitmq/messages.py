"""Messages in RabbitMQ's form."""

from collections.abc import Mapping
from typing import Any

from holdfast.adapters.rabbitmq.connections import Channel
from holdfast.ports.facts.deliveries import TOO_OFTEN, message_id
from holdfast.ports.facts.log import DeadLetter, Message

PERSISTENT = 2
# The prefix of the broker's headers and our own notes, which are not part of the message.
ASIDE = "x-"
QUEUE_HEADER, REASON_HEADER = "x-holdfast-queue", "x-holdfast-reason"
# Set by the broker when it dead-letters a message.
DEATH_QUEUE_HEADER, DEATH_REASON_HEADER = "x-first-death-queue", "x-first-death-reason"
DEATH_REASONS = {"delivery_limit": TOO_OFTEN}

# A message of the library beneath kombu, which has no types.
RawMessage = Any


def to_raw(channel: Channel, message: Message, notes: Mapping[str, str] = {}) -> RawMessage:
    return channel.prepare_message(
        message.body,
        content_type="application/json",
        headers={**message.headers, **notes},
        properties={
            "delivery_mode": PERSISTENT,
            "message_id": str(message.id),
            "type": message.type,
        },
    )


def from_raw(raw: RawMessage) -> Message:
    """Accepts anything; the handler validates the body."""
    body = bytes(raw.body or b"")  # the library gives an empty str for no body
    return Message(
        id=message_id(_text(raw.properties.get("message_id", "")), body),
        type=_text(raw.properties.get("type") or raw.delivery_info["routing_key"]),
        body=body,
        headers={
            name: _text(value)
            for name, value in _headers(raw).items()
            if not name.startswith(ASIDE)
        },
    )


def dead_letter_from_raw(raw: RawMessage) -> DeadLetter:
    headers = _headers(raw)
    death = headers.get(DEATH_REASON_HEADER, "unknown")
    return DeadLetter(
        message=from_raw(raw),
        queue=_text(headers.get(QUEUE_HEADER) or headers.get(DEATH_QUEUE_HEADER, "")),
        reason=_text(headers.get(REASON_HEADER) or DEATH_REASONS.get(death, death)),
    )


def _headers(raw: RawMessage) -> Mapping[str, Any]:
    headers: Mapping[Any, Any] = raw.properties.get("application_headers") or {}
    return {_text(name): value for name, value in headers.items()}


def _text(value: object) -> str:
    """Text that can be encoded. The library returns undecodable text as bytes, and lone surrogates
    as they are."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text.encode(errors="replace").decode()
