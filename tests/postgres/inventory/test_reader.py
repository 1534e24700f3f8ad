"""The list of reservations."""

import pytest

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.inventory.reader import PostgresReservations
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.engine import Admission
from holdfast.ports.paging import PageRequest
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES
from tests.contract.asking import placed
from tests.contract.inventory.calls import Calls, reserved
from tests.contract.worlds import PostgresWorld


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_holds_of_the_database_that_are_no_reservations_are_left_out(
    fresh_world: PostgresWorld, fresh_engine: Admission, size: int
) -> None:
    """Somebody may sell from it, against our advice."""
    venue = fresh_world.venue({"floor": 100}, {"standing": ("floor",)})
    wanted = []
    for _ in range(5):
        placed(fresh_engine, venue.place(("standing", 1)))
        wanted.append(reserved(fresh_engine, Calls(venue).hold(standing=1)).id)
    database = Database(fresh_world.url)
    database.open()
    reader = PostgresReservations(database, CLEAR_ADDRESSES)
    for status in (None, ReservationStatus.HELD):
        found, page = [], PageRequest(size)
        while True:
            listed = reader.reservations(venue.organization_id, status, page)
            found += [each.id for each in listed.items]
            if listed.next is None:
                break
            page = PageRequest(size, listed.next)
        assert found == wanted
    database.close()
