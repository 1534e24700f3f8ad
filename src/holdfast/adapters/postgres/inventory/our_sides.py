"""Reads this service's side of what it agrees on with the Inventory Service."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.engine.rows import ids_array
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.inventory import reconciler_statements as sql
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId, OrganizationId, TicketTypeId
from holdfast.ports.inventory.reconciliation import OurSide
from holdfast.ports.inventory.service import Reservation
from holdfast.ports.paging import Cursor, Page
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES, Addresses

PAGE_SIZE = 1_000
_BEGINNING = Cursor(datetime.min.replace(tzinfo=UTC), UUID(int=0))


class PostgresOurSides:
    """Implements OurSides."""

    def __init__(self, database: Database, addresses: Addresses = CLEAR_ADDRESSES) -> None:
        self._database = database
        self._addresses = addresses

    def organizations(self) -> Sequence[OrganizationId]:
        with self._database.transaction() as connection:
            ((found,),) = connection.execute(sql.ORGANIZATIONS)
        return [OrganizationId(each) for each in found]

    def now(self) -> datetime:
        with self._database.transaction() as connection:
            ((now,),) = connection.execute(sql.NOW)
        assert isinstance(now, datetime)
        return now

    def of_hold(self, organization_id: OrganizationId, hold_id: HoldId) -> OurSide | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.OF_HOLD, (organization_id, hold_id)).fetchone()
        return None if row is None else self._side(row)

    def of_reservations(
        self, organizations: Iterable[OrganizationId], reservations: Sequence[Reservation]
    ) -> Mapping[HoldId, OurSide | None]:
        named = tuple(organizations)
        asked = (
            ids_array(each.hold_id for each in reservations),
            ids_array(each.session_id for each in reservations),
            ids_array(named),
        )
        with self._database.transaction(*named) as connection:
            rows = connection.execute(sql.OF_RESERVATIONS, asked).fetchall()
        return {
            HoldId(hold_id): self._side(row) if is_known else None
            for hold_id, is_known, *row in rows
        }

    def remote_holds(
        self,
        organization_id: OrganizationId,
        status: HoldStatus,
        before: datetime,
        after: Cursor | None,
    ) -> Page[HoldId]:
        start = after or _BEGINNING
        names = {
            "organization_id": organization_id,
            "status": status.value,
            "before": before,
            "after": start.at,
            "after_id": start.id,
            "limit": PAGE_SIZE,
        }
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(sql.REMOTE_HOLDS, names).fetchall()
        found = tuple(HoldId(hold_id) for _, hold_id in rows)
        return Page(found, Cursor(*rows[-1]) if len(rows) == PAGE_SIZE else None)

    def _side(self, row: Sequence[Any]) -> OurSide:
        *columns, sold, has_task, at = row
        counts = {TicketTypeId(UUID(name)): count for name, count in (sold or {}).items()}
        return OurSide(hold_from_row(self._addresses, columns), counts, has_task, at)
