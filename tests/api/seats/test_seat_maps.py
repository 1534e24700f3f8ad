"""A seat map is read and rendered once for everybody, and never served stale."""

from uuid import UUID

import pytest

from holdfast.domain import refusals
from holdfast.domain.ids import BlockId, OrganizationId, SessionId
from holdfast.entrypoints.api.seats import maps
from holdfast.entrypoints.api.seats.maps import MapWriter, WrittenMap
from holdfast.ports.seats import MapBlock, MapRow, MapState, SessionMap
from tests.api.world import ORGANIZATION, SESSION, StubSeats

KEY = (ORGANIZATION, SESSION)
LAPSE = 1_000


class CountedSeats(StubSeats):
    """One hall, whose state and map the test sets."""

    def __init__(self) -> None:
        self.reads = 0
        self.state = MapState(version=8, blocks_digest=1, at=0.0)
        self.version = 8

    def map_state(self, organization_id: OrganizationId, session_id: SessionId) -> MapState | None:
        return self.state

    def session_map(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionMap | None:
        self.reads += 1
        row = MapRow("A", ["1"], ["1"], [0.0], [0.0], "h", {"0": LAPSE}, (), (), ())
        block = MapBlock(BlockId(UUID(int=1)), "Stalls", None, (row,))
        return SessionMap(session_id, self.version, (block,), self.state.blocks_digest)


@pytest.fixture
def seats() -> CountedSeats:
    return CountedSeats()


def test_a_current_map_is_not_read_again(seats: CountedSeats) -> None:
    writer = MapWriter(seats)
    first = writer.write(KEY)
    assert isinstance(first, WrittenMap)
    assert writer.write(KEY) is first
    assert seats.reads == 1


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(MapState(9, 1, 0.0), id="a seat has changed"),
        pytest.param(MapState(8, 2, 0.0), id="a block has changed"),
        pytest.param(MapState(8, 1, float(LAPSE)), id="a hold has lapsed"),
    ],
)
def test_a_stale_map_is_read_again(seats: CountedSeats, state: MapState) -> None:
    writer = MapWriter(seats)
    writer.write(KEY)
    seats.state = state
    writer.write(KEY)
    assert seats.reads == 2


def test_a_map_read_during_a_change_is_not_cached(seats: CountedSeats) -> None:
    """Its version is that of the oldest open transaction, and the newest seat is newer."""
    seats.version = 5
    writer = MapWriter(seats)
    writer.write(KEY)
    writer.write(KEY)
    assert seats.reads == 2


def test_the_map_cache_is_bounded(seats: CountedSeats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "MAPS_KEPT_MAX", 2)
    writer = MapWriter(seats)
    keys = [(ORGANIZATION, SessionId(UUID(int=number))) for number in range(3)]
    for key in keys:
        writer.write(key)
    writer.write(keys[2])
    assert seats.reads == 3
    writer.write(keys[0])
    assert seats.reads == 4


def test_one_organizations_maps_do_not_evict_anothers(seats: CountedSeats) -> None:
    writer = MapWriter(seats)
    other = OrganizationId(UUID(int=77))
    large = writer.write((other, SESSION))
    for number in range(maps.MAPS_KEPT_MAX + 1):
        writer.write((ORGANIZATION, SessionId(UUID(int=number))))
    assert writer.write((other, SESSION)) is large


def test_the_least_recently_used_map_is_evicted_first(
    seats: CountedSeats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MAPS_KEPT_MAX", 2)
    writer = MapWriter(seats)
    first, second, third = [(ORGANIZATION, SessionId(UUID(int=number))) for number in range(3)]
    known = writer.write(first)
    for key in (second, first, third):
        writer.write(key)
    assert writer.write(first) is known


def test_an_unknown_session_is_refused() -> None:
    assert MapWriter(StubSeats()).write(KEY) == refusals.session_not_found()
