"""Routes of blocks and seat imports."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.catalog import hall_handlers as hall
from holdfast.entrypoints.api.catalog import hall_structs
from holdfast.entrypoints.api.catalog.hall_answers import BlockAnswer, BlockPage, ImportAnswer
from holdfast.entrypoints.api.catalog.structs import OfSessionQuery
from holdfast.entrypoints.api.http.route import Route
from holdfast.ports.access import Scope

_C = RefusalCode

IMPORT_BYTES_MAX = 8 * 1024 * 1024

HALL_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/blocks",
        scope=Scope.CATALOG_READ,
        summary="List blocks, newest first",
        returns="A page of blocks.",
        handler=hall.list_blocks,
        query=OfSessionQuery,
        answer=BlockPage,
    ),
    Route(
        method="POST",
        path="/api/blocks",
        scope=Scope.CATALOG_WRITE,
        summary="Create a block of a session",
        returns="The created block.",
        handler=hall.create_block,
        body=hall_structs.CreateBlockRequest,
        answer=BlockAnswer,
        status=201,
        refusals=(_C.INVALID_SESSION, _C.INVALID_TICKET_TYPE, _C.DUPLICATE_BLOCK),
    ),
    Route(
        method="GET",
        path="/api/blocks/{block_id}",
        scope=Scope.CATALOG_READ,
        summary="Read a block",
        returns="The block.",
        handler=hall.get_block,
        answer=BlockAnswer,
        not_found=refusals.block_not_found(),
    ),
    Route(
        method="PATCH",
        path="/api/blocks/{block_id}",
        scope=Scope.CATALOG_WRITE,
        summary="Change a block",
        returns="The updated block.",
        handler=hall.change_block,
        body=hall_structs.ChangeBlockRequest,
        answer=BlockAnswer,
        not_found=refusals.block_not_found(),
        refusals=(_C.INVALID_TICKET_TYPE, _C.DUPLICATE_BLOCK, _C.CAPACITY_IN_USE),
    ),
    Route(
        method="POST",
        path="/api/sessions/{session_id}/seats",
        scope=Scope.CATALOG_WRITE,
        summary="Import the seats of a session from JSON or CSV",
        returns="The blocks that seats were added to.",
        handler=hall.import_seats,
        body=hall_structs.ImportSeatsRequest,
        takes_csv=True,
        body_bytes_max=IMPORT_BYTES_MAX,
        answer=ImportAnswer,
        status=201,
        not_found=refusals.session_not_found(),
        refusals=(_C.INVALID_SEATS, _C.INVALID_TICKET_TYPE),
    ),
)
