"""E-mails to buyers: order confirmed, hold about to expire, and promoted from the waitlist.

Facts carry neither addresses nor ticket codes, which therefore never pass through the broker. Both
are looked up when the notice is written, and a notice that is out of date is not sent.
"""

from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from holdfast.domain.group.origin import Receipt
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrderId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Order
from holdfast.domain.organizations import Organization
from holdfast.domain.values import Holder
from holdfast.ports.catalog import CatalogStore
from holdfast.ports.facts.log import Dead, Handled, Message
from holdfast.ports.facts.notices import Inbox, Notice, NoticeFailed, NoticeRefused, Notifier
from holdfast.ports.holds import HoldReader
from holdfast.ports.orders import OrderReader
from holdfast.ports.organizations import OrganizationStore
from holdfast.ports.store import Contended, StoreUnavailable
from holdfast.services.facts.envelope import ATTRIBUTE
from holdfast.services.facts.notice_texts import (
    Admissions,
    Occasion,
    Text,
    confirmation,
    promotion,
    warning,
)

CONSUMER = "notifications"

# The attribute that names the organization.
SOURCE_HEADER = ATTRIBUTE + "source"
SOURCE_PREFIX = "/organizations/"
# With less time left, a warning would arrive too late.
WARNED_SECONDS_MIN = 10

_log = structlog.get_logger("holdfast.notices")


class _Expiring(msgspec.Struct):
    hold_id: UUID
    expires_at: datetime


class _Confirmed(msgspec.Struct):
    order_id: UUID


class _ExpiringFact(msgspec.Struct, tag="hold.expiring", tag_field="event_type"):
    event_id: UUID
    payload: _Expiring


class _Promoted(msgspec.Struct):
    hold_id: UUID


class _PromotedFact(msgspec.Struct, tag="hold.promoted", tag_field="event_type"):
    event_id: UUID
    payload: _Promoted


class _ConfirmedFact(msgspec.Struct, tag="order.confirmed", tag_field="event_type"):
    event_id: UUID
    payload: _Confirmed


_Fact = _ExpiringFact | _PromotedFact | _ConfirmedFact
_decoder: msgspec.json.Decoder[_Fact] = msgspec.json.Decoder(_Fact)


@immutable
class NoticeSender:
    """Sends the notices that belong to our own facts. The mail server is outside the transaction:
    after a crash it may get a mail again, with the same id."""

    inbox: Inbox
    notifier: Notifier
    holds: HoldReader
    orders: OrderReader
    catalog: CatalogStore
    organizations: OrganizationStore

    def handle(self, message: Message) -> Handled | Dead:
        """Raises NoticeDeferred when only this notice is affected."""
        try:
            organization_id = _organization(message)
            fact = _decoder.decode(message.body)
        except ValueError as error:  # includes msgspec's errors
            _log.warning("notice.malformed", message_id=str(message.id))
            return Dead(f"malformed message: {error}")
        try:
            self._notify(organization_id, fact)
        except NoticeRefused as error:
            _log.warning("notice.refused", event_id=str(fact.event_id), problem=str(error))
            return Dead(f"notice refused: {error}")
        except (NoticeFailed, StoreUnavailable, Contended) as error:
            problem = f"{type(error).__name__} {error}"
            _log.warning("notice.failed", event_id=str(fact.event_id), problem=problem)
            return Handled.AGAIN
        return Handled.DONE

    def _notify(self, organization_id: OrganizationId, fact: _Fact) -> None:
        organization = self.organizations.organization(organization_id)
        if organization is None:
            raise NoticeRefused("unknown organization")
        match fact:
            case _ExpiringFact():
                notice = self._warning(organization, fact)
            case _PromotedFact():
                notice = self._promotion(organization, fact)
            case _ConfirmedFact():
                notice = self._confirmation(organization, fact)
        if notice is None:
            return
        receipt = Receipt(CONSUMER, fact.event_id)
        if self.inbox.once(organization_id, receipt, lambda: self.notifier.send(notice)):
            _log.info(
                "notice.sent",
                organization_id=str(organization_id),
                event_id=str(fact.event_id),
                to=notice.to.redacted,
            )

    def _warning(self, organization: Organization, fact: _ExpiringFact) -> Notice | None:
        """None without an address, or when the hold has ended, is about to, or was extended."""
        seen = self.holds.hold(organization.id, HoldId(fact.payload.hold_id))
        if seen is None or not _is_in_time(seen.hold, fact.payload.expires_at, seen.at):
            return None
        occasion = self._occasion(organization, seen.hold.session_id)
        text = warning(organization, seen.hold, occasion, seen.at)
        return _notice(fact.event_id, organization, seen.hold.holder, text)

    def _promotion(self, organization: Organization, fact: _PromotedFact) -> Notice | None:
        """None without an address, or when the hold is already paid for or has ended."""
        seen = self.holds.hold(organization.id, HoldId(fact.payload.hold_id))
        if seen is None or not seen.hold.is_active(seen.at):
            return None
        occasion = self._occasion(organization, seen.hold.session_id)
        text = promotion(organization, seen.hold, occasion, seen.at)
        return _notice(fact.event_id, organization, seen.hold.holder, text)

    def _confirmation(self, organization: Organization, fact: _ConfirmedFact) -> Notice | None:
        organization_id = organization.id
        order = self.orders.order(organization_id, OrderId(fact.payload.order_id))
        if order is None or order.holder.email is None:
            return None
        seen = [self.holds.hold(organization_id, hold_id) for hold_id in order.hold_ids]
        references = [each.hold.reference for each in seen if each is not None]
        type_ids = dict.fromkeys(ticket.ticket_type_id for ticket in order.tickets)
        types = [self.catalog.ticket_type(organization_id, type_id) for type_id in type_ids]
        names = {each.id: each.name for each in types if each is not None}
        admissions = self._admissions(organization, order)
        text = confirmation(organization, order, references, admissions, names)
        return _notice(fact.event_id, organization, order.holder, text)

    def _admissions(self, organization: Organization, order: Order) -> list[Admissions]:
        return [
            Admissions(
                self._occasion(organization, session_id),
                [ticket for ticket in order.tickets if ticket.session_id == session_id],
            )
            for session_id in dict.fromkeys(ticket.session_id for ticket in order.tickets)
        ]

    def _occasion(self, organization: Organization, session_id: SessionId) -> Occasion:
        session = self.catalog.session(organization.id, session_id)
        # Sessions and events with sales are never deleted.
        assert session is not None
        event = self.catalog.event(organization.id, session.event_id)
        assert event is not None
        return Occasion(event.name, session.name, session.starts_at, organization.time_zone)


def _organization(message: Message) -> OrganizationId:
    return OrganizationId(UUID(message.headers.get(SOURCE_HEADER, "").removeprefix(SOURCE_PREFIX)))


def _is_in_time(hold: Hold, at: datetime, now: datetime) -> bool:
    still_ends = hold.is_active(now) and hold.expires_at == at
    return still_ends and hold.remaining_seconds(now) >= WARNED_SECONDS_MIN


def _notice(
    event_id: UUID, organization: Organization, holder: Holder, text: Text
) -> Notice | None:
    """None for a holder without an e-mail address."""
    if holder.email is None:
        return None
    return Notice(
        event_id,
        holder.email,
        text.subject,
        text.body,
        organization.mail_name,
        organization.mail_reply_to,
    )
