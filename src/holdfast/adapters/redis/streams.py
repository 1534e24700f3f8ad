"""Messages in the form of Valkey and Redis streams."""

import json
from collections.abc import Mapping
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from holdfast.ports.facts.deliveries import message_id
from holdfast.ports.facts.log import Message

# The braces keep a stream and its dead letters on one node of a cluster.
FACTS = "holdfast:{facts}"
INBOUND = "holdfast:{inbound}"

TIMEOUT_SECONDS = 5.0
BROKER_ERRORS: tuple[type[Exception], ...] = (redis.RedisError, OSError)

# Set on a message that was sent again, for this group alone.
GROUP_FIELD = "group"
QUEUE_FIELD, REASON_FIELD = "queue", "reason"

Fields = Mapping[bytes, bytes]

# The library's types cover sync and async clients, and fit neither.
Client = Any


def dead_letters_of(stream: str) -> str:
    return f"{stream}:dead"


def connect(url: str) -> Client:
    """A client without automatic retries, which would duplicate messages."""
    return redis.Redis.from_url(
        url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def forgets(client: Client) -> bool:
    """Whether a restart loses messages. False if we may not read the configuration."""
    try:
        return bool(client.config_get("appendonly") == {"appendonly": "no"})
    except redis.ResponseError:
        return False


def to_fields(message: Message, **notes: str) -> dict[Any, Any]:
    return {
        "id": str(message.id),
        "type": message.type,
        "body": message.body,
        "headers": json.dumps(dict(message.headers)),
        **notes,
    }


def from_fields(fields: Fields) -> Message | None:
    """None for a malformed entry."""
    try:
        body = fields[b"body"]
        headers = json.loads(fields.get(b"headers", b"{}"))
        return Message(
            id=message_id(fields.get(b"id", b"").decode(), body),
            type=fields[b"type"].decode(),
            body=body,
            headers={name: str(value) for name, value in headers.items()},
        )
    except (KeyError, ValueError, AttributeError):
        return None
