"""In the Inventory Service: follows the Hold Service's messages about holds. A hold that has ended
gives its tickets back; a converted one sells them.

The broker is the trust boundary: a message names a session, and applies to the organizations that
have this session here. The Hold Service makes the same calls over HTTP. The commands may be
repeated and overtake each other, so the inbox only saves work.
"""

from collections import Counter
from hashlib import sha256
from uuid import UUID

import msgspec
import structlog

from holdfast.domain import refusals
from holdfast.domain.facts import NOT_RESERVED
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import IdempotencyKey, Origin, Receipt
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.commit_tickets import CommitTickets
from holdfast.domain.inventory.release_tickets import ReleaseTickets
from holdfast.domain.inventory.reservation import ReservedLine
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.ports.engine import Submit
from holdfast.ports.facts.log import Dead, Handled, Message
from holdfast.ports.inventory.reservations import ReservationReader
from holdfast.ports.store import Contended, StoreUnavailable

CONSUMER = "inventory"
SOLD = "hold.converted"
# Well above the engine's own deadline, within which it always answers.
ANSWER_SECONDS_MAX = 90.0

_OUR_TROUBLE = {RefusalCode.SERVICE_UNAVAILABLE, RefusalCode.REQUEST_IN_PROGRESS}

_log = structlog.get_logger("holdfast.inventory")


class _Line(msgspec.Struct):
    ticket_type_id: UUID
    quantity: int


class _Payload(msgspec.Struct):
    hold_id: UUID
    session_id: UUID
    ticket_type_id: UUID | None = None
    quantity: int = 0
    lines: list[_Line] | None = None
    reason: str | None = None


class _Envelope(msgspec.Struct):
    event_id: UUID
    event_type: str
    payload: _Payload


_decoder = msgspec.json.Decoder(_Envelope)


class InternalError(Exception):
    """The engine failed on one message: retried a few times, then dead-lettered."""


@immutable
class HoldFollower:
    submit: Submit
    reservations: ReservationReader

    def handle(self, message: Message) -> Handled | Dead:
        """A message about a session that is not sold here is done."""
        try:
            ended = _decoder.decode(message.body)
            if ended.payload.reason == NOT_RESERVED:
                return Handled.DONE
            session_id = SessionId(ended.payload.session_id)
            outcomes = [
                self._outcome(_command(organization_id, ended, sha256(message.body).digest()))
                for organization_id in self.reservations.organizations_of(session_id)
            ]
        except (msgspec.DecodeError, RecursionError, InvalidValue) as error:
            _log.warning("hold.malformed", message_id=str(message.id), problem=str(error))
            return Dead(f"malformed message: {error}")
        except (StoreUnavailable, Contended) as error:
            _log.warning("hold.delayed", problem=error.problem)
            return Handled.AGAIN
        return self._judged(message, ended, outcomes)

    def _outcome(self, command: Command) -> Outcome | None:
        """None when this message was processed before."""
        try:
            return self.submit.submit(command, _no_answer).result(ANSWER_SECONDS_MAX).outcome
        except TimeoutError:
            return refusals.service_unavailable()

    def _judged(
        self, message: Message, ended: _Envelope, outcomes: list[Outcome | None]
    ) -> Handled | Dead:
        refused = [each for each in outcomes if isinstance(each, Refusal)]
        codes = {each.code for each in refused}
        if codes & _OUR_TROUBLE:
            _log.warning("hold.delayed", problem=min(codes & _OUR_TROUBLE).value)
            return Handled.AGAIN
        if RefusalCode.INTERNAL_ERROR in codes:
            raise InternalError(f"message {message.id}")
        if not refused or len(refused) < len(outcomes):
            return Handled.DONE
        refusal = refused[0]
        _log.warning(
            "hold.not_followed",
            hold_id=str(ended.payload.hold_id),
            event_id=str(ended.event_id),
            event_type=ended.event_type,
            code=refusal.code.value,
        )
        return Dead(f"{refusal.code.value}: {refusal.message}")


def _command(organization_id: OrganizationId, ended: _Envelope, fingerprint: bytes) -> Command:
    payload = ended.payload
    about = (organization_id, HoldId(payload.hold_id), SessionId(payload.session_id))
    origin = Origin(actor=CONSUMER, request_id=str(ended.event_id))
    digest = sha256(f"{CONSUMER} {ended.event_id}".encode()).digest()
    receipt = Receipt(CONSUMER, ended.event_id)
    key = IdempotencyKey(organization_id, UUID(bytes=digest[:16]), fingerprint, receipt)
    if ended.event_type == SOLD:
        return CommitTickets(*about, _sold(payload), origin, key)
    return ReleaseTickets(*about, origin, key)


def _sold(payload: _Payload) -> tuple[ReservedLine, ...]:
    quantities: Counter[UUID] = Counter()
    for line in payload.lines or ():
        quantities[line.ticket_type_id] += line.quantity
    if payload.lines is None and payload.ticket_type_id is not None:
        quantities[payload.ticket_type_id] = payload.quantity
    if not quantities:
        # It would mean that all tickets were cancelled, which no message says.
        raise InvalidValue("invalid_lines", "a sale without tickets")
    return tuple(ReservedLine(TicketTypeId(id_), units) for id_, units in quantities.items())


def _no_answer(_: Outcome) -> bytes:
    """The sender of a message expects no answer."""
    return b""
