"""Answers about the audit log."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.http.cursors import audit_cursor_text
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, PageAnswer, or_unset, utc
from holdfast.ports.audit.reader import AuditEntry, AuditSlice


class AuditEntryAnswer(AnswerShape, frozen=True, kw_only=True):
    """An action on a hold, a seat, the catalog or an API key, with its actor and origin."""

    entry_id: Annotated[
        int, Meta(description="Number of the entry; a later entry has a higher one.")
    ]
    created_at: Moment
    action: Annotated[str, Meta(description="Action, such as `hold.extended`.")]
    hold_id: Annotated[UUID, Meta(description="The affected hold.")] | UnsetType = UNSET
    seat_id: Annotated[UUID, Meta(description="The affected seat.")] | UnsetType = UNSET
    catalog_id: (
        Annotated[UUID, Meta(description="The changed event, session, pool, ticket type or block.")]
        | UnsetType
    ) = UNSET
    key_id: Annotated[UUID, Meta(description="The changed API key.")] | UnsetType = UNSET
    session_id: UUID | UnsetType = UNSET
    ticket_type_ids: (
        Annotated[list[UUID], Meta(description="The ticket types held or asked for.")] | UnsetType
    ) = UNSET
    cart_token: str | UnsetType = UNSET
    holder: (
        Annotated[
            str,
            Meta(
                description="Keyed hash of the holder: the same person has the same one.",
                examples=["5f0c1d0e4b7a9c3f8e2d6b1a0c9f8e7d"],
            ),
        ]
        | UnsetType
    ) = UNSET
    actor: Annotated[str, Meta(description="Actor: a key or a background duty.")]
    acting_user: (
        Annotated[str, Meta(description="The user on whose behalf the actor acted.")] | UnsetType
    ) = UNSET
    request_id: str
    ip: Annotated[str, Meta(description="IP address of the caller.")] | UnsetType = UNSET
    user_agent: Annotated[str, Meta(description="User agent of the caller.")] | UnsetType = UNSET
    old: (
        Annotated[dict[str, Any], Meta(description="Values before; absent if it did not exist.")]
        | UnsetType
    ) = UNSET
    new: Annotated[
        dict[str, Any],
        Meta(description="Values after. For a refused attempt, the `error` and its details."),
    ]


class AuditPageAnswer(PageAnswer[AuditEntryAnswer], frozen=True):
    """Entries of the audit log, newest first. With some filters, a page may have few entries or
    none although there are more: follow `next_cursor`."""


def audit_page_answer(page: AuditSlice) -> AuditPageAnswer:
    data = [_entry_answer(entry) for entry in page.entries]
    following = UNSET if page.next is None else audit_cursor_text(page.next)
    return AuditPageAnswer(data, page.next is not None, following)


def _entry_answer(entry: AuditEntry) -> AuditEntryAnswer:
    return AuditEntryAnswer(
        entry_id=entry.seq,
        created_at=utc(entry.at),
        action=entry.action,
        hold_id=or_unset(entry.hold_id),
        seat_id=or_unset(entry.seat_id),
        catalog_id=or_unset(entry.catalog_id),
        key_id=or_unset(entry.key_id),
        session_id=or_unset(entry.session_id),
        ticket_type_ids=list(entry.ticket_type_ids) or UNSET,
        cart_token=or_unset(entry.cart),
        holder=UNSET if entry.holder is None else entry.holder.hex,
        actor=entry.actor,
        acting_user=or_unset(entry.acting_user),
        request_id=entry.request_id,
        ip=or_unset(entry.ip),
        user_agent=or_unset(entry.user_agent),
        old=UNSET if entry.old is None else dict(entry.old),
        new=dict(entry.new),
    )
