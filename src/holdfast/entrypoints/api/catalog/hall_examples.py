"""Examples of blocks and seat imports for the OpenAPI document."""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from holdfast.domain.catalog.layout import Numbering
from holdfast.domain.catalog.model import Block, BlockPrice
from holdfast.domain.catalog.seat_import import ImportedBlock, ImportedSeats
from holdfast.domain.ids import BlockId, SessionId, TicketTypeId
from holdfast.entrypoints.api.catalog import hall_answers, hall_structs

_NOW = datetime(2026, 1, 15, 10, 20, tzinfo=UTC)
_SESSION = SessionId(UUID("0198f1c0-6d1f-7b0a-8f4e-1b7d92e50003"))
_TYPE = TicketTypeId(UUID("0198f1c0-9b83-7c44-a2d6-77f03b180004"))
_BLOCK = BlockId(UUID("0198f1c0-a3d1-7a52-8e0b-6c9d24f70007"))

_block = hall_answers.block_answer(
    Block(_BLOCK, _SESSION, "Stalls", 0, 250, 258, (BlockPrice(_TYPE, 4500),), _NOW, _NOW)
)
_sold_here = [hall_structs.SoldHereRequest(_TYPE, 4500)]
_stalls = hall_structs.BlockLayoutRequest(
    "Stalls",
    rows=hall_structs.RowRangeRequest("A", "M"),
    seats_per_row=20,
    aisles_after=[5, 15],
    gaps=["A1", "A20"],
    accessible=["M1"],
    companion=["M2"],
    ticket_types=_sold_here,
)
_balcony = hall_structs.BlockLayoutRequest(
    "Balcony",
    rows=["AA", "BB"],
    seats_per_row=16,
    numbering=Numbering.ODD_EVEN,
    restricted_view=["AA15", "AA16"],
    origin=hall_structs.PointRequest(2, 16),
    spacing=hall_structs.PointRequest(1, 1.2),
)

HALL_ANSWERS: Mapping[type[msgspec.Struct], msgspec.Struct] = {
    hall_answers.BlockAnswer: _block,
    hall_answers.BlockPage: hall_answers.BlockPage([_block], False),
    hall_answers.ImportAnswer: hall_answers.import_answer(
        ImportedSeats(_SESSION, (ImportedBlock(_BLOCK, "Stalls", 258),))
    ),
}

HALL_REQUESTS: Mapping[type[msgspec.Struct], Mapping[str, msgspec.Struct]] = {
    hall_structs.CreateBlockRequest: {
        "block": hall_structs.CreateBlockRequest(
            _SESSION, "Stalls", capacity=250, ticket_types=_sold_here
        )
    },
    hall_structs.ChangeBlockRequest: {
        "fewer": hall_structs.ChangeBlockRequest(capacity=200),
        "all of them": hall_structs.ChangeBlockRequest(capacity=None),
    },
    hall_structs.ImportSeatsRequest: {
        "a small hall": hall_structs.ImportSeatsRequest([_stalls, _balcony])
    },
}

SEAT_LIST = """block,row,number,position,accessible
Stalls,A,1,1,
Stalls,A,2,2,
Stalls,A,3,4,yes
"""
