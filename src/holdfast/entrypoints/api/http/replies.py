"""Turns outcomes into replies, and replies into the bytes recorded for an idempotency key: three
digits of status and the body, sealed."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, structs

from holdfast.domain.access.keys import ApiKey, IssuedKey
from holdfast.domain.access.members import InvitedMember, Member
from holdfast.domain.access.tokens import TokensRevoked
from holdfast.domain.catalog.model import Block, Event, PoolState, Session, TicketType
from holdfast.domain.catalog.seat_import import ImportedSeats
from holdfast.domain.forgetting import Forgotten
from holdfast.domain.group.outcomes import (
    AlreadyConverted,
    AwaitsInventory,
    CartChanged,
    CartEmptied,
    CheckoutStarted,
    Converted,
    Expired,
    Explained,
    Extended,
    HoldPromoted,
    OrderCancelled,
    Outcome,
    Placed,
    Promoted,
    RefundRecorded,
    Released,
    Reserved,
    SeatsBlocked,
    Waiting,
    Warned,
)
from holdfast.domain.organizations import Organization
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.catalog.answers import (
    event_answer,
    pool_answer,
    session_answer,
    ticket_type_answer,
)
from holdfast.entrypoints.api.catalog.hall_answers import block_answer, import_answer
from holdfast.entrypoints.api.holds.answers import HoldAnswer, hold_answer
from holdfast.entrypoints.api.http.cursors import cursor_text
from holdfast.entrypoints.api.http.exchange import JSON, PROBLEM_JSON, Call, Reply
from holdfast.entrypoints.api.http.problems import refusal_reply, retry_headers
from holdfast.entrypoints.api.http.shapes import PageAnswer
from holdfast.entrypoints.api.orders.answers import (
    CheckoutAnswer,
    changed_answer,
    order_answer,
    started_answer,
)
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.catalog import CatalogOutcome
from holdfast.ports.engine import Answer
from holdfast.ports.mails.templates import MailText
from holdfast.ports.paging import Page
from holdfast.services.access.tokens import IssuedToken

T = TypeVar("T")

AnyOutcome = (
    Outcome
    | CatalogOutcome
    | ApiKey
    | IssuedKey
    | Organization
    | MailText
    | Member
    | InvitedMember
    | IssuedToken
    | TokensRevoked
    | Forgotten
)
Show = Callable[[AnyOutcome], object]

OK = 200
ACCEPTED = 202

# As tuples, which are quicker to compare with than unions.
_WITHOUT_NEW = (CartChanged, CartEmptied)
_REPEATABLE = (Placed, CheckoutStarted, CartChanged, Waiting, Reserved)

_REPLAYED_HEADERS = ((b"idempotent-replayed", b"true"),)

written = msgspec.json.Encoder().encode


def answer_of(outcome: AnyOutcome) -> object:
    """The default answer to an outcome."""
    match outcome:
        case Placed() | Released() | Extended() | CartChanged():
            return hold_answer(outcome.hold, outcome.at)
        case Waiting():
            return hold_answer(outcome.hold, outcome.at, outcome.position)
        case Event():
            return event_answer(outcome)
        case Session():
            return session_answer(outcome)
        case PoolState():
            return pool_answer(outcome)
        case TicketType():
            return ticket_type_answer(outcome)
        case Block():
            return block_answer(outcome)
        case ImportedSeats():
            return import_answer(outcome)
        case CheckoutStarted():
            return started_answer(outcome)
        case Converted():
            return order_answer(outcome.order)
        case OrderCancelled() | RefundRecorded():
            return changed_answer(outcome)
        case (
            AlreadyConverted()  # the order has to be read
            | AwaitsInventory()  # settled first
            | ApiKey()
            | Organization()
            | MailText()
            | IssuedKey()
            | IssuedToken()
            | TokensRevoked()
            | Forgotten()
            | Member()
            | InvitedMember()
            | Expired()
            | Warned()
            | SeatsBlocked()
            | Reserved()
            | CartEmptied()
            | Promoted()
            | HoldPromoted()
            | Explained()
            | Refusal()
        ):
            raise AssertionError("this outcome has no answer")


def render(call: Call, outcome: AnyOutcome, show: Show = answer_of) -> bytes:
    """The sealed bytes that a replay returns. Runs on a thread of the engine or the store."""
    reply = _reply_to_outcome(call, outcome, show)
    assert call.seal is not None, "a recorded answer is sealed"
    sealed = call.seal.close(b"%d%b" % (reply.status, reply.body))
    call.rendered = (sealed, reply)
    return sealed


def reply_to(call: Call, answer: Answer | StoredAnswer[Any], show: Show = answer_of) -> Reply:
    outcome = answer.outcome
    if type(answer) is Answer:
        call.is_recorded = True  # by the engine
    if answer.body is None:
        assert outcome is not None, "an answer without an outcome is a replay, and has a body"
        reply = _reply_to_outcome(call, outcome, show)
    elif call.rendered is not None and call.rendered[0] is answer.body:
        reply = call.rendered[1]  # no need to open what was sealed for this answer
    else:
        assert call.seal is not None
        reply = _recorded(call.seal.open(answer.body), outcome)
    return as_replayed(reply) if answer.is_replay or _is_repeat(outcome) else reply


def as_replayed(reply: Reply) -> Reply:
    """Mark a reply as the result of an earlier request."""
    return reply._replace(headers=_REPLAYED_HEADERS)


def reply_to_reading(call: Call, found: T | Refusal, answer: Callable[[T], object]) -> Reply:
    if isinstance(found, Refusal):
        return refusal_reply(found, call.request_id)
    return Reply(200, written(shown_to(call, answer(found))))


def reply_to_listing(call: Call, found: Page[T] | Refusal, answer: Callable[[T], object]) -> Reply:
    if isinstance(found, Refusal):
        return refusal_reply(found, call.request_id)
    following = cursor_text(found.next) if found.next else UNSET
    data = [shown_to(call, answer(item)) for item in found.items]
    return Reply(200, written(PageAnswer(data, found.next is not None, following)))


def reply_to_shared(call: Call, found: Reply | Refusal) -> Reply:
    """A refusal names the request, so callers do not share it."""
    return refusal_reply(found, call.request_id) if isinstance(found, Refusal) else found


def size_of(found: Reply | Refusal) -> int:
    return 0 if isinstance(found, Refusal) else len(found.body)


def _reply_to_outcome(call: Call, outcome: AnyOutcome, show: Show) -> Reply:
    if isinstance(outcome, Refusal):
        return refusal_reply(outcome, call.request_id)
    # 200 if nothing new was created, 202 for the waitlist.
    status = call.success_status
    if isinstance(outcome, Waiting):
        status = ACCEPTED
    elif isinstance(outcome, _WITHOUT_NEW) or _is_repeat(outcome):
        status = OK
    answer = show(outcome)
    if call.principal.holder is not None:
        answer = shown_to(call, answer)
    return Reply(status, written(answer))


def shown_to(call: Call, answer: object) -> object:
    """Without the notes on holds if a token asks: operators write them for each other."""
    if call.principal.holder is None:
        return answer
    if isinstance(answer, HoldAnswer):
        return structs.replace(answer, notes=UNSET)
    if isinstance(answer, CheckoutAnswer):
        holds = [structs.replace(hold, notes=UNSET) for hold in answer.holds]
        return structs.replace(answer, holds=holds)
    return answer


def _is_repeat(outcome: AnyOutcome | None) -> bool:
    return isinstance(outcome, _REPEATABLE) and outcome.is_repeat


def _recorded(body: bytes, outcome: AnyOutcome | None) -> Reply:
    status = int(body[:3])
    headers = retry_headers(outcome.code, outcome.details) if isinstance(outcome, Refusal) else ()
    return Reply(status, body[3:], PROBLEM_JSON if status >= 400 else JSON, headers)
