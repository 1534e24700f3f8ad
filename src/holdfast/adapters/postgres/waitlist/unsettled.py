"""Marks the waitlists that a catalog change may have freed places for."""

from uuid import UUID

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.waitlist import statements as sql
from holdfast.domain.catalog.changes import (
    CatalogChange,
    ChangeBlock,
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
    ImportSeats,
    SetStock,
)
from holdfast.domain.catalog.model import Block, Event, PoolState, Session, TicketType
from holdfast.domain.catalog.seat_import import ImportedSeats
from holdfast.domain.ids import SessionId
from holdfast.ports.catalog import CatalogOutcome


def unsettle(
    connection: Connection, change: CatalogChange, outcome: CatalogOutcome
) -> tuple[SessionId, ...]:
    """Mark them in the transaction of the change: newcomers cannot take the freed places until a
    promotion clears the mark."""
    subject: UUID
    match change, outcome:
        case ChangeEvent(alters_terms=True, event_id=event_id), Event():
            statement, subject = sql.UNSETTLE_EVENT, event_id
        case ChangeSession(), Session() as moved:
            statement, subject = sql.UNSETTLE_SESSION, moved.id
        case (
            ChangePool() | SetStock() | ChangeTicketType() | ChangeBlock() | ImportSeats(),
            PoolState() | TicketType() | Block() | ImportedSeats() as changed,
        ):
            statement, subject = sql.UNSETTLE_SESSION, changed.session_id
        case _:
            return ()
    marked = connection.execute(statement, (change.organization_id, subject))
    return tuple(sorted(SessionId(session_id) for (session_id,) in marked))
