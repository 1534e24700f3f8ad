"""The shapes of answers about the audit."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.http.cursors import audit_cursor_text
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, PageAnswer, or_unset, utc
from holdfast.ports.audit.reader import AuditEntry
from holdfast.services.audit.trail import AuditPage


class AuditEntryAnswer(AnswerShape, frozen=True, kw_only=True):
    """What was done to a hold, a seat or a part of the catalog, by whom and from where."""

    entry_id: Annotated[
        int, Meta(description="Number of the entry; a later entry has a higher one.")
    ]
    created_at: Moment
    action: Annotated[str, Meta(description="What was done, such as `hold.extended`.")]
    hold_id: Annotated[UUID, Meta(description="The hold that it was done to.")] | UnsetType = UNSET
    seat_id: Annotated[UUID, Meta(description="The seat that it was done to.")] | UnsetType = UNSET
    catalog_id: (
        Annotated[
            UUID, Meta(description="The event, session, pool, ticket type or block that changed.")
        ]
        | UnsetType
    ) = UNSET
    actor: Annotated[str, Meta(description="Who did it: a key, or a background duty.")]
    request_id: str
    ip: Annotated[str, Meta(description="Address that the request came from.")] | UnsetType = UNSET
    user_agent: Annotated[str, Meta(description="Program that sent the request.")] | UnsetType = (
        UNSET
    )
    old: (
        Annotated[
            dict[str, Any],
            Meta(description="What it was before; left out for what was not there before."),
        ]
        | UnsetType
    ) = UNSET
    new: Annotated[dict[str, Any], Meta(description="What it is now.")]


class AuditPageAnswer(PageAnswer[AuditEntryAnswer], frozen=True):
    """Entries of the audit log, newest first."""


def audit_page_answer(page: AuditPage) -> AuditPageAnswer:
    data = [_entry_answer(entry) for entry in page.entries]
    following = audit_cursor_text(data[-1].entry_id) if page.has_more else UNSET
    return AuditPageAnswer(data, page.has_more, following)


def _entry_answer(entry: AuditEntry) -> AuditEntryAnswer:
    return AuditEntryAnswer(
        entry_id=entry.seq,
        created_at=utc(entry.at),
        action=entry.action,
        hold_id=or_unset(entry.hold_id),
        seat_id=or_unset(entry.seat_id),
        catalog_id=or_unset(entry.catalog_id),
        actor=entry.actor,
        request_id=entry.request_id,
        ip=or_unset(entry.ip),
        user_agent=or_unset(entry.user_agent),
        old=UNSET if entry.old is None else dict(entry.old),
        new=dict(entry.new),
    )
