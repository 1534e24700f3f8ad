"""Maps, availability and occupancy are compressed for callers that ask for it; nothing else about
them changes."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from uuid import UUID

import httpx
import pytest

from holdfast.domain.catalog.model import (
    PoolState,
    SessionAvailability,
    TicketTypeAvailability,
)
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.values import Money
from holdfast.entrypoints.api.http import encodings
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.ports.seats import (
    ChangedSeat,
    EventOccupancy,
    MapBlock,
    MapRow,
    MapState,
    SeatChanges,
    SessionMap,
    SessionOccupancy,
)
from tests.api.world import EVENT, NOW, SESSION, UNKNOWN, StubCatalog, StubSeats, World
from tests.support.codings import plain_body

MAP = f"/api/sessions/{SESSION}/seats"
CHANGES = f"{MAP}?since=1"
AVAILABILITY = f"/api/sessions/{SESSION}/availability"
OCCUPANCY = f"/api/events/{EVENT}/occupancy"
CODINGS = ("identity", "gzip", "zstd")
MANY = range(100)

every_path = pytest.mark.parametrize("path", [MAP, CHANGES, AVAILABILITY, OCCUPANCY])
tagged_path = pytest.mark.parametrize("path", [MAP, CHANGES])


class LargeCatalog(StubCatalog):
    """A session with many ticket types."""

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None:
        price = Money(4500, "EUR")
        types = [
            TicketTypeAvailability(TicketTypeId(UUID(int=number)), "Floor", price, 9, 0, 0, 9)
            for number in MANY
        ]
        known = SessionAvailability(SESSION, EVENT, NOW, tuple(types))
        return known if session_id == SESSION else None


class LargeSeats(StubSeats):
    """A session with many seats and pools."""

    def map_state(self, organization_id: OrganizationId, session_id: SessionId) -> MapState | None:
        return MapState(8, 1, 0.0) if session_id == SESSION else None

    def session_map(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionMap | None:
        names, places = [str(number) for number in MANY], [float(number) for number in MANY]
        row = MapRow("A", names, names, places, places, "a" * len(MANY), {}, (), (), ())
        return SessionMap(SESSION, 8, (MapBlock(BlockId(UUID(int=1)), "Stalls", None, (row,)),), 1)

    def seat_changes(
        self, organization_id: OrganizationId, session_id: SessionId, since: int
    ) -> SeatChanges | None:
        changed = [
            ChangedSeat(SeatId(UUID(int=number)), SeatStatus.SOLD, None, 2) for number in MANY
        ]
        return SeatChanges(SESSION, 8, tuple(changed)) if session_id == SESSION else None

    def occupancy(
        self, organization_id: OrganizationId, event_id: EventId
    ) -> EventOccupancy | None:
        pools = [PoolState(PoolId(UUID(int=number)), SESSION, "Floor", 9, 0, 0) for number in MANY]
        evening = SessionOccupancy(SESSION, "Evening", (), tuple(pools))
        return EventOccupancy(EVENT, NOW, (evening,)) if event_id == EVENT else None


@pytest.fixture(scope="module")
def large() -> Iterator[World]:
    world = World(catalog=LargeCatalog(), seats=LargeSeats())
    yield world
    world.close()


def read(world: World, path: str, coding: str, method: str = "GET", **known: str) -> httpx.Response:
    headers = {"Accept-Encoding": coding, "X-Request-ID": "same"}
    if known:
        headers["If-None-Match"] = known["tag"]
    return world.call(method, path, headers=headers)


def test_the_routes_say_which_answers_are_compressed() -> None:
    paths = {MAP, AVAILABILITY, OCCUPANCY}
    named = [path.replace(str(SESSION), "{session_id}") for path in paths]
    named = [path.replace(str(EVENT), "{event_id}") for path in named]
    assert sorted(named) == sorted(route.path for route in ROUTES if route.is_compressed)


@every_path
def test_every_coding_has_the_same_content(large: World, path: str) -> None:
    answers = {coding: read(large, path, coding) for coding in CODINGS}
    plain = answers["identity"]
    for coding, answer in answers.items():
        assert answer.status_code == 200
        assert plain_body(answer) == plain.content
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers.get("content-encoding", "identity") == coding
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == plain.headers["cache-control"]
        is_smaller = int(answer.headers["content-length"]) < len(plain.content) / 3
        assert is_smaller == (coding != "identity")


@every_path
@pytest.mark.parametrize("coding", CODINGS)
def test_head_has_the_headers_of_get(large: World, path: str, coding: str) -> None:
    head = read(large, path, coding, method="HEAD")
    assert head.headers == read(large, path, coding).headers
    assert head.content == b""


@tagged_path
@pytest.mark.parametrize("coding", CODINGS)
def test_a_known_etag_is_304_in_every_coding(large: World, path: str, coding: str) -> None:
    tag = read(large, path, coding).headers["etag"]
    assert tag.startswith('"'), "each coding has its own bytes, so the tag can be strong"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = read(large, path, coding, tag=known)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers["cache-control"] == "private, no-cache"
        assert "content-encoding" not in answer.headers


@tagged_path
def test_an_etag_of_another_coding_is_not_known(large: World, path: str) -> None:
    tags = {coding: read(large, path, coding).headers["etag"] for coding in CODINGS}
    assert len(set(tags.values())) == len(CODINGS)
    answer = read(large, path, "zstd", tag=f"{tags['gzip']}, {tags['identity']}")
    assert (answer.status_code, answer.headers["etag"]) == (200, tags["zstd"])


@every_path
def test_refusals_are_neither_compressed_nor_shared(large: World, path: str) -> None:
    unknown = path.replace(str(SESSION), str(UNKNOWN)).replace(str(EVENT), str(UNKNOWN))
    answer = read(large, unknown, "zstd")
    assert answer.status_code == 404
    assert answer.json()["request_id"] == "same"
    assert not {"vary", "content-encoding", "etag"} & answer.headers.keys()


@pytest.mark.parametrize(
    ("path", "threads"),
    [
        (MAP, "holdfast-large-read"),
        (CHANGES, "holdfast-read"),
        (AVAILABILITY, "holdfast-read"),
        (OCCUPANCY, "holdfast-large-read"),
    ],
)
def test_the_event_loop_never_compresses(
    path: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    def noted(compress: Callable[[bytes], bytes], body: bytes) -> bytes:
        used.append(threading.current_thread().name)
        return compress(body)

    noting = {each: partial(noted, made) for each, made in encodings.COMPRESSORS.items()}
    monkeypatch.setattr(encodings, "COMPRESSORS", noting)
    world = World(catalog=LargeCatalog(), seats=LargeSeats())
    for coding in ("gzip", "zstd"):
        assert read(world, path, coding).headers["content-encoding"] == coding
    world.close()
    assert len(used) == 2
    assert all(name.startswith(threads) for name in used)
