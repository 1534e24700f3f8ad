"""Orders confirmed by another service: a message `order.confirmed` works like completing a
checkout.

The broker is the trust boundary. Messages are trusted about the organization and the payment:
anyone who may publish to `holdfast.inbound` can sell every organization's holds.
"""

import secrets
from hashlib import sha256
from typing import Annotated
from uuid import UUID

import msgspec
import structlog
from msgspec import Meta
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.origin import IdempotencyKey, Origin, Receipt
from holdfast.domain.group.outcomes import AlreadyConverted, Outcome
from holdfast.domain.ids import CheckoutId, HoldId, OrderId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.convert_holds import ConvertHolds
from holdfast.domain.orders.order import (
    PAYMENT_REFERENCE_LENGTH_MAX,
    SEED_BYTES,
    TICKETS_PER_ORDER_MAX,
    Purchase,
    revival_id,
)
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.ports.audit.attempts import AttemptLog, FailedAttempt
from holdfast.ports.engine import Submit
from holdfast.ports.facts.log import Dead, Handled, Message
from holdfast.ports.holds import HoldReader
from holdfast.ports.orders import OrderReader
from holdfast.ports.store import Contended, StoreUnavailable

CONSUMER = "orders"
EVENT_TYPE = "order.confirmed"
# Well above the engine's own deadline, within which it always answers.
ANSWER_SECONDS_MAX = 90.0

_OUR_TROUBLE = {RefusalCode.SERVICE_UNAVAILABLE, RefusalCode.REQUEST_IN_PROGRESS}

_log = structlog.get_logger("holdfast.orders")


# Each hold has at least one ticket.
_HoldIds = Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=TICKETS_PER_ORDER_MAX)]


class _Payload(msgspec.Struct):
    payment_reference: Annotated[str, Meta(min_length=1, max_length=PAYMENT_REFERENCE_LENGTH_MAX)]
    organization_id: UUID | None = None
    checkout_id: UUID | None = None
    hold_ids: _HoldIds | None = None
    order_id: UUID | None = None


class _Envelope(msgspec.Struct):
    event_id: UUID
    event_type: str
    payload: _Payload
    organization_id: UUID | None = None


_decoder = msgspec.json.Decoder(_Envelope)


@immutable
class PaidOrder:
    """A decoded message. It names a checkout or the holds."""

    organization_id: OrganizationId
    event_id: UUID
    fingerprint: bytes
    payment_reference: str
    checkout_id: CheckoutId | None
    hold_ids: tuple[HoldId, ...]
    order_id: OrderId | None

    @property
    def origin(self) -> Origin:
        return Origin(actor=CONSUMER, request_id=str(self.event_id))


def paid_order_of(body: bytes) -> PaidOrder:
    """Raises InvalidValue."""
    try:
        envelope = _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise _malformed(str(error)) from None
    payload = envelope.payload
    named = [each for each in (envelope.organization_id, payload.organization_id) if each]
    if envelope.event_type != EVENT_TYPE:
        raise _malformed(f"event_type must be {EVENT_TYPE}")
    if len(set(named)) != 1:
        raise _malformed("Give one organization_id")
    if (payload.checkout_id is None) == (payload.hold_ids is None):
        raise _malformed("Give either checkout_id or hold_ids")
    if not payload.payment_reference.isprintable():
        raise _malformed("payment_reference must be printable")
    return PaidOrder(
        OrganizationId(named[0]),
        envelope.event_id,
        sha256(body).digest(),
        payload.payment_reference,
        None if payload.checkout_id is None else CheckoutId(payload.checkout_id),
        tuple(map(HoldId, payload.hold_ids or ())),
        None if payload.order_id is None else OrderId(payload.order_id),
    )


def _malformed(problem: str) -> InvalidValue:
    return InvalidValue("malformed_message", problem)


@immutable
class OrderTaker:
    """Handles messages of the service that takes the payment. The receipt of a message commits with
    the order, so a repeated message has no effect."""

    submit: Submit
    holds: HoldReader
    orders: OrderReader
    attempts: AttemptLog

    def handle(self, message: Message) -> Handled | Dead:
        """Raises InternalError when the engine failed on this message."""
        try:
            paid = paid_order_of(message.body)
            refusal = self._take(paid)
        except InvalidValue as error:
            _log.warning("order.malformed", message_id=str(message.id), problem=error.message)
            return Dead(f"malformed message: {error.message}")
        except (StoreUnavailable, Contended) as error:
            _log.warning("order.delayed", problem=error.problem)
            return Handled.AGAIN
        if refusal is None:
            return Handled.DONE
        if refusal.code in _OUR_TROUBLE:
            _log.warning("order.delayed", problem=refusal.code.value)
            return Handled.AGAIN
        if refusal.code is RefusalCode.INTERNAL_ERROR:
            raise InternalError(f"message {message.id}")
        _log.warning(
            "order.refused",
            organization_id=str(paid.organization_id),
            event_id=str(paid.event_id),
            message_id=str(message.id),
            code=refusal.code.value,
            **refusal.details,
        )
        return Dead(f"{refusal.code.value}: {refusal.message}")

    def _take(self, paid: PaidOrder) -> Refusal | None:
        hold_ids = paid.hold_ids
        if paid.checkout_id is not None:
            seen = self.orders.checkout(paid.organization_id, paid.checkout_id)
            if seen is None:
                return refusals.checkout_not_found()
            hold_ids = seen.checkout.hold_ids
        match self._outcome(_command(paid, hold_ids)):
            case Refusal() as refusal:
                return refusal
            case AlreadyConverted() | None:
                return self._refuse_repeat(paid, hold_ids)
        return None

    def _outcome(self, command: ConvertHolds) -> Outcome | None:
        """None when this message was processed before."""
        try:
            return self.submit.submit(command, _no_answer).result(ANSWER_SECONDS_MAX).outcome
        except TimeoutError:
            return refusals.service_unavailable()

    def _refuse_repeat(self, paid: PaidOrder, hold_ids: tuple[HoldId, ...]) -> Refusal | None:
        """None for a genuine repeat, which names sold holds and the payment of their order. Refuses
        a different message with the same id, which would be lost, and a second payment, which
        people have to refund."""
        order_ids = [self._order_id_of(paid.organization_id, each) for each in hold_ids]
        for hold_id, order_id in zip(hold_ids, order_ids, strict=True):
            if order_id is None:
                return self._refused(paid, hold_id, refusals.idempotency_key_reused())
        for order_id in filter(None, dict.fromkeys(order_ids)):
            order = self.orders.order(paid.organization_id, order_id)
            if order and order.payment_reference not in {None, paid.payment_reference}:
                return self._refused(paid, hold_ids[0], refusals.already_paid(str(order_id)))
        return None

    def _refused(self, paid: PaidOrder, hold_id: HoldId, refusal: Refusal) -> Refusal:
        """Record the attempt: the engine refused nothing, so it recorded none."""
        failed = FailedAction("hold.convert_failed", hold_id)
        attempt = FailedAttempt.now(failed, paid.organization_id, refusal, paid.origin)
        self.attempts.record([attempt])
        return refusal

    def _order_id_of(self, organization_id: OrganizationId, hold_id: HoldId) -> OrderId | None:
        """The order of the hold, or of its replacement after a late payment."""
        for each in (hold_id, revival_id(hold_id)):
            seen = self.holds.hold(organization_id, each)
            if seen is not None and seen.hold.order_id is not None:
                return seen.hold.order_id
        return None


class InternalError(Exception):
    """The engine failed on one message: retried a few times, then dead-lettered."""


def _command(paid: PaidOrder, hold_ids: tuple[HoldId, ...]) -> ConvertHolds:
    digest = sha256(f"{CONSUMER} {paid.event_id}".encode()).digest()
    return ConvertHolds(
        organization_id=paid.organization_id,
        hold_ids=hold_ids,
        purchase=Purchase(
            paid.order_id or OrderId(uuid7()),
            secrets.token_bytes(SEED_BYTES),
            paid.payment_reference,
        ),
        origin=paid.origin,
        checkout_id=paid.checkout_id,
        idempotency=IdempotencyKey(
            paid.organization_id,
            UUID(bytes=digest[:16]),
            paid.fingerprint,
            Receipt(CONSUMER, paid.event_id),
        ),
    )


def _no_answer(_: Outcome) -> bytes:
    """The sender of a message expects no answer."""
    return b""
