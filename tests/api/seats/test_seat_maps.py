"""A seat map is read, rendered and compressed once for everybody, and never served stale."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import pytest

from holdfast.domain import refusals
from holdfast.domain.ids import BlockId, OrganizationId, SessionId
from holdfast.entrypoints.api.http import encodings
from holdfast.entrypoints.api.http.encodings import Coding
from holdfast.entrypoints.api.http.exchange import Reply
from holdfast.entrypoints.api.seats import maps
from holdfast.entrypoints.api.seats.maps import MapWriter
from holdfast.ports.seats import MapBlock, MapRow, MapState, SessionMap
from tests.api.world import ORGANIZATION, SESSION, StubSeats

PLAIN = Coding.IDENTITY
KEY = (ORGANIZATION, SESSION, PLAIN)
IN_ZSTD = (ORGANIZATION, SESSION, Coding.ZSTD)
IN_GZIP = (ORGANIZATION, SESSION, Coding.GZIP)
LAPSE = 1_000
SEATS = 100


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
        names, places = [str(number) for number in range(SEATS)], [0.0] * SEATS
        row = MapRow("A", names, names, places, places, "h" * SEATS, {"0": LAPSE}, (), (), ())
        block = MapBlock(BlockId(UUID(int=1)), "Stalls", None, (row,))
        return SessionMap(session_id, self.version, (block,), self.state.blocks_digest)


@pytest.fixture
def seats() -> CountedSeats:
    return CountedSeats()


@pytest.fixture
def compressions(monkeypatch: pytest.MonkeyPatch) -> Counter[Coding]:
    """How often a body was compressed, by coding."""
    counted: Counter[Coding] = Counter()

    def noted(coding: Coding, compress: Callable[[bytes], bytes], body: bytes) -> bytes:
        counted[coding] += 1
        time.sleep(0.01)  # so that other threads arrive in the meantime
        return compress(body)

    noting = {each: partial(noted, each, made) for each, made in encodings.COMPRESSORS.items()}
    monkeypatch.setattr(encodings, "COMPRESSORS", noting)
    return counted


def test_a_current_map_is_not_read_again(seats: CountedSeats) -> None:
    writer = MapWriter(seats)
    first = writer.write(KEY)
    assert isinstance(first, Reply)
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
    keys = [(ORGANIZATION, SessionId(UUID(int=number)), PLAIN) for number in range(3)]
    for key in keys:
        writer.write(key)
    writer.write(keys[2])
    assert seats.reads == 3
    writer.write(keys[0])
    assert seats.reads == 4


def test_one_organizations_maps_do_not_evict_anothers(seats: CountedSeats) -> None:
    writer = MapWriter(seats)
    other = OrganizationId(UUID(int=77))
    large = writer.write((other, SESSION, PLAIN))
    for number in range(maps.MAPS_KEPT_MAX + 1):
        writer.write((ORGANIZATION, SessionId(UUID(int=number)), PLAIN))
    assert writer.write((other, SESSION, PLAIN)) is large


def test_the_least_recently_used_map_is_evicted_first(
    seats: CountedSeats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MAPS_KEPT_MAX", 2)
    writer = MapWriter(seats)
    first, second, third = [
        (ORGANIZATION, SessionId(UUID(int=number)), PLAIN) for number in range(3)
    ]
    known = writer.write(first)
    for key in (second, first, third):
        writer.write(key)
    assert writer.write(first) is known


def test_a_kept_map_is_compressed_once_for_each_coding(
    seats: CountedSeats, compressions: Counter[Coding]
) -> None:
    writer = MapWriter(seats)
    for key in (IN_ZSTD, KEY, IN_GZIP) * 3:
        writer.write(key)
    assert seats.reads == 1
    assert compressions == {Coding.ZSTD: 1, Coding.GZIP: 1}


def test_threads_that_want_the_same_coding_wait_for_one_compression(
    seats: CountedSeats, compressions: Counter[Coding]
) -> None:
    writer = MapWriter(seats)
    writer.write(KEY)
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(writer.write, [IN_ZSTD] * 50))
    assert all(reply is replies[0] for reply in replies)
    assert compressions == {Coding.ZSTD: 1}


def test_a_changed_map_is_compressed_again_and_the_old_one_is_dropped(
    seats: CountedSeats, compressions: Counter[Coding]
) -> None:
    writer = MapWriter(seats)
    first = writer.write(IN_ZSTD)
    seats.state, seats.version = MapState(9, 1, 0.0), 9
    changed = writer.write(IN_ZSTD)
    assert isinstance(first, Reply)
    assert isinstance(changed, Reply)
    assert first.body != changed.body
    assert compressions == {Coding.ZSTD: 2}
    assert [kept.version for kept in writer._kept.values()] == [9]


def test_every_coding_has_its_own_etag(seats: CountedSeats) -> None:
    writer = MapWriter(seats)
    replies = [writer.write(key) for key in (KEY, IN_ZSTD, IN_GZIP)]
    tags = {dict(reply.headers)[b"etag"] for reply in replies if isinstance(reply, Reply)}
    assert len(tags) == 3
    again = MapWriter(seats).write(IN_ZSTD)
    assert isinstance(again, Reply)
    assert dict(again.headers)[b"etag"] in tags, "another process would send other bytes"


def test_an_unknown_session_is_refused() -> None:
    assert MapWriter(StubSeats()).write(KEY) == refusals.session_not_found()
