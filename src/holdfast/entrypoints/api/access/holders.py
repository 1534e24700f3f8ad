"""What a caller with a holder token may send and see."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from holdfast.domain import refusals
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import EventId, SessionId
from holdfast.domain.orders.order import Order
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.holds.structs import RemarkedRequest
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import FieldError, Problem
from holdfast.ports.access import Principal
from holdfast.services.reads import HoldWithPosition

_OF_HOLDER = ("user_id", "customer_email")
_OF_SERVERS = ("unit_price", "as_operator", "notes", "metadata")
_LINES = ("lines", "items")


def refuse_closed() -> Problem:
    message = "A holder token cannot do this. Call it from your server, with a secret key"
    return Problem(ProblemCode.SECRET_KEY_REQUIRED, message)


def refuse_fields(given: msgspec.Struct) -> None:
    """The holder comes from the token, prices from the catalog, and remarks from the server."""
    errors = [
        FieldError(name, ProblemCode.HOLDER_FROM_TOKEN.value, "The token names the holder: omit it")
        for name in _OF_HOLDER
        if _is_given(given, name)
    ]
    if errors:
        raise Problem(ProblemCode.HOLDER_FROM_TOKEN, errors[0].message, errors=errors)
    closed = [
        FieldError(path, ProblemCode.SECRET_KEY_REQUIRED.value, "Only a secret key may send this")
        for path in _closed_fields(given)
    ]
    if closed:
        message = f"A holder token cannot send {closed[0].field}: omit it, or use a secret key"
        raise Problem(ProblemCode.SECRET_KEY_REQUIRED, message, errors=closed)


def _closed_fields(given: msgspec.Struct) -> Iterator[str]:
    yield from (name for name in _OF_SERVERS if _is_given(given, name))
    # On a hold, a label: it might be that of another's cart. A checkout finds the caller's own.
    if isinstance(given, RemarkedRequest) and _is_given(given, "cart_token"):
        yield "cart_token"
    for name in _LINES:
        for position, line in enumerate(getattr(given, name, None) or ()):
            if _is_given(line, "unit_price"):
                yield f"{name}[{position}].unit_price"


def _is_given(given: Any, name: str) -> bool:
    value = getattr(given, name, None)
    return value is not None and value is not UNSET


async def event_of(context: Context, call: Call, session_id: SessionId) -> EventId | Refusal:
    """The event of a session. Those of drafts look unknown."""
    organization_id = call.principal.organization_id
    key = (organization_id, session_id)
    known = context.session_events.remembered(key)
    if known is not None:
        return known
    return await context.blocking.run(organization_id, context.session_events.find, key)


async def refuse_session(context: Context, call: Call, session_id: SessionId) -> Refusal | None:
    """To a token limited to a session, any other looks unknown, as do those of drafts."""
    reach = call.principal.reach
    if reach is None:
        return None
    event_id = await event_of(context, call, session_id)
    if isinstance(event_id, Refusal):
        return event_id
    return None if reach.includes(session_id, event_id) else refusals.session_not_found()


async def refuse_event(context: Context, call: Call, event_id: EventId) -> Refusal | None:
    """To a token limited to an event, any other looks unknown, as do drafts."""
    if call.principal.reach is None:
        return None
    own = await own_event(context, call)
    if isinstance(own, Refusal):
        return own
    if own not in {None, event_id}:
        return refusals.event_not_found()
    organization_id = call.principal.organization_id
    events, key = context.session_events, (organization_id, event_id)
    if events.is_announced(key):
        return None
    found = await context.blocking.run(organization_id, events.find_event, key)
    return found if isinstance(found, Refusal) else None


async def own_event(context: Context, call: Call) -> EventId | Refusal | None:
    """The event that the token is limited to, itself or by its session."""
    reach = call.principal.reach
    if reach is None or reach.session_id is None:
        return None if reach is None else reach.event_id
    return await event_of(context, call, reach.session_id)


async def own_hold(
    context: Context, call: Call, found: HoldWithPosition | Refusal
) -> HoldWithPosition | Refusal:
    """Another holder's hold looks unknown, as does one outside the token's limits."""
    if isinstance(found, Refusal):
        return found
    is_own = await are_own(context, call, [found.seen.hold])
    return found if is_own else refusals.hold_not_found()


async def are_own(context: Context, call: Call, holds: Iterable[Hold]) -> bool:
    """Whether the caller may know of all these holds."""
    reach = call.principal.reach
    if reach is None:
        return True
    for hold in holds:
        if not hold.belongs_to(reach.holder):
            return False
        if reach.is_limited and await refuse_session(context, call, hold.session_id) is not None:
            return False
    return True


def is_own_hold(context: Context, principal: Principal, hold: Hold) -> bool:
    """The same for one hold. Blocks."""
    reach = principal.reach
    if reach is None or not reach.is_limited:
        return reach is None or hold.belongs_to(reach.holder)
    event_id = context.session_events.find(hold.session_key)
    return not isinstance(event_id, Refusal) and reach.covers(hold, event_id)


async def is_own_order(context: Context, call: Call, order: Order) -> bool:
    """An order that also has tickets of other events is shown whole."""
    reach = call.principal.reach
    if reach is None:
        return True
    if not reach.is_limited or not order.holder.is_person(reach.holder):
        return order.holder.is_person(reach.holder)
    for session_id in {ticket.session_id for ticket in order.tickets}:
        if await refuse_session(context, call, session_id) is None:
            return True
    return False
