"""Messages as streams of Valkey or Redis carry them."""

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

# What a message was sent again for: it is for this group alone.
GROUP_FIELD = "group"
QUEUE_FIELD, REASON_FIELD = "queue", "reason"

Fields = Mapping[bytes, bytes]

# The types of the library allow for every kind of client, and fit none.
Client = Any


def dead_letters_of(stream: str) -> str:
    return f"{stream}:dead"


def connect(url: str) -> Client:
    """It repeats nothing by itself: what was sent twice would be there twice."""
    return redis.Redis.from_url(
        url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def forgets(client: Client) -> bool:
    """Whether a restart loses messages. Who may not ask is not told."""
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
    """None when it is none."""
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
