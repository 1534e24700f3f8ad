"""Handlers of seats: parse the request, call one service, map the answer."""

from functools import partial

from msgspec import UnsetType
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import SeatAsk
from holdfast.domain.ids import EventId, HoldId, SeatId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.block_seats import BlockSeats
from holdfast.entrypoints.api.holds.requests import holder_of, refuse_doubled, reservation_of
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.encodings import Coding, coding_for, compressed
from holdfast.entrypoints.api.http.exchange import (
    API_HEADERS,
    NOT_MODIFIED,
    Call,
    Reply,
    is_known_tag,
)
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid, refusal_reply
from holdfast.entrypoints.api.http.replies import (
    Show,
    render,
    reply_to,
    reply_to_reading,
    reply_to_shared,
)
from holdfast.entrypoints.api.http.shapes import NoFields, given_or_none
from holdfast.entrypoints.api.lookups import look_up
from holdfast.entrypoints.api.seats import answers, structs
from holdfast.entrypoints.api.seats.maps import tagged
from holdfast.services import reads

_NEVER_KEPT = ((b"cache-control", b"no-cache, no-store"), *API_HEADERS[1:])


async def reserve_seat(context: Context, call: Call, body: structs.ReserveRequest) -> Reply:
    principal = call.principal
    holder, remarks = reservation_of(body, principal)
    event_id, seat_id = EventId(call.path_id), SeatId(call.nested_id)
    path = (principal.organization_id, event_id, seat_id)
    session_id = context.seat_finder.remembered(path) or await context.seat_lookups.get(path)
    if isinstance(session_id, Refusal):
        return refusal_reply(session_id, call.request_id)
    if principal.session_id not in {None, session_id}:
        return refusal_reply(refusals.seat_not_found(), call.request_id)
    key = idempotency_of(call, call.idempotency_key, body)
    # The engine decides under lock whether this buyer may have the seat now.
    command = PlaceHold(
        organization_id=principal.organization_id,
        session_id=session_id,
        hold_id=HoldId(uuid7()),
        holder=holder,
        asks=(SeatAsk((seat_id,)),),
        origin=call.origin,
        idempotency=key,
        remarks=remarks,
        is_reservation=True,
        reach=principal.reach,
    )
    show = partial(answers.reserved_answer, event_id, seat_id)
    rendering = partial(render, call, show=show) if key else None
    answer = await context.rates.place(call, command, rendering)
    return reply_to(call, answer, show)._replace(standing_headers=_NEVER_KEPT)


async def get_seat(context: Context, call: Call, query: structs.SeatQuery) -> Reply:
    email, user_id = given_or_none(query.customer_email), given_or_none(query.user_id)
    is_anonymous = email is None and user_id is None
    principal = call.principal
    asking = principal.holder
    if asking is None and not is_anonymous:
        asking = holder_of(email, user_id)
    path = (EventId(call.path_id), SeatId(call.nested_id))
    found = await look_up(context, call, reads.seat, context.seats, *path)
    if not isinstance(found, Refusal) and principal.session_id not in {
        None,
        found.seat.session_id,
    }:
        found = refusals.seat_not_found()
    show = partial(answers.seat_answer, asking=asking, is_for_holder=principal.holder is not None)
    return reply_to_reading(call, found, show)


async def block_seats(context: Context, call: Call, body: structs.BlockSeatsRequest) -> Reply:
    show = partial(answers.blocked_answer, SessionId(call.path_id))
    return await _change_blocking(context, call, body, show, is_lifted=False)


async def unblock_seats(context: Context, call: Call, body: structs.BlockSeatsRequest) -> Reply:
    show = partial(answers.unblocked_answer, SessionId(call.path_id))
    return await _change_blocking(context, call, body, show, is_lifted=True)


async def _change_blocking(
    context: Context, call: Call, body: structs.BlockSeatsRequest, show: Show, *, is_lifted: bool
) -> Reply:
    refuse_doubled(body.seat_ids)
    key = idempotency_of(call, call.idempotency_key, body)
    command = BlockSeats(
        organization_id=call.principal.organization_id,
        session_id=SessionId(call.path_id),
        seat_ids=tuple(body.seat_ids),
        reason=body.reason,
        origin=call.origin,
        idempotency=key,
        is_lifted=is_lifted,
    )
    answer = await context.engine.answer(command, partial(render, call, show=show) if key else None)
    return reply_to(call, answer, show)


async def get_seat_map(context: Context, call: Call, query: structs.SeatMapQuery) -> Reply:
    organization_id, coding = call.principal.organization_id, coding_for(call)
    if not isinstance(query.since, UnsetType):
        reply = await context.blocking.run(
            organization_id, _changes_reply, context, call, query.since, coding
        )
        if reply is not None:
            return _unless_known(call, reply)
    key = (organization_id, SessionId(call.path_id), coding)
    return _unless_known(call, reply_to_shared(call, await context.maps.get(key)))


def _unless_known(call: Call, reply: Reply) -> Reply:
    """304 if the caller has this reply already."""
    headers = dict(reply.headers)
    tag = headers.get(b"etag")
    if tag is None or not is_known_tag(call, tag):
        return reply
    headers.pop(b"content-encoding", None)  # there is no body to decompress
    return reply._replace(status=NOT_MODIFIED, headers=tuple(headers.items()))


def _changes_reply(context: Context, call: Call, since: int, coding: Coding) -> Reply | None:
    """None if so much has changed that the whole map is better. Runs on the reading thread."""
    organization_id, session_id = call.principal.organization_id, SessionId(call.path_id)
    changes = reads.seat_changes(context.seats, organization_id, session_id, since)
    if not isinstance(changes, Refusal) and since > changes.version:
        # Versions only rise, so this one is not ours, and changes before it would be missed.
        message = "Use version of an earlier answer, unchanged"
        raise invalid([FieldError("since", ProblemCode.INVALID_CURSOR.value, message)])
    if not isinstance(changes, Refusal) and changes.too_many:
        return None
    reply = reply_to_reading(call, changes, answers.changes_answer)
    return reply if isinstance(changes, Refusal) else tagged(compressed(reply, coding))


async def get_occupancy(context: Context, call: Call, _: NoFields) -> Reply:
    """Counts every seat of the event, so concurrent callers share the answer."""
    key = (call.principal.organization_id, EventId(call.path_id), coding_for(call))
    return reply_to_shared(call, await context.occupancies.get(key))
