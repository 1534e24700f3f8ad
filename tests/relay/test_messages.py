"""The exact form of a message."""

import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.domain.values import JsonValue
from holdfast.ports.facts.log import Position, StoredFact
from holdfast.services.facts.envelope import message_of

ORGANIZATION = "0198f1c0-0a10-7a00-8b00-5d2c1e9f0001"
HOLD = "0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006"
FACT = "0198f1c4-6d1f-7b0a-8f4e-1b7d92e50009"
SEAT = "0198f1c0-aa10-7d00-9c2e-4b1f0e7a0009"
ORDER = "0198f1c3-1d20-7e41-8a77-91c4f05e000d"
HOLDER = UUID("11111111-2222-4333-8444-555555555555")
SECRET = "a secret of at least 32 characters"
PAYLOAD: dict[str, JsonValue] = {"hold_id": HOLD, "quantity": 2, "ticket_type_id": None}

CREATED = StoredFact(
    OrganizationId(UUID(ORGANIZATION)),
    Position(7, 9),
    UUID(FACT),
    "hold.created",
    datetime(2026, 1, 15, 10, 20, 0, 123456, tzinfo=UTC),
    HoldId(UUID(HOLD)),
    None,
    1,
    PAYLOAD,
    HOLDER,
)


def test_the_envelope_has_the_documented_fields() -> None:
    message = message_of(CREATED, None)
    assert (message.id, message.type) == (UUID(FACT), "hold.created")
    assert json.loads(message.body) == {
        "event_id": FACT,
        "event_type": "hold.created",
        "occurred_at": "2026-01-15T10:20:00.123456Z",
        "aggregate_id": HOLD,
        "idempotency_key": FACT,
        "payload": PAYLOAD,
    }


def test_the_envelope_of_an_expired_hold_has_no_idempotency_key() -> None:
    body = json.loads(message_of(replace(CREATED, type="hold.expired"), None).body)
    assert list(body) == ["event_id", "event_type", "occurred_at", "aggregate_id", "payload"]


@pytest.mark.parametrize(
    ("fact", "subject"),
    [
        (replace(CREATED, type="seat.held", seat_id=SeatId(UUID(SEAT))), HOLD),
        (replace(CREATED, type="seat.blocked", hold_id=None, seat_id=SeatId(UUID(SEAT))), SEAT),
        (replace(CREATED, type="order.confirmed", payload={"order_id": ORDER}), ORDER),
    ],
    ids=["a seat in a hold", "a seat without a hold", "an order"],
)
def test_the_subject_is_the_hold_seat_or_order(fact: StoredFact, subject: str) -> None:
    message = message_of(fact, None)
    assert json.loads(message.body)["aggregate_id"] == subject
    assert message.headers["cloudEvents:subject"] == subject


def test_headers_are_the_cloudevents_attributes() -> None:
    assert message_of(CREATED, None).headers == {
        "cloudEvents:specversion": "1.0",
        "cloudEvents:id": FACT,
        "cloudEvents:type": "hold.created",
        "cloudEvents:source": f"/organizations/{ORGANIZATION}",
        "cloudEvents:time": "2026-01-15T10:20:00.123456Z",
        "cloudEvents:subject": HOLD,
        "cloudEvents:version": "1",
        "cloudEvents:datacontenttype": "application/json",
        "cloudEvents:dataschema": "urn:holdfast:fact:hold.created:1",
    }


def test_the_holder_is_identified_by_a_keyed_hash() -> None:
    hashed = message_of(CREATED, SECRET).headers["cloudEvents:holderhash"]
    assert hashed == hmac.new(SECRET.encode(), HOLDER.bytes, "sha256").hexdigest()
    assert message_of(CREATED, SECRET + "!").headers["cloudEvents:holderhash"] != hashed
    nobodys = replace(CREATED, type="seat.blocked", holder_key=None)
    assert "cloudEvents:holderhash" not in message_of(nobodys, SECRET).headers


def test_a_fact_always_gives_the_same_message() -> None:
    assert message_of(CREATED, SECRET) == message_of(CREATED, SECRET)
