"""Answers about blocks and seat imports."""

from typing import Annotated, TypeAlias
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.catalog import model
from holdfast.domain.catalog.seat_import import ImportedSeats
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, PageAnswer, or_unset, utc

BlockCapacity: TypeAlias = (
    Annotated[int, Meta(description="Maximum held and sold at once; absent: all seats.")]
    | UnsetType
)


class SoldHereAnswer(AnswerShape, frozen=True):
    ticket_type_id: UUID
    price: int


class BlockAnswer(AnswerShape, frozen=True, kw_only=True):
    """Without `capacity`, all seats can be sold. If `ticket_types` is empty, every seated ticket
    type of the session is sold here."""

    block_id: UUID
    session_id: UUID
    name: str
    rank: int
    capacity: BlockCapacity = UNSET
    seat_count: int
    ticket_types: Annotated[
        list[SoldHereAnswer], Meta(description="Ticket types sold here; empty: every seated one.")
    ]
    created_at: Moment
    updated_at: Moment


class BlockPage(PageAnswer[BlockAnswer], frozen=True):
    """Blocks, newest first."""


class ImportedBlockAnswer(AnswerShape, frozen=True):
    block_id: UUID
    name: str
    seats_added: int


class ImportAnswer(AnswerShape, frozen=True):
    session_id: UUID
    seats_added: int
    blocks: Annotated[
        list[ImportedBlockAnswer], Meta(description="The blocks that seats were added to.")
    ]


def block_answer(block: model.Block) -> BlockAnswer:
    return BlockAnswer(
        block_id=block.id,
        session_id=block.session_id,
        name=block.name,
        rank=block.rank,
        capacity=or_unset(block.capacity),
        seat_count=block.seats,
        ticket_types=[
            SoldHereAnswer(price.ticket_type_id, price.price_minor) for price in block.prices
        ],
        created_at=utc(block.created_at),
        updated_at=utc(block.updated_at),
    )


def import_answer(imported: ImportedSeats) -> ImportAnswer:
    return ImportAnswer(
        session_id=imported.session_id,
        seats_added=sum(block.seats_added for block in imported.blocks),
        blocks=[
            ImportedBlockAnswer(block.id, block.name, block.seats_added)
            for block in imported.blocks
        ],
    )
