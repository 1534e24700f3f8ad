"""Handlers of blocks and seat imports: parse the request, call one service, map the answer."""

from functools import partial

from msgspec import UnsetType

from holdfast.domain.catalog.layout import BlockLayout, Point, RowRange
from holdfast.domain.catalog.model import BlockPrice
from holdfast.domain.ids import BlockId, SessionId
from holdfast.domain.policy import UNCHANGED
from holdfast.entrypoints.api.catalog.hall_answers import block_answer
from holdfast.entrypoints.api.catalog.hall_structs import (
    BlockLayoutRequest,
    ChangeBlockRequest,
    CreateBlockRequest,
    ImportSeatsRequest,
    PointRequest,
    RowRangeRequest,
    SoldHereRequest,
)
from holdfast.entrypoints.api.catalog.handlers import (
    edit,
    editor_for,
    list_part,
    read_part,
    refuse_empty,
)
from holdfast.entrypoints.api.catalog.structs import OfSessionQuery
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.replies import reply_to
from holdfast.entrypoints.api.http.shapes import CsvText, NoFields, given_or_none
from holdfast.ports.catalog import CatalogAnswer
from holdfast.services import reads
from holdfast.services.catalog import seat_import

# Longer than the store's own limit.
IMPORT_SECONDS_MAX = 30.0


async def list_blocks(context: Context, call: Call, query: OfSessionQuery) -> Reply:
    session_id = given_or_none(query.session_id)
    return await list_part(context, call, query, reads.blocks, block_answer, only=session_id)


async def get_block(context: Context, call: Call, _: NoFields) -> Reply:
    return await read_part(context, call, reads.block, BlockId(call.path_id), block_answer)


async def create_block(context: Context, call: Call, body: CreateBlockRequest) -> Reply:
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


async def change_block(context: Context, call: Call, body: ChangeBlockRequest) -> Reply:
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


async def import_seats(context: Context, call: Call, body: ImportSeatsRequest | CsvText) -> Reply:
    """Runs on a thread, because many seats take seconds."""
    organization_id = call.principal.organization_id
    answer = await context.imports.run_for(
        IMPORT_SECONDS_MAX, organization_id, partial(_import, context, call, body)
    )
    return reply_to(call, answer)


def _import(context: Context, call: Call, body: ImportSeatsRequest | CsvText) -> CatalogAnswer:
    session_id = SessionId(call.path_id)
    editor = editor_for(context, call, body)
    if isinstance(body, CsvText):
        return seat_import.import_csv(editor, session_id, body.content)
    layouts = [_layout(position, block) for position, block in enumerate(body.blocks)]
    return seat_import.import_layouts(editor, session_id, layouts)


def _layout(position: int, block: BlockLayoutRequest) -> BlockLayout:
    rows = block.rows
    return BlockLayout(
        name=block.name,
        rows=RowRange(rows.first, rows.last) if isinstance(rows, RowRangeRequest) else tuple(rows),
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


def _point(point: PointRequest | None) -> Point | None:
    return None if point is None else Point(point.x, point.y)


def _prices(field: str, sold: list[SoldHereRequest] | None) -> tuple[BlockPrice, ...]:
    prices: dict[object, BlockPrice] = {}
    for position, each in enumerate(sold or ()):
        if each.ticket_type_id in prices:
            message = "This ticket type is listed twice"
            path = f"{field}[{position}].ticket_type_id"
            raise invalid([FieldError(path, "duplicate", message)])
        prices[each.ticket_type_id] = BlockPrice(each.ticket_type_id, each.price)
    return tuple(prices.values())
