"""E-mails to buyers: order confirmed or cancelled, hold about to expire, expired or released,
promoted from the waitlist or removed from it, and whatever staff send again.

Facts carry neither addresses nor ticket codes, which therefore never pass through the broker. Both
are looked up when the notice is written, and a notice that is out of date is not sent.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from holdfast.domain.catalog.model import Event, EventStatus, Session, SessionStatus
from holdfast.domain.facts import ReleaseReason
from holdfast.domain.group.origin import Receipt
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrderId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.resend import had_places, is_payable
from holdfast.domain.orders.order import Ticket
from holdfast.domain.organizations import Organization
from holdfast.domain.values import Holder
from holdfast.ports.catalog import CatalogStore
from holdfast.ports.facts.log import Dead, Handled, Message
from holdfast.ports.facts.notices import Inbox, Notice, NoticeFailed, NoticeRefused, Notifier
from holdfast.ports.holds import HoldReader
from holdfast.ports.mails.templates import MailTemplateStore
from holdfast.ports.orders import OrderReader
from holdfast.ports.organizations import OrganizationStore
from holdfast.ports.store import Contended, StoreUnavailable
from holdfast.services.facts.envelope import ATTRIBUTE
from holdfast.services.facts.notice_texts import (
    Admissions,
    Occasion,
    Values,
    hold_values,
    mail_of,
    order_values,
)
from holdfast.services.mails.resend import is_paid_late

CONSUMER = "notifications"

# The attribute that names the organization.
SOURCE_HEADER = ATTRIBUTE + "source"
SOURCE_PREFIX = "/organizations/"

_log = structlog.get_logger("holdfast.notices")


class _Expiring(msgspec.Struct):
    hold_id: UUID
    expires_at: datetime


class _Confirmed(msgspec.Struct):
    order_id: UUID


class _ExpiringFact(msgspec.Struct, tag="hold.expiring", tag_field="event_type"):
    event_id: UUID
    payload: _Expiring


class _OfHold(msgspec.Struct):
    hold_id: UUID


class _PromotedFact(msgspec.Struct, tag="hold.promoted", tag_field="event_type"):
    event_id: UUID
    payload: _OfHold


class _ExpiredFact(msgspec.Struct, tag="hold.expired", tag_field="event_type"):
    event_id: UUID
    payload: _OfHold


class _Requested(msgspec.Struct):
    mail: MailKind
    hold_id: UUID
    order_id: UUID | None = None


class _RequestedFact(msgspec.Struct, tag="notice.requested", tag_field="event_type"):
    event_id: UUID
    payload: _Requested


class _ConfirmedFact(msgspec.Struct, tag="order.confirmed", tag_field="event_type"):
    event_id: UUID
    payload: _Confirmed


class _Cancelled(msgspec.Struct):
    order_id: UUID
    order_version: int


class _CancelledFact(msgspec.Struct, tag="order.cancelled", tag_field="event_type"):
    event_id: UUID
    payload: _Cancelled


class _Released(msgspec.Struct):
    hold_id: UUID
    reason: str | None = None


class _ReleasedFact(msgspec.Struct, tag="hold.cancelled", tag_field="event_type"):
    event_id: UUID
    payload: _Released


_OfHoldFact = _ExpiringFact | _ExpiredFact | _PromotedFact | _ReleasedFact
_Fact = _OfHoldFact | _ConfirmedFact | _CancelledFact | _RequestedFact
_decoder: msgspec.json.Decoder[_Fact] = msgspec.json.Decoder(_Fact)


@immutable
class _Written:
    """What a mail says, and to whom."""

    kind: MailKind
    holder: Holder
    values: Values


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
    templates: MailTemplateStore

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
        if isinstance(fact, _ReleasedFact) and fact.payload.reason != ReleaseReason.OPERATOR:
            return  # the buyer knows
        organization = self.organizations.organization(organization_id)
        if organization is None:
            raise NoticeRefused("unknown organization")
        written = self._written(organization, fact)
        if written is None:
            return
        notice = self._notice(fact.event_id, organization, written)
        receipt = Receipt(CONSUMER, fact.event_id)
        if self.inbox.once(organization_id, receipt, lambda: self.notifier.send(notice)):
            _log.info(
                "notice.sent",
                organization_id=str(organization_id),
                event_id=str(fact.event_id),
                mail=written.kind.value,
                to=notice.to.redacted,
            )

    def _written(self, organization: Organization, fact: _Fact) -> _Written | None:
        """None if the mail is out of date or not wanted, or the buyer has no address."""
        match fact:
            case _ExpiringFact(payload=about):
                kind = MailKind.WARNING
                return self._of_hold(organization, about.hold_id, kind, about.expires_at)
            case _PromotedFact(payload=about):
                return self._of_hold(organization, about.hold_id, MailKind.PROMOTION)
            case _ExpiredFact(payload=about):
                if not organization.mail_when_expired:
                    return None
                return self._of_hold(organization, about.hold_id, MailKind.EXPIRED)
            case _ReleasedFact(payload=about):
                return self._of_hold(organization, about.hold_id, MailKind.RELEASE)
            case _ConfirmedFact(payload=about):
                return self._of_order(organization, about.order_id)
            case _CancelledFact(payload=about):
                return self._of_order(organization, about.order_id, about.order_version)
            case _RequestedFact(payload=about):
                if about.order_id is not None:
                    return self._of_order(organization, about.order_id)
                return self._of_hold(organization, about.hold_id, about.mail)

    def _of_hold(
        self,
        organization: Organization,
        hold_id: UUID,
        kind: MailKind,
        ends_at: datetime | None = None,
    ) -> _Written | None:
        """`ends_at` is when the hold expired at the time of the fact."""
        seen = self.holds.hold(organization.id, HoldId(hold_id))
        if seen is None or not _is_true(kind, seen.hold, seen.at):
            return None
        hold = seen.hold
        if hold.holder.email is None or ends_at not in {None, hold.expires_at}:
            return None
        if kind is MailKind.RELEASE and not had_places(hold):
            kind = MailKind.REMOVAL
        if kind is MailKind.EXPIRED and is_paid_late(self.holds, hold):
            return None
        occasion = self._occasion(organization, hold.session_id)
        return _Written(kind, hold.holder, hold_values(organization, hold, occasion, seen.at))

    def _of_order(
        self, organization: Organization, order_id: UUID, void_since: int | None = None
    ) -> _Written | None:
        """About the tickets that became void with a version of the order, or without one about
        those that are valid."""
        order = self.orders.order(organization.id, OrderId(order_id))
        if order is None or order.holder.email is None:
            return None
        tickets = [
            ticket
            for ticket in order.tickets
            if (ticket.voided and ticket.voided.version) == void_since
        ]
        if not tickets:
            return None
        kind = MailKind.CONFIRMATION if void_since is None else MailKind.CANCELLATION
        admissions = self._admissions(organization, tickets)
        names = self._type_names(organization.id, tickets)
        return _Written(kind, order.holder, order_values(organization, order, admissions, names))

    def _notice(self, event_id: UUID, organization: Organization, written: _Written) -> Notice:
        own = self.templates.template(organization.id, written.kind)
        mail = mail_of(organization, own or MAILS[written.kind].built_in, written.values)
        assert written.holder.email is not None
        return Notice(
            event_id,
            written.holder.email,
            mail.subject,
            mail.body,
            organization.mail_name,
            organization.mail_reply_to,
        )

    def _type_names(
        self, organization_id: OrganizationId, tickets: Sequence[Ticket]
    ) -> dict[TicketTypeId, str]:
        type_ids = dict.fromkeys(ticket.ticket_type_id for ticket in tickets)
        types = [self.catalog.ticket_type(organization_id, type_id) for type_id in type_ids]
        return {each.id: each.name for each in types if each is not None}

    def _admissions(
        self, organization: Organization, tickets: Sequence[Ticket]
    ) -> list[Admissions]:
        return [
            Admissions(
                self._occasion(organization, session_id),
                [ticket for ticket in tickets if ticket.session_id == session_id],
            )
            for session_id in dict.fromkeys(ticket.session_id for ticket in tickets)
        ]

    def _occasion(self, organization: Organization, session_id: SessionId) -> Occasion:
        session = self.catalog.session(organization.id, session_id)
        # Sessions and events with sales are never deleted.
        assert session is not None
        event = self.catalog.event(organization.id, session.event_id)
        assert event is not None
        place = event.place
        time_zone = place.time_zone or organization.time_zone
        return Occasion(
            event.name,
            session.name,
            session.starts_at,
            time_zone,
            place.venue,
            _cancelled(event, session),
        )


def _organization(message: Message) -> OrganizationId:
    return OrganizationId(UUID(message.headers.get(SOURCE_HEADER, "").removeprefix(SOURCE_PREFIX)))


def _cancelled(event: Event, session: Session) -> str:
    if event.sale.status is EventStatus.CANCELLED:
        return "The event is cancelled."
    return "This session is cancelled." if session.status is SessionStatus.CANCELLED else ""


def _is_true(kind: MailKind, hold: Hold, now: datetime) -> bool:
    """Whether what the mail says of the hold is still true."""
    if kind is MailKind.WARNING:
        return is_payable(hold, now)
    if kind is MailKind.EXPIRED:
        return hold.is_expired(now) and had_places(hold)
    if kind is MailKind.RELEASE:
        return hold.is_cancelled()
    return hold.is_active(now)
