"""Nothing is sealed while a group has locks."""

import pytest

from holdfast.adapters.postgres.engine.group import PostgresGroup
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.orders.order import Attendee
from holdfast.domain.values import EmailAddress
from holdfast.engine import Admission
from holdfast.ports.privacy.addresses import Addresses
from holdfast.ports.store import GroupWrites, Wanted
from holdfast.services.access.address_seal import address_seal
from tests.contract.asking import converted, placed
from tests.contract.venues import a_purchase
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT

SECRET = "a secret of the installation, 32 characters"


class WatchedSeal:
    """Counts what is sealed, and what of it as the group writes: then it has its locks."""

    def __init__(self) -> None:
        self._seal = address_seal([SECRET])
        self.mark = self._seal.mark
        self.count = self.too_late = 0
        self.is_writing = False

    def sealed(self, organization: bytes, text: str) -> bytes:
        self.count += 1
        self.too_late += self.is_writing
        return self._seal.sealed(organization, text)

    def opened(self, organization: bytes, sealed: bytes) -> str:
        return self._seal.opened(organization, sealed)

    def knows(self, sealed: bytes) -> bool:
        return self._seal.knows(sealed)


@pytest.mark.parametrize("is_told", [True, False], ids=["as it is", "control"])
def test_addresses_and_attendees_are_sealed_before_the_locks(
    quiet_database_url: str, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    seal = WatchedSeal()
    write, seal_first = PostgresGroup.write_and_commit, PostgresGroup._seal

    def watched(group: PostgresGroup, writes: GroupWrites) -> None:
        seal.is_writing = True
        try:
            write(group, writes)
        finally:
            seal.is_writing = False

    def nothing_first(group: PostgresGroup, wanted: Wanted) -> None:
        if is_told:
            seal_first(group, wanted)

    monkeypatch.setattr(PostgresGroup, "write_and_commit", watched)
    monkeypatch.setattr(PostgresGroup, "_seal", nothing_first)
    world = PostgresWorld(quiet_database_url)
    addresses = Addresses(seal, HolderHashes(SECRET))
    engine = Admission(PostgresStore(quiet_database_url, addresses), PATIENT)
    engine.start()
    try:
        venue = world.venue({"floor": 10}, {"standing": ("floor",)})
        hold = placed(engine, venue.place(("standing", 3)))
        attendees = (Attendee("Ada", EmailAddress("ada@example.com")), Attendee("Grace"))
        order = converted(engine, venue.convert(hold.id, purchase=a_purchase(*attendees))).order
    finally:
        engine.stop()
        world.close()
    assert order.tickets[0].attendee == attendees[0]
    assert seal.count == 1 + len(attendees)
    assert seal.too_late == (0 if is_told else seal.count)
