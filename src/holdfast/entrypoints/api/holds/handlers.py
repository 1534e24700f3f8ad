"""Handlers of holds: read what is asked, call one service, map the answer."""

from collections.abc import Callable
from functools import partial

from msgspec import UnsetType

from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.access.authentication import require_scope
from holdfast.entrypoints.api.answers import availability_answer
from holdfast.entrypoints.api.holds.answers import placed_hold_answer, seen_hold_answer
from holdfast.entrypoints.api.holds.requests import email_of, extension_request, hold_request
from holdfast.entrypoints.api.holds.structs import ExtendHoldRequest, HoldsQuery, PlaceHoldRequest
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import page_request
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid
from holdfast.entrypoints.api.http.replies import (
    Show,
    answer_of,
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
    written,
)
from holdfast.entrypoints.api.structs import NoFields, given_or_none
from holdfast.ports.access import Scope
from holdfast.ports.engine import Answer
from holdfast.ports.holds import HoldFilter, HoldOrder, SeenHold
from holdfast.services import reads
from holdfast.services.holds import extension, placement, release
from holdfast.services.reads import HoldInLine


async def place_hold(context: Context, call: Call, body: PlaceHoldRequest) -> Reply:
    request = hold_request(body)
    key_text = placement.repeat_key_text(call.idempotency_key, body.hold_id)
    key = idempotency_of(call, key_text, body)
    command = placement.place_command(call.principal, request, call.origin, key)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return await reply_from_line(context, call, answer, answer_of, placed_hold_answer)


async def reply_from_line(
    context: Context,
    call: Call,
    answer: Answer,
    show: Show,
    show_in_line: Callable[[HoldInLine], object],
) -> Reply:
    """Who joins the line is told the position by the engine, at no cost to a crowd that does. Of
    one that has waited for a while it has to be read, unless the answer is kept for a key: that one
    is given as it was decided, so that its replay is the same."""
    outcome = answer.outcome
    reply = reply_to(call, answer, show)
    if not isinstance(outcome, Waiting) or outcome.position or answer.body is not None:
        return reply
    seen = SeenHold(outcome.hold, outcome.at)
    try:
        found = await context.blocking.run(
            call.principal.organization_id, reads.in_line, context.holds, seen
        )
    except Problem:
        return reply  # that nobody has time to look does not undo what was decided
    return (
        reply if isinstance(found, Refusal) else reply._replace(body=written(show_in_line(found)))
    )


async def release_hold(context: Context, call: Call, body: NoFields) -> Reply:
    key = idempotency_of(call, call.idempotency_key, body)
    hold_id = HoldId(call.path_id)
    command = release.release_command(call.principal, hold_id, call.origin, key)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def extend_hold(context: Context, call: Call, body: ExtendHoldRequest) -> Reply:
    request = extension_request(HoldId(call.path_id), body)
    if request.is_operator:
        require_scope(call.principal, Scope.HOLDS_OPERATE)
    key = idempotency_of(call, call.idempotency_key, body)
    command = extension.extend_command(call.principal, request, call.origin, key)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def get_hold(context: Context, call: Call, _: NoFields) -> Reply:
    found = await context.blocking.run(
        call.principal.organization_id,
        reads.hold_in_line,
        context.holds,
        call.principal.organization_id,
        HoldId(call.path_id),
    )
    return reply_to_reading(call, found, placed_hold_answer)


async def list_holds(context: Context, call: Call, query: HoldsQuery) -> Reply:
    return await context.blocking.run(
        call.principal.organization_id, _holds_reply, context, call, query
    )


def _holds_reply(context: Context, call: Call, query: HoldsQuery) -> Reply:
    """On the thread that reads them: a hold may have thousands of seats."""
    found = reads.holds(
        context.holds,
        call.principal.organization_id,
        _hold_filter(query),
        page_request(query),
        query.order,
    )
    return reply_to_listing(call, found, seen_hold_answer)


async def get_availability(context: Context, call: Call, _: NoFields) -> Reply:
    found = await context.blocking.run(
        call.principal.organization_id,
        reads.availability,
        context.catalogue,
        call.principal.organization_id,
        SessionId(call.path_id),
    )
    return reply_to_reading(call, found, availability_answer)


def _hold_filter(query: HoldsQuery) -> HoldFilter:
    status, reference = given_or_none(query.status), given_or_none(query.reference)
    if query.lapsed and status is not None:
        message = "Holds that have lapsed are neither active nor ended: leave status out"
        raise invalid([FieldError("status", "conflicting_fields", message)])
    if query.order is HoldOrder.EXPIRY and status not in {None, HoldStatus.ACTIVE}:
        message = "Only live holds are listed in the order of their expiry"
        raise invalid([FieldError("status", "conflicting_fields", message)])
    return HoldFilter(
        session_id=given_or_none(query.session_id),
        status=status,
        email=None if isinstance(query.email, UnsetType) else email_of("email", query.email),
        user_id=given_or_none(query.user_id),
        # Read out over the telephone, so it may come in any case.
        reference=None if reference is None else reference.upper(),
        is_lapsed=query.lapsed,
    )
