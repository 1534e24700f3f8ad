"""The published form of a fact: an envelope, and CloudEvents 1.0 attributes as headers."""

import hmac
from hashlib import sha256
from uuid import UUID

import msgspec

from holdfast.domain.facts import iso
from holdfast.domain.group.transitions import FactType
from holdfast.domain.values import JsonValue
from holdfast.ports.facts.log import Message, StoredFact

# As in the AMQP binding of CloudEvents.
ATTRIBUTE = "cloudEvents:"
SPEC_VERSION = "1.0"
CONTENT_TYPE = "application/json"
SCHEMA = "urn:holdfast:fact:{type}:1"

_encode = msgspec.json.Encoder().encode


def message_of(fact: StoredFact, secret: str | None) -> Message:
    """The message of a fact, the same at every attempt. With a secret, a hash identifies the holder
    to consumers who already know them."""
    envelope = envelope_of(fact)
    attributes = {
        "specversion": SPEC_VERSION,
        "id": str(envelope["event_id"]),
        "type": fact.type,
        "source": f"/organizations/{fact.organization_id}",
        "time": str(envelope["occurred_at"]),
        "subject": str(envelope["aggregate_id"]),
        # An extension: of two facts of a hold, the later one has the higher version.
        "version": str(fact.version),
        "datacontenttype": CONTENT_TYPE,
        "dataschema": SCHEMA.format(type=fact.type),
    }
    if fact.holder_key is not None and secret is not None:
        attributes["holderhash"] = holder_hash(fact.holder_key, secret)
    headers = {ATTRIBUTE + name: value for name, value in attributes.items()}
    return Message(fact.event_id, fact.type, _encode(envelope), headers)


def envelope_of(fact: StoredFact) -> dict[str, JsonValue]:
    event_id = str(fact.event_id)
    envelope: dict[str, JsonValue] = {
        "event_id": event_id,
        "event_type": fact.type,
        "occurred_at": iso(fact.occurred_at),
        "aggregate_id": _aggregate_id(fact),
        "idempotency_key": event_id,
        "payload": dict(fact.payload),
    }
    # Its consumers expect none.
    if fact.type == FactType.HOLD_EXPIRED:
        del envelope["idempotency_key"]
    return envelope


def holder_hash(holder_key: UUID, secret: str) -> str:
    return hmac.new(secret.encode(), holder_key.bytes, sha256).hexdigest()


def _aggregate_id(fact: StoredFact) -> str:
    """The payload names an order, a ticket, and a part of the catalog."""
    if fact.type in {FactType.ORDER_CONFIRMED, FactType.ORDER_CANCELLED}:
        return str(fact.payload["order_id"])
    if fact.type == FactType.TICKET_VOIDED:
        return str(fact.payload["ticket_id"])
    subject = fact.hold_id or fact.seat_id
    if subject is not None:
        return str(subject)
    kind = fact.type.partition(".")[0]
    return str(fact.payload["session_id" if kind == "seats" else f"{kind}_id"])
