"""The shapes of answers about the audit."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta

from holdfast.entrypoints.api.answers import AnswerShape, utc
from holdfast.entrypoints.api.structs import Moment
from holdfast.ports.audit.reader import AuditEntry
from holdfast.services.audit.trail import AuditPage


class AuditEntryAnswer(AnswerShape, frozen=True):
    """What was done, by whom and from where. It is about a hold, a seat or a part of the catalog;
    `catalog_id` is the id of an event, session, pool, ticket type or block. `old` is null for what
    was not there before."""

    number: int
    at: Moment
    action: str
    hold_id: UUID | None
    seat_id: UUID | None
    catalog_id: UUID | None
    actor: str
    request_id: str
    ip: str | None
    user_agent: str | None
    old: dict[str, Any] | None
    new: dict[str, Any]


class AuditPageAnswer(AnswerShape, frozen=True):
    """Newest first."""

    data: list[AuditEntryAnswer]
    has_more: bool
    next_before: Annotated[
        int | None, Meta(description="Send it as `before`; null on the last page.")
    ]


def audit_page_answer(page: AuditPage) -> AuditPageAnswer:
    data = [_entry_answer(entry) for entry in page.entries]
    return AuditPageAnswer(data, page.has_more, data[-1].number if page.has_more else None)


def _entry_answer(entry: AuditEntry) -> AuditEntryAnswer:
    return AuditEntryAnswer(
        number=entry.seq,
        at=utc(entry.at),
        action=entry.action,
        hold_id=entry.hold_id,
        seat_id=entry.seat_id,
        catalog_id=entry.catalog_id,
        actor=entry.actor,
        request_id=entry.request_id,
        ip=entry.ip,
        user_agent=entry.user_agent,
        old=None if entry.old is None else dict(entry.old),
        new=dict(entry.new),
    )
