"""Finding the session of a seat once, however many callers ask."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import httpx
import pytest

from holdfast.domain.ids import BlockId, EventId, OrganizationId, SeatId, SessionId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.seat import Seat, SeatPlace
from holdfast.entrypoints.api.app import create_api
from holdfast.ports.seats import SeenSeat
from holdfast.ports.store import StoreUnavailable
from holdfast.services import seats
from holdfast.services.seats import SeatFinder, SeatPath
from tests.api.world import EVENT, ORGANIZATION, SESSION, StubSeats, World

SEAT = SeatId(UUID("0198f1c0-0000-7000-8000-000000000010"))


class Seats(StubSeats):
    """Knows every seat of the event, and counts its calls."""

    def __init__(self) -> None:
        self.questions = 0
        self.is_away = False

    def seat(
        self, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
    ) -> SeenSeat | None:
        self.questions += 1
        if self.is_away:
            raise StoreUnavailable
        if event_id != EVENT:
            return None
        place = SeatPlace(seat_id, BlockId(uuid4()), "A", 0, "1", 1)
        seat = Seat(organization_id, SESSION, place)
        return SeenSeat(seat, event_id, "Stalls", datetime.now(UTC))


def path_of(seat_id: SeatId = SEAT, event_id: EventId = EVENT) -> SeatPath:
    return (ORGANIZATION, event_id, seat_id)


def test_a_found_session_is_cached() -> None:
    seats = Seats()
    finder = SeatFinder(seats)
    assert finder.remembered(path_of()) is None
    assert finder.find(path_of()) == SESSION
    assert finder.remembered(path_of()) == SESSION
    other = (OrganizationId(uuid4()), EVENT, SEAT)
    assert finder.remembered(other) is None, "not cached for another organization"


def test_a_missing_seat_is_not_cached() -> None:
    finder = SeatFinder(StubSeats())
    for event_id, code in (
        (EVENT, RefusalCode.SEAT_NOT_FOUND),
        (EventId(uuid4()), RefusalCode.EVENT_NOT_FOUND),
    ):
        found = finder.find(path_of(event_id=event_id))
        assert isinstance(found, Refusal)
        assert found.code is code
        assert finder.remembered(path_of(event_id=event_id)) is None


def test_the_cache_is_bounded_and_evicts_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "REMEMBERED_MAX", 2)
    finder = SeatFinder(Seats())
    first, second, third = (path_of(SeatId(uuid4())) for _ in range(3))
    finder.find(first)
    finder.find(second)
    assert finder.remembered(first) == SessionId(SESSION)
    finder.find(third)
    assert finder.remembered(first) is None
    assert finder.remembered(second)
    assert finder.remembered(third)


def reserve(world: World, seats: Seats, clicks: int) -> list[httpx.Response]:
    api = create_api(replace(world.container, seats=seats))
    path = f"/api/events/{EVENT}/seats/{SEAT}/reserve"
    headers = {"Authorization": f"Bearer {world.secret}"}

    async def click() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=api)
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            calls = (
                client.post(path, json={"user_id": f"u{number}"}, headers=headers)
                for number in range(clicks)
            )
            return await asyncio.gather(*calls)

    answers = asyncio.run(click())
    api.close()
    return answers


def test_a_stampede_on_a_seat_reads_it_once(world: World) -> None:
    """More concurrent clicks than calls may queue for a thread; none is turned away."""
    seats = Seats()
    answers = reserve(world, seats, 400)
    assert seats.questions == 1
    # The engine of this world has no seats, and refuses.
    assert {answer.json()["error"] for answer in answers} == {"invalid_seat"}


def test_a_reservation_without_the_database_is_503(world: World) -> None:
    seats = Seats()
    seats.is_away = True
    (answer,) = reserve(world, seats, 1)
    assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
