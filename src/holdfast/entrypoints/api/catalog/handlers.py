"""Handlers of the catalog: parse the request, call one service, map the answer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, TypeVar
from uuid import UUID

from msgspec import Struct, UnsetType, structs

from holdfast.domain import refusals
from holdfast.domain.catalog.changes import SaleChange
from holdfast.domain.catalog.layout import BlockLayout, Point, RowRange
from holdfast.domain.catalog.model import (
    Block,
    BlockPrice,
    EventStatus,
    SaleTerms,
    Session,
    TicketType,
)
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import UNCHANGED, PolicyChange, PolicyOverride, Unchanged
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import metadata_of
from holdfast.entrypoints.api.access.holders import own_event, refuse_session
from holdfast.entrypoints.api.catalog import answers
from holdfast.entrypoints.api.catalog import structs as asked
from holdfast.entrypoints.api.catalog.hall_answers import block_answer
from holdfast.entrypoints.api.catalog.places import place_change, place_of
from holdfast.entrypoints.api.catalog.policy import PolicyChangeRequest, PolicyRequest
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import page_request
from holdfast.entrypoints.api.http.encodings import coding_for
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid, refusal_reply
from holdfast.entrypoints.api.http.replies import (
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
    reply_to_shared,
)
from holdfast.entrypoints.api.http.shapes import (
    CsvText,
    NoFields,
    PageQuery,
    filters_of,
    given_metadata,
    given_or_none,
)
from holdfast.entrypoints.api.lookups import look_up
from holdfast.ports.catalog import CatalogAnswer, CatalogStore, EventFilter, SessionFilter
from holdfast.ports.paging import Page, PageRequest
from holdfast.services import reads
from holdfast.services.catalog import seat_import
from holdfast.services.catalog.changes import CatalogEditor

# Longer than the store's own limit.
IMPORT_SECONDS_MAX = 30.0

F = TypeVar("F")
ID = TypeVar("ID", bound=UUID)
P = ParamSpec("P")
T = TypeVar("T")


async def list_events(context: Context, call: Call, query: asked.EventsQuery) -> Reply:
    only = EventFilter(**filters_of(query))
    if call.principal.holder is not None:
        own = await own_event(context, call)
        if isinstance(own, Refusal):
            return refusal_reply(own, call.request_id)
        only = replace(only, event_id=own, is_announced=True)
    return await list_part(context, call, query, reads.events, answers.event_answer, only=only)


async def get_event(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.event, context.catalog, EventId(call.path_id))
    return reply_to_reading(call, found, answers.event_answer)


async def create_event(context: Context, call: Call, body: asked.CreateEventRequest) -> Reply:
    sale = SaleTerms(
        EventStatus(body.status),
        utc_or_none("sale_starts_at", body.sale_starts_at),
        utc_or_none("sale_ends_at", body.sale_ends_at),
    )
    policy, metadata = _policy(body.hold_policy), metadata_of(body.metadata)
    create = editor_for(context, call, body).create_event
    terms = (body.name, body.currency, policy, sale, metadata)
    return await edit(context, call, create, *terms, place=place_of(body))


async def change_event(context: Context, call: Call, body: asked.ChangeEventRequest) -> Reply:
    refuse_empty(body)
    return await edit(
        context,
        call,
        editor_for(context, call, body).change_event,
        EventId(call.path_id),
        given_or_none(body.name),
        policy_change(body.hold_policy),
        _sale_change(body),
        given_metadata(body.metadata),
        place=place_change(body),
    )


async def list_sessions(context: Context, call: Call, query: asked.SessionsQuery) -> Reply:
    only = SessionFilter(**filters_of(query))
    reach = call.principal.reach
    if reach is not None:
        if reach.event_id is not None and only.event_id not in {None, reach.event_id}:
            return reply_to_listing(call, Page[Session]((), None), answers.session_answer)
        only = replace(
            only,
            event_id=only.event_id or reach.event_id,
            session_id=reach.session_id,
            is_announced=True,
        )
    return await list_part(context, call, query, reads.sessions, answers.session_answer, only=only)


async def get_session(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.session, context.catalog, SessionId(call.path_id))
    return reply_to_reading(call, found, answers.session_answer)


async def create_session(context: Context, call: Call, body: asked.CreateSessionRequest) -> Reply:
    starts_at = utc_or_none("starts_at", body.starts_at)
    create = editor_for(context, call, body).create_session
    metadata = metadata_of(body.metadata)
    return await edit(context, call, create, body.event_id, body.name, starts_at, metadata)


async def change_session(context: Context, call: Call, body: asked.ChangeSessionRequest) -> Reply:
    refuse_empty(body)
    starts_at = utc_or_none("starts_at", given_or_none(body.starts_at))
    change = editor_for(context, call, body).change_session
    values = (given_or_none(body.name), starts_at, given_metadata(body.metadata))
    status = given_or_none(body.status)
    return await edit(context, call, change, SessionId(call.path_id), *values, status)


async def get_availability(context: Context, call: Call, _: NoFields) -> Reply:
    """Many callers poll it, so concurrent ones share the answer."""
    key = (call.principal.organization_id, SessionId(call.path_id), coding_for(call))
    return reply_to_shared(call, await context.availabilities.get(key))


async def list_pools(context: Context, call: Call, query: asked.OfSessionQuery) -> Reply:
    session_id = given_or_none(query.session_id)
    return await list_part(context, call, query, reads.pools, answers.pool_answer, only=session_id)


async def get_pool(context: Context, call: Call, _: NoFields) -> Reply:
    return await read_part(context, call, reads.pool, PoolId(call.path_id), answers.pool_answer)


async def create_pool(context: Context, call: Call, body: asked.CreatePoolRequest) -> Reply:
    create = editor_for(context, call, body).create_pool
    return await edit(context, call, create, body.session_id, body.name, body.capacity)


async def change_pool(context: Context, call: Call, body: asked.ChangePoolRequest) -> Reply:
    refuse_empty(body)
    change = editor_for(context, call, body).change_pool
    name, capacity = given_or_none(body.name), given_or_none(body.capacity)
    return await edit(context, call, change, PoolId(call.path_id), name, capacity)


async def list_ticket_types(context: Context, call: Call, query: asked.OfSessionQuery) -> Reply:
    session_id = await _listed_session(context, call, query)
    if isinstance(session_id, Refusal):
        return reply_to_listing(call, Page[TicketType]((), None), answers.ticket_type_answer)
    return await list_part(
        context, call, query, reads.ticket_types, answers.ticket_type_answer, only=session_id
    )


async def get_ticket_type(context: Context, call: Call, _: NoFields) -> Reply:
    ticket_type_id = TicketTypeId(call.path_id)
    found = await look_up(context, call, reads.ticket_type, context.catalog, ticket_type_id)
    if not isinstance(found, Refusal) and await refuse_session(context, call, found.session_id):
        found = refusals.ticket_type_not_found()
    return reply_to_reading(call, found, answers.ticket_type_answer)


async def create_ticket_type(
    context: Context, call: Call, body: asked.CreateTicketTypeRequest
) -> Reply:
    if not body.is_seated and body.capacity is None and body.pool_ids is None:
        raise invalid([FieldError("capacity", "required", "Give capacity, pool_ids, or both")])
    return await edit(
        context,
        call,
        editor_for(context, call, body).create_ticket_type,
        session_id=body.session_id,
        name=body.name,
        price_minor=body.price,
        pool_ids=_pool_ids(body.pool_ids or []),
        capacity=body.capacity,
        policy=_policy(body.hold_policy),
        is_seated=body.is_seated,
        metadata=metadata_of(body.metadata),
    )


async def change_ticket_type(
    context: Context, call: Call, body: asked.ChangeTicketTypeRequest
) -> Reply:
    refuse_empty(body)
    return await edit(
        context,
        call,
        editor_for(context, call, body).change_ticket_type,
        ticket_type_id=TicketTypeId(call.path_id),
        name=given_or_none(body.name),
        price_minor=given_or_none(body.price),
        pool_ids=None if isinstance(body.pool_ids, UnsetType) else _pool_ids(body.pool_ids),
        policy=policy_change(body.hold_policy),
        metadata=given_metadata(body.metadata),
    )


async def list_blocks(context: Context, call: Call, query: asked.OfSessionQuery) -> Reply:
    session_id = await _listed_session(context, call, query)
    if isinstance(session_id, Refusal):
        return reply_to_listing(call, Page[Block]((), None), block_answer)
    return await list_part(context, call, query, reads.blocks, block_answer, only=session_id)


async def get_block(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.block, context.catalog, BlockId(call.path_id))
    if not isinstance(found, Refusal) and await refuse_session(context, call, found.session_id):
        found = refusals.block_not_found()
    return reply_to_reading(call, found, block_answer)


async def _listed_session(
    context: Context, call: Call, query: asked.OfSessionQuery
) -> SessionId | Refusal | None:
    """The session whose parts are listed; None for those of all. A refusal if the token is not for
    it: like an unknown one, it has no parts."""
    session_id = given_or_none(query.session_id)
    if call.principal.holder is None:
        return session_id
    session_id = session_id or call.principal.session_id
    if session_id is None:
        # The parts of all sessions include those of drafts.
        message = "With a holder token, say which session"
        raise invalid([FieldError("session_id", "required", message)])
    return await refuse_session(context, call, session_id) or session_id


async def create_block(context: Context, call: Call, body: asked.CreateBlockRequest) -> Reply:
    return await edit(
        context,
        call,
        editor_for(context, call, body).create_block,
        session_id=body.session_id,
        name=body.name,
        rank=body.rank,
        capacity=body.capacity,
        prices=_prices("ticket_types", body.ticket_types),
    )


async def change_block(context: Context, call: Call, body: asked.ChangeBlockRequest) -> Reply:
    refuse_empty(body)
    given = body.ticket_types
    return await edit(
        context,
        call,
        editor_for(context, call, body).change_block,
        block_id=BlockId(call.path_id),
        name=given_or_none(body.name),
        rank=given_or_none(body.rank),
        capacity=UNCHANGED if isinstance(body.capacity, UnsetType) else body.capacity,
        prices=None if isinstance(given, UnsetType) else _prices("ticket_types", given),
    )


async def import_seats(
    context: Context, call: Call, body: asked.ImportSeatsRequest | CsvText
) -> Reply:
    """Runs on a thread, because many seats take seconds."""
    organization_id = call.principal.organization_id
    answer = await context.imports.run_for(
        IMPORT_SECONDS_MAX, organization_id, partial(_import, context, call, body)
    )
    return reply_to(call, answer)


def _import(
    context: Context, call: Call, body: asked.ImportSeatsRequest | CsvText
) -> CatalogAnswer:
    session_id = SessionId(call.path_id)
    editor = editor_for(context, call, body)
    if isinstance(body, CsvText):
        return seat_import.import_csv(editor, session_id, body.content)
    layouts = [_layout(position, block) for position, block in enumerate(body.blocks)]
    return seat_import.import_layouts(editor, session_id, layouts)


async def list_part(
    context: Context,
    call: Call,
    query: PageQuery,
    read: Callable[[CatalogStore, OrganizationId, F, PageRequest], Page[T] | Refusal],
    answer: Callable[[T], object],
    *,
    only: F,
) -> Reply:
    found = await look_up(context, call, read, context.catalog, only, page_request(query))
    return reply_to_listing(call, found, answer)


async def read_part(
    context: Context,
    call: Call,
    read: Callable[[CatalogStore, OrganizationId, ID], T | Refusal],
    part_id: ID,
    answer: Callable[[T], object],
) -> Reply:
    found = await look_up(context, call, read, context.catalog, part_id)
    return reply_to_reading(call, found, answer)


async def edit(
    context: Context,
    call: Call,
    change: Callable[P, CatalogAnswer],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Reply:
    organization_id = call.principal.organization_id
    return reply_to(call, await context.blocking.run(organization_id, change, *args, **kwargs))


def editor_for(context: Context, call: Call, body: Struct) -> CatalogEditor:
    key = idempotency_of(call, call.idempotency_key, body)
    organization_id = call.principal.organization_id
    render_reply = partial(render, call)
    return CatalogEditor(
        context.catalog, context.submit, organization_id, call.origin, key, render_reply
    )


def refuse_empty(change: Struct) -> None:
    """Refuse a change without fields: it is probably a client error."""
    given = [value for value in structs.astuple(change) if not isinstance(value, UnsetType)]
    if not given:
        raise invalid([FieldError("body", "required", "Give at least one field to change")])
    for value in given:
        if isinstance(value, PolicyChangeRequest) and policy_change(value) == PolicyChange():
            raise invalid(
                [FieldError("hold_policy", "required", "Give at least one field to change")]
            )


def _policy(policy: PolicyRequest | None) -> PolicyOverride:
    return PolicyOverride(**structs.asdict(policy)) if policy else PolicyOverride()


def policy_change(change: PolicyChangeRequest | UnsetType) -> PolicyChange | None:
    if isinstance(change, UnsetType):
        return None
    fields = structs.asdict(change)
    return PolicyChange(
        **{name: value for name, value in fields.items() if not isinstance(value, UnsetType)}
    )


def _sale_change(change: asked.ChangeEventRequest) -> SaleChange | None:
    sale = SaleChange(
        given_or_none(change.status),
        _utc_or_unchanged("sale_starts_at", change.sale_starts_at),
        _utc_or_unchanged("sale_ends_at", change.sale_ends_at),
    )
    return None if sale == SaleChange() else sale


def _pool_ids(ids: list[PoolId]) -> tuple[PoolId, ...]:
    for position, each in enumerate(ids):
        if each in ids[:position]:
            message = "This pool is listed twice"
            raise invalid([FieldError(f"pool_ids[{position}]", "duplicate", message)])
    return tuple(ids)


def _utc_or_unchanged(
    field: str, moment: datetime | UnsetType | None
) -> datetime | Unchanged | None:
    return UNCHANGED if isinstance(moment, UnsetType) else utc_or_none(field, moment)


def utc_or_none(field: str, moment: datetime | None) -> datetime | None:
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError:
        message = "Must be a time in the years 1 to 9999, in UTC"
        raise invalid([FieldError(field, "invalid_value", message)]) from None


def _layout(position: int, block: asked.BlockLayoutRequest) -> BlockLayout:
    rows = block.rows
    return BlockLayout(
        name=block.name,
        rows=RowRange(rows.first, rows.last)
        if isinstance(rows, asked.RowRangeRequest)
        else tuple(rows),
        seats_per_row=block.seats_per_row,
        numbering=block.numbering,
        aisles_after=tuple(block.aisles_after),
        gaps=tuple(block.gaps),
        accessible=tuple(block.accessible),
        companion=tuple(block.companion),
        restricted_view=tuple(block.restricted_view),
        origin=_point(block.origin),
        spacing=_point(block.spacing),
        rank=block.rank,
        capacity=block.capacity,
        prices=_prices(f"blocks[{position}].ticket_types", block.ticket_types),
    )


def _point(point: asked.PointRequest | None) -> Point | None:
    return None if point is None else Point(point.x, point.y)


def _prices(field: str, sold: list[asked.SoldHereRequest] | None) -> tuple[BlockPrice, ...]:
    prices: dict[object, BlockPrice] = {}
    for position, each in enumerate(sold or ()):
        if each.ticket_type_id in prices:
            message = "This ticket type is listed twice"
            path = f"{field}[{position}].ticket_type_id"
            raise invalid([FieldError(path, "duplicate", message)])
        prices[each.ticket_type_id] = BlockPrice(each.ticket_type_id, each.price)
    return tuple(prices.values())
