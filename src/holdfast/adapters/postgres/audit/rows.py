"""The audit log: the columns that are written, and the values in them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from time import monotonic
from uuid import UUID

import msgspec

from holdfast.adapters.postgres.engine.rows import ColumnList, Json, Row, ids_array
from holdfast.domain.facts import AuditRecord
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.values import JsonValue
from holdfast.ports.audit.attempts import FailedAttempt

# The longest list in the details of a refusal, which could name a hall full of contested seats.
LISTED_MAX = 10

_json = msgspec.json.Encoder()

NEW_ENTRY = ColumnList(
    "organization_id uuid, action text, hold_id uuid, seat_id uuid, session_id uuid,"
    " ticket_type_ids text::uuid[], cart text, holder uuid, holder_email uuid, actor text,"
    " request_id text, ip text::inet, user_agent text, acting_user text, old text::jsonb,"
    " new text::jsonb"
)

# The holds of a group share their ticket types.
_types: Callable[[tuple[UUID, ...]], str] = lru_cache(maxsize=1024)(ids_array)


def audit_rows(records: Iterable[AuditRecord], hashes: HolderHashes) -> Iterator[Row]:
    of_holder = hashes.of
    for record in records:
        origin = record.origin
        types = record.ticket_type_ids
        yield (
            record.organization_id,
            record.action,
            record.hold_id,
            record.seat_id,
            record.session_id,
            _types(types) if types else None,
            record.cart,
            *of_holder(record.organization_id, record.holder),
            origin.actor,
            origin.request_id,
            origin.ip,
            origin.user_agent,
            origin.acting_user,
            None if record.old is None else Json(_json.encode(record.old)),
            Json(_json.encode(record.new)),
        )


_ATTEMPT = (
    "organization_id uuid, action text, hold_id uuid, seat_id uuid, catalog_id uuid, key_id uuid,"
    " session_id uuid, ticket_type_ids text::uuid[], cart text, holder uuid, holder_email uuid,"
    " actor text, request_id text, ip text::inet, user_agent text, acting_user text,"
    " new text::jsonb"
)
NEW_ATTEMPT = ColumnList(_ATTEMPT)
AGED_ATTEMPT = ColumnList(f"{_ATTEMPT}, age float8")


def attempt_row(attempt: FailedAttempt, hashes: HolderHashes) -> Row:
    origin, asked = attempt.origin, attempt.asked
    types = asked.ticket_type_ids
    return (
        attempt.organization_id,
        attempt.action,
        attempt.hold_id,
        attempt.seat_id,
        attempt.catalog_id,
        attempt.key_id,
        asked.session_id,
        _types(types) if types else None,
        asked.cart,
        *hashes.of(attempt.organization_id, asked.holder),
        origin.actor,
        origin.request_id,
        origin.ip,
        origin.user_agent,
        origin.acting_user,
        _json.encode(_refusal(attempt)).decode(),
        monotonic() - attempt.noted_at,
    )


def _refusal(attempt: FailedAttempt) -> Mapping[str, JsonValue]:
    """A refused attempt changed nothing: instead of a new state, the entry has the reason. Of
    invalid fields it names the field and the code."""
    asked = attempt.asked
    values: dict[str, JsonValue] = {"error": attempt.code}
    if asked.quantity is not None:
        values["quantity"] = asked.quantity
    if asked.seat_ids:
        values["seat_ids"] = [str(seat_id) for seat_id in asked.seat_ids[:LISTED_MAX]]
    if attempt.times > 1:
        values["times"] = attempt.times
    for name, value in attempt.details.items():
        if name == "errors" and isinstance(value, list):
            values[name] = [_field_and_code(each) for each in value[:LISTED_MAX]]
        else:
            values.setdefault(name, value[:LISTED_MAX] if isinstance(value, list) else value)
    return values


def _field_and_code(error: JsonValue) -> JsonValue:
    assert isinstance(error, dict)
    return {"field": error["field"], "code": error["code"]}
