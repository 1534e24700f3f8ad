"""The audit log: the columns that are written, and the values in them."""

import msgspec

from holdfast.adapters.postgres.engine.rows import ColumnList, Json, Row
from holdfast.domain.facts import AuditRecord
from holdfast.ports.audit.attempts import FailedAttempt

_json = msgspec.json.Encoder()

NEW_ENTRY = ColumnList(
    "organization_id uuid, action text, hold_id uuid, seat_id uuid, actor text, request_id text,"
    " ip text::inet, user_agent text, old text::jsonb, new text::jsonb"
)


def audit_row(record: AuditRecord) -> Row:
    origin = record.origin
    return (
        record.organization_id,
        record.action,
        record.hold_id,
        record.seat_id,
        origin.actor,
        origin.request_id,
        origin.ip,
        origin.user_agent,
        None if record.old is None else Json(_json.encode(record.old)),
        Json(_json.encode(record.new)),
    )


NEW_ATTEMPT = ColumnList(
    "organization_id uuid, at timestamptz, action text, hold_id uuid, seat_id uuid, actor text,"
    " request_id text, ip text::inet, user_agent text, new text::jsonb"
)


def attempt_row(attempt: FailedAttempt) -> Row:
    origin = attempt.origin
    return (
        attempt.organization_id,
        attempt.at,
        attempt.action,
        attempt.hold_id,
        attempt.seat_id,
        origin.actor,
        origin.request_id,
        origin.ip,
        origin.user_agent,
        _json.encode({"error": attempt.code}).decode(),
    )
