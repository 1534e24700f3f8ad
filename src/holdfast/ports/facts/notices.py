"""Telling a buyer something, and the inbox of those who do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from holdfast.domain.group.origin import Receipt
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress


@dataclass(frozen=True, slots=True)
class Notice:
    """`id` stays the same however often it is sent, so that a second one can be recognized."""

    id: UUID
    to: EmailAddress
    subject: str
    text: str


class NoticeFailed(Exception):
    """Nobody can be told anything at the moment. This says nothing about the notice."""


class NoticeDeferred(Exception):
    """This one was not sent. Trying again may help; meanwhile others may be."""


class NoticeRefused(Exception):
    """It was not sent, and never will be: nobody has this address, or this text is not wanted."""


class Notifier(Protocol):
    def send(self, notice: Notice) -> None:
        """Within a bounded time; raises NoticeFailed, NoticeDeferred or NoticeRefused."""
        ...


class Inbox(Protocol):
    """One effect per message, for consumers whose effect is not a command of the engine."""

    def once(
        self, organization_id: OrganizationId, receipt: Receipt, effect: Callable[[], None]
    ) -> bool:
        """Runs the effect in the transaction that keeps the receipt; says whether it did. A message
        that was taken in before is left alone; one that fails leaves no receipt. May raise
        StoreError, and whatever the effect raises."""
        ...
