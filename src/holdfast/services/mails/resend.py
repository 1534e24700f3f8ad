"""Sends an e-mail to a buyer again. The request is a fact: the notifier sends the mail, once, when
the mail server is available. Every call blocks."""

from dataclasses import replace
from uuid import UUID, uuid5

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.resend import (
    MailRequest,
    has_changed,
    mail_about,
    nothing_to_confirm,
    paid_late,
)
from holdfast.domain.orders.order import Order, OrderStatus, revival_id
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress
from holdfast.ports.holds import HoldReader, SeenHold
from holdfast.ports.mails.requests import MailRequestStore
from holdfast.ports.orders import OrderReader
from holdfast.ports.store import StoreError
from holdfast.services.failures import refusal_for
from holdfast.services.reads import found, read

_log = structlog.get_logger("holdfast.mails")


@immutable
class Offer:
    """The mail that would be sent, to whom, and the hold under which it is counted."""

    kind: MailKind
    to: EmailAddress
    hold_id: HoldId


@immutable
class MailDesk:
    holds: HoldReader
    orders: OrderReader
    requests: MailRequestStore

    def offer(self, organization_id: OrganizationId, hold_id: HoldId) -> Offer | Refusal:
        seen = self._seen(organization_id, hold_id)
        return seen if isinstance(seen, Refusal) else self._offer(seen)

    def resend(
        self,
        organization_id: OrganizationId,
        hold_id: HoldId,
        kind: MailKind,
        origin: Origin,
        form_id: UUID | None = None,
    ) -> Refusal | None:
        """`kind` is the mail that the person was offered. The same `form_id` requests it once."""
        seen = self._seen(organization_id, hold_id)
        if isinstance(seen, Refusal):
            return seen
        offer = self._offer(seen)
        if isinstance(offer, Refusal):
            return offer
        if offer.kind is not kind:
            return has_changed()
        request_id = uuid7() if form_id is None else uuid5(hold_id, str(form_id))
        request = MailRequest(request_id, kind, offer.hold_id, seen.hold.order_id)
        try:
            return self.requests.add(organization_id, request, origin)
        except StoreError as error:
            _log.error("mail.resend_failed", problem=error.problem)
            return refusal_for(error)

    def _seen(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | Refusal:
        return found(lambda: self.holds.hold(organization_id, hold_id), refusals.hold_not_found)

    def _offer(self, seen: SeenHold) -> Offer | Refusal:
        """An order may join holds with other addresses: its mail goes to its own."""
        hold = seen.hold
        order = None if hold.order_id is None else read(lambda: self._order_of(hold))
        if isinstance(order, Refusal):
            return order
        if order is not None:
            hold = replace(hold, holder=order.holder)
        kind = mail_about(hold, seen.at)
        if isinstance(kind, Refusal):
            return kind
        if kind is MailKind.EXPIRED:
            paid = read(lambda: is_paid_late(self.holds, hold))
            if isinstance(paid, Refusal):
                return paid
            if paid:
                return paid_late()
        if order is not None and order.status is OrderStatus.CANCELLED:
            return nothing_to_confirm()
        assert hold.holder.email is not None
        return Offer(kind, hold.holder.email, hold.id if order is None else order.hold_ids[0])

    def _order_of(self, hold: Hold) -> Order | None:
        assert hold.order_id is not None
        return self.orders.order(hold.organization_id, hold.order_id)


def is_paid_late(holds: HoldReader, hold: Hold) -> bool:
    """Whether another hold has replaced it after its end, and was paid for: the buyer has the
    tickets."""
    seen = holds.hold(hold.organization_id, revival_id(hold.id))
    # Clients choose ids, and can derive this one.
    return seen is not None and seen.hold.revives == hold.id
