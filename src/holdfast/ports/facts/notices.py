"""Notices to buyers, and the inbox of their senders."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from holdfast.domain.group.origin import Receipt
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import EmailAddress


@immutable
class Notice:
    """`id` is the same on every attempt, so that duplicates can be recognized."""

    id: UUID
    to: EmailAddress
    subject: str
    text: str
    sender_name: str | None = None
    reply_to: str | None = None


class NoticeFailed(Exception):
    """No notice can be sent at the moment. The notice is not at fault."""


class NoticeDeferred(Exception):
    """This notice was not sent; a retry may help. Others can be sent meanwhile."""


class NoticeRefused(Exception):
    """This notice can never be sent: the address does not exist, or the text is refused."""


class Notifier(Protocol):
    def send(self, notice: Notice) -> None:
        """Send within a bounded time; raises NoticeFailed, NoticeDeferred or NoticeRefused."""
        ...


class Inbox(Protocol):
    """One effect per message, for consumers whose effect is not a command of the engine."""

    def once(
        self, organization_id: OrganizationId, receipt: Receipt, effect: Callable[[], None]
    ) -> bool:
        """Run the effect in the transaction that stores the receipt; False if the message was
        processed before. A failed effect leaves no receipt. May raise StoreError and whatever the
        effect raises."""
        ...
