"""Handlers of holds: parse the request, submit a command or read, map the answer."""

from collections.abc import Callable
from functools import partial

from uuid_utils.compat import uuid7

from holdfast.domain.access.reach import Reach
from holdfast.domain.access.scopes import Scope
from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.access.authentication import missing_scope
from holdfast.entrypoints.api.access.holders import own_hold
from holdfast.entrypoints.api.holds.answers import placed_hold_answer, seen_hold_answer
from holdfast.entrypoints.api.holds.requests import (
    extension_of,
    holder_and_asks,
    own_filters,
    remarks_of,
)
from holdfast.entrypoints.api.holds.statistics_answers import stats_answer
from holdfast.entrypoints.api.holds.structs import (
    ExtendHoldRequest,
    HoldsQuery,
    PlaceHoldRequest,
    StatsQuery,
)
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import page_request
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of, repeat_key_text
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid
from holdfast.entrypoints.api.http.replies import (
    Show,
    answer_of,
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
    shown_to,
    written,
)
from holdfast.entrypoints.api.http.shapes import NoFields, given_or_none
from holdfast.ports.engine import Answer
from holdfast.ports.holds import HoldFilter, HoldOrder, SeenHold
from holdfast.ports.paging import Page
from holdfast.services import reads
from holdfast.services.holds import statistics
from holdfast.services.reads import HoldWithPosition


async def place_hold(context: Context, call: Call, body: PlaceHoldRequest) -> Reply:
    principal = call.principal
    holder, asks = holder_and_asks(body, principal.holder)
    key = None
    if call.idempotency_key is not None or body.hold_id is not None:
        key_text = repeat_key_text(call.idempotency_key, body.hold_id)
        key = idempotency_of(call, key_text, body)
    command = PlaceHold(
        principal.organization_id,
        body.session_id,
        body.hold_id or HoldId(uuid7()),
        holder,
        asks,
        call.origin,
        key,
        is_id_from_client=body.hold_id is not None,
        remarks=remarks_of(body, body.cart_token, body.notes, body.metadata),
        wants_alternative=bool(body.offer_alternative),
        reach=principal.reach,
    )
    rendering = partial(render, call) if key else None
    answer = await (
        context.engine.answer(command, rendering)
        if call.limits is None
        else context.rates.place(call, command, rendering)
    )
    return await reply_with_position(context, call, answer, answer_of, placed_hold_answer)


async def reply_with_position(
    context: Context,
    call: Call,
    answer: Answer,
    show: Show,
    show_with_position: Callable[[HoldWithPosition], object],
) -> Reply:
    """Add the queue position. A party that joins the waitlist has it from the engine, at no cost.
    For one that joined earlier it is read, unless the answer is recorded for a key: a replay must
    be the same."""
    outcome = answer.outcome
    reply = reply_to(call, answer, show)
    if not isinstance(outcome, Waiting) or outcome.position or answer.body is not None:
        return reply
    seen = SeenHold(outcome.hold, outcome.at)
    try:
        found = await context.blocking.run(
            call.principal.organization_id, reads.with_position, context.holds, seen
        )
    except Problem:
        return reply  # the decision stands, even without a position
    return (
        reply
        if isinstance(found, Refusal)
        else reply._replace(body=written(shown_to(call, show_with_position(found))))
    )


async def release_hold(context: Context, call: Call, body: NoFields) -> Reply:
    key = idempotency_of(call, call.idempotency_key, body)
    organization_id, reach = call.principal.organization_id, call.principal.reach
    command = ReleaseHold(organization_id, HoldId(call.path_id), call.origin, key, reach)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def delete_hold(context: Context, call: Call, body: NoFields) -> Reply:
    """The same as release_hold, for clients that expect DELETE."""
    return await release_hold(context, call, body)


async def extend_hold(context: Context, call: Call, body: ExtendHoldRequest) -> Reply:
    seconds, holder = extension_of(body)
    is_operator = bool(body.as_operator)
    if is_operator and Scope.HOLDS_OPERATE not in call.principal.scopes:
        raise missing_scope(Scope.HOLDS_OPERATE)
    key = idempotency_of(call, call.idempotency_key, body)
    command = ExtendHold(
        organization_id=call.principal.organization_id,
        hold_id=HoldId(call.path_id),
        seconds=seconds,
        origin=call.origin,
        holder=holder,
        is_operator=is_operator,
        idempotency=key,
        reach=call.principal.reach,
    )
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def get_hold(context: Context, call: Call, _: NoFields) -> Reply:
    found = await context.blocking.run(
        call.principal.organization_id,
        reads.hold_with_position,
        context.holds,
        call.principal.organization_id,
        HoldId(call.path_id),
    )
    found = await own_hold(context, call, found)
    return reply_to_reading(call, found, placed_hold_answer)


async def list_holds(context: Context, call: Call, query: HoldsQuery) -> Reply:
    return await context.blocking.run(
        call.principal.organization_id, _holds_reply, context, call, query
    )


def _holds_reply(context: Context, call: Call, query: HoldsQuery) -> Reply:
    """Runs on the reading thread: a hold may have thousands of seats."""
    only = _hold_filter(query, call.principal.reach)
    found: Page[SeenHold] | Refusal = Page((), None)
    if only is not None:
        found = reads.holds(
            context.holds,
            call.principal.organization_id,
            only,
            page_request(query),
            query.order,
        )
    return reply_to_listing(call, found, seen_hold_answer)


async def get_stats(context: Context, call: Call, query: StatsQuery) -> Reply:
    """Slow for large sales, so concurrent callers share the answer."""
    organization_id, session_id = call.principal.organization_id, given_or_none(query.session_id)
    key = statistics.statistics_key(organization_id, session_id, query.hours)
    found = await context.statistics.get(key)
    return reply_to_reading(call, found, lambda counted: stats_answer(counted.last(query.hours)))


def _hold_filter(query: HoldsQuery, reach: Reach | None) -> HoldFilter | None:
    status = given_or_none(query.status)
    if query.lapsed and status is not None:
        message = "Don't combine status with lapsed"
        raise invalid([FieldError("status", "conflicting_fields", message)])
    if query.order is HoldOrder.EXPIRY and status not in {None, HoldStatus.ACTIVE}:
        message = "Only active holds can be ordered by expiry: use active, or leave status out"
        raise invalid([FieldError("status", "conflicting_fields", message)])
    only = own_filters(query, reach)
    if only is None:
        return None
    only["is_lapsed"] = only.pop("lapsed")
    del only["order"]
    return HoldFilter(**only)
