"""The names of what audit entries mention by id, read with one query for each kind."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.models import Hold, Seat, Session, TicketType
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.ports.audit.reader import AuditEntry


class Names:
    """An object that no longer exists, or never did, has no name here."""

    def __init__(self, organization_id: UUID, entries: Sequence[AuditEntry]) -> None:
        self._own = {"organization_id": organization_id}
        self.sessions: dict[UUID, Session] = {
            row.id: row
            for row in self._rows(Session, (each.session_id for each in entries), "event")
        }
        self.types: dict[UUID, str] = {
            row.id: row.name
            for row in self._rows(TicketType, (id_ for e in entries for id_ in e.ticket_type_ids))
        }
        self.seats: dict[UUID, str] = {
            row.id: seat_written(row.block, row.row_name, row.number)
            for row in self._rows(Seat, (id_ for e in entries for id_ in seat_ids_of(e)), "block")
        }
        self.holds: dict[UUID, str] = {
            row.id: row.reference for row in self._rows(Hold, (each.hold_id for each in entries))
        }

    def _rows(self, model: Any, ids: Iterable[UUID | None], *related: str) -> Iterator[Any]:
        wanted = {id_ for id_ in ids if id_ is not None}
        if not wanted:
            return iter(())
        found = model.objects.filter(**self._own, id__in=wanted)
        return iter(found.select_related(*related) if related else found)

    def seats_of(self, entry: AuditEntry) -> list[str]:
        return [self.seats[id_] for id_ in seat_ids_of(entry) if id_ in self.seats]

    def hold_of(self, entry: AuditEntry) -> str:
        """A client may have chosen an id for a hold that was never made."""
        if entry.hold_id is None or entry.hold_id not in self.holds:
            return "the hold"
        return f"hold {self.holds[entry.hold_id]}"


def seat_written(block: object, row: object, number: object) -> str:
    return f"{block} {row} {number}"


def seat_ids_of(entry: AuditEntry) -> list[UUID]:
    named = entry.new.get("seat_ids")
    ids = [uuid_or_none(str(each)) for each in named] if isinstance(named, list) else []
    found = [id_ for id_ in ids if id_ is not None]
    return found or ([entry.seat_id] if entry.seat_id is not None else [])
