"""Reads reservations."""

from functools import partial
from typing import Any

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.inventory import statements as sql
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.inventory.reservation import ReservationStatus, is_reservation
from holdfast.ports.paging import Cursor, Page, PageRequest
from holdfast.ports.privacy.addresses import Addresses


class PostgresReservations:
    """Implements ReservationReader."""

    def __init__(self, database: Database, addresses: Addresses) -> None:
        self._database = database
        self._hold = partial(hold_from_row, addresses)

    def reservations(
        self,
        organization_id: OrganizationId,
        status: ReservationStatus | None,
        page: PageRequest,
    ) -> Page[Hold]:
        query, names = list_query(organization_id, status, page)
        with self._database.transaction(organization_id) as connection:
            found = [self._hold(row) for row in connection.execute(query, names)]
        last = found[page.size - 1] if len(found) > page.size else None
        # There is hardly anything else. A condition in the query would mislead the planner.
        items = tuple(filter(is_reservation, found[: page.size]))
        return Page(items, Cursor(last.created_at, last.id) if last else None)

    def organizations_of(self, session_id: SessionId) -> tuple[OrganizationId, ...]:
        with self._database.transaction() as connection:
            rows = connection.execute(sql.ORGANIZATIONS_OF_SESSION, (session_id,)).fetchall()
        return tuple(OrganizationId(id_) for (id_,) in rows)


def list_query(
    organization_id: OrganizationId, status: ReservationStatus | None, page: PageRequest
) -> tuple[str, dict[str, Any]]:
    names: dict[str, Any] = {"organization_id": organization_id, "limit": page.size + 1}
    after = "true"
    if page.after is not None:
        after = sql.AFTER
        names |= {"after": page.after.at, "after_id": page.after.id}
    parts = [
        sql.LIST_PART.format(status=each.of_hold.value, after=after)
        for each in ([status] if status else ReservationStatus)
    ]
    return sql.LIST_RESERVATIONS.format(parts=" UNION ALL ".join(parts)), names
