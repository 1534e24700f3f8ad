"""Concurrent callers share one read and one serialized answer, and none gets an old one."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from holdfast.domain.access.scopes import ALL_SCOPES
from holdfast.domain.catalog.model import SessionAvailability, TicketTypeAvailability
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.values import Money
from holdfast.entrypoints.api import app, lookups
from holdfast.entrypoints.api.fairness.answers import FreshLookups
from holdfast.entrypoints.api.http import encodings
from holdfast.entrypoints.api.http.encodings import Coding
from holdfast.entrypoints.api.http.replies import written
from tests.api.fairness.gate import BOUND_SECONDS, Gate
from tests.api.world import (
    EVENT,
    FLOOR,
    NOW,
    ORGANIZATION,
    SESSION,
    UNKNOWN,
    StubCatalog,
    World,
)

PATH = f"/api/sessions/{SESSION}/availability"
CROWD = 30
NEIGHBOR = OrganizationId(UNKNOWN)


class CountedCatalog(StubCatalog):
    """One session of one organization. `held` is the number of the read."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.reads = 0

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None:
        self.reads += 1
        held = self.reads
        self.gate.pass_through()
        if (organization_id, session_id) != (ORGANIZATION, SESSION):
            return None
        price = Money(4500, "EUR")
        floor = TicketTypeAvailability(FLOOR, "Floor", price, 500, held, 0, 500 - held)
        return SessionAvailability(SESSION, EVENT, NOW, (floor,))


class UnsharedLookups(FreshLookups[Any, Any]):
    """One look-up for each call."""

    async def get(self, key: Any) -> Any:
        return await self._run_blocking(self._look_up, key)


@pytest.fixture
def catalog() -> CountedCatalog:
    return CountedCatalog()


@pytest.fixture
def new_world(catalog: CountedCatalog) -> Iterator[Callable[[], World]]:
    worlds: list[World] = []

    def make() -> World:
        worlds.append(World(catalog=catalog))
        return worlds[0]

    yield make
    catalog.gate.open()
    for world in worlds:
        world.close()


def crowd_beside_a_read(
    world: World, gate: Gate, headers: dict[str, str] | None = None
) -> tuple[httpx.Response, list[httpx.Response]]:
    """The answers to one call, and to a crowd that arrives while that call is being read."""
    arrived = 0

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal arrived
        arrived += 1
        await world.api(scope, receive, send)

    async def scenario() -> tuple[httpx.Response, list[httpx.Response]]:
        transport = httpx.ASGITransport(app=counted)
        sent = {"Authorization": f"Bearer {world.secret}", **(headers or {})}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://api", headers=sent
        ) as client:
            first = asyncio.ensure_future(client.get(PATH))
            await asyncio.to_thread(gate.await_entered, 1)
            crowd = [asyncio.ensure_future(client.get(PATH)) for _ in range(CROWD)]
            async with asyncio.timeout(BOUND_SECONDS):
                while arrived <= CROWD:
                    await asyncio.sleep(0.001)
            gate.open()
            return await first, await asyncio.gather(*crowd)

    return asyncio.run(scenario())


def held_in(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.json()["ticket_types"][0]["held"])


def test_a_crowd_shares_one_read_that_begins_after_it_has_arrived(
    new_world: Callable[[], World], catalog: CountedCatalog
) -> None:
    first, crowd = crowd_beside_a_read(new_world(), catalog.gate)
    assert held_in(first) == 1
    assert {held_in(answer) for answer in crowd} == {2}
    assert catalog.reads == 2


def test_without_sharing_every_call_reads(
    new_world: Callable[[], World], catalog: CountedCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control for the test above."""
    monkeypatch.setattr(app, "FreshLookups", UnsharedLookups)
    crowd_beside_a_read(new_world(), catalog.gate)
    assert catalog.reads == 1 + CROWD


def test_a_shared_answer_is_serialized_once_on_a_reading_thread(
    new_world: Callable[[], World], catalog: CountedCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def noted(answer: object) -> bytes:
        threads.append(threading.current_thread().name)
        return written(answer)

    monkeypatch.setattr(lookups, "written", noted)
    crowd_beside_a_read(new_world(), catalog.gate)
    assert len(threads) == 2
    assert all(name.startswith("holdfast-read") for name in threads)


def test_a_shared_answer_is_compressed_once(
    new_world: Callable[[], World], catalog: CountedCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[bytes] = []

    def noted(body: bytes) -> bytes:
        bodies.append(body)
        return b"compressed"

    monkeypatch.setattr(encodings, "COMPRESSED_BYTES_MIN", 0)
    monkeypatch.setattr(encodings, "COMPRESSORS", {Coding.ZSTD: noted})
    _, crowd = crowd_beside_a_read(new_world(), catalog.gate, {"Accept-Encoding": "zstd"})
    assert {answer.content for answer in crowd} == {b"compressed"}
    assert len(bodies) == 2


def test_another_organization_gets_its_own_answer(
    new_world: Callable[[], World], catalog: CountedCatalog
) -> None:
    world = new_world()
    catalog.gate.open()
    assert world.call("GET", PATH).status_code == 200
    secret = world.keys.new_key(*ALL_SCOPES, organization_id=NEIGHBOR)
    answer = world.call("GET", PATH, secret=secret)
    assert (answer.status_code, answer.json()["error"]) == (404, "session_not_found")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_an_unknown_session_has_no_availability(
    new_world: Callable[[], World], catalog: CountedCatalog
) -> None:
    catalog.gate.open()
    answer = new_world().call("GET", f"/api/sessions/{UNKNOWN}/availability")
    assert (answer.status_code, answer.json()["error"]) == (404, "session_not_found")


def test_head_has_the_headers_of_availability_and_no_body(
    new_world: Callable[[], World], catalog: CountedCatalog
) -> None:
    world = new_world()
    catalog.gate.open()
    headers = {"X-Request-ID": "same"}
    got = world.call("GET", PATH, headers=headers)
    head = world.call("HEAD", PATH, headers=headers)
    assert head.content == b""
    assert head.headers == got.headers
    assert got.headers["cache-control"] == "no-store"
