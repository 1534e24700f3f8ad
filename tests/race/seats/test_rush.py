"""Concurrent buyers of seats, over HTTP, against a server of two processes."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.support.auditing import assert_sound
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Hall, Platform, new_platform
from tests.support.servers import RunningServer

UNGUARDED = Path(__file__).parents[1] / "unguarded"
TWO_PROCESSES = {"HOLDFAST_PROCESSES": "2", "HOLDFAST_LOG_LEVEL": "warning"}


@pytest.fixture(scope="module")
def rushed_server(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("rush") / "log"
    with RunningServer(databases.fresh(), log, TWO_PROCESSES) as server:
        yield server


@pytest.fixture
def theatre(rushed_server: RunningServer) -> Platform:
    return new_platform(rushed_server.base_url, rushed_server.database_url)


def test_of_a_thousand_buyers_of_one_seat_exactly_one_gets_it(
    rushed_server: RunningServer, theatre: Platform
) -> None:
    hall = theatre.hall(1, 1)
    crowd = Crowd(theatre, 1000)
    replies = crowd.all_at_once(partial(_reserve, crowd, hall, 0))
    crowd.close()
    assert Counter(reply.status for reply in replies) == {201: 1, 409: 999}
    refusals = [reply.json() for reply in replies if reply.status == 409]
    assert {refusal["error"] for refusal in refusals} == {"seat_held_by_another_user"}
    assert all(0 < refusal["expires_in"] <= 600 for refusal in refusals)
    assert _count(rushed_server, "SELECT count(*) FROM hold WHERE session_id = %s", hall) == 1
    assert_sound(rushed_server.database_url)


def test_control_without_the_seat_lock_it_is_given_twice(
    databases: DatabaseFactory, make_server: Callable[..., RunningServer]
) -> None:
    """Two servers, to control which one serves whom."""
    url = databases.fresh()
    one, other = (make_server(url, PYTHONPATH=str(UNGUARDED)).start() for _ in range(2))
    platform = new_platform(one.base_url, url)
    hall = platform.hall(2, 30)
    crowds = (Crowd(platform, 4), Crowd(replace(platform, base_url=other.base_url), 4))
    with ThreadPoolExecutor(2) as both:
        for seat in range(len(hall.seat_ids)):
            sides = both.map(
                lambda crowd, seat=seat: crowd.all_at_once(partial(_reserve, crowd, hall, seat)),
                crowds,
            )
            if sum(reply.status == 201 for replies in sides for reply in replies) > 1:
                break
        else:
            pytest.fail("no seat was given twice: the race above proves nothing")
    for crowd in crowds:
        crowd.close()


def test_overlapping_picks_are_all_or_nothing(
    rushed_server: RunningServer, theatre: Platform
) -> None:
    """Three seats each, overlapping, named in both orders."""
    hall = theatre.hall(1, 30)
    crowd = Crowd(theatre, 16)

    def pick(number: int) -> Reply:
        first = number * 7 % 28
        seats = list(hall.seat_ids[first : first + 3])
        body = {
            "session_id": hall.session_id,
            "seat_ids": seats if number % 2 else seats[::-1],
            "user_id": f"user-{number}",
        }
        return crowd.place(body)

    replies = crowd.spread(pick, range(200))
    crowd.close()
    assert {reply.status for reply in replies} <= {201, 409}
    won = [seat for reply in replies if reply.status == 201 for seat in reply.json()["seat_ids"]]
    assert len(won) == len(set(won)), "a seat was given twice"
    assert len(won) >= 3
    held = _count(
        rushed_server, "SELECT count(*) FROM seat WHERE session_id = %s AND status = 'held'", hall
    )
    assert held == len(won)
    assert_sound(rushed_server.database_url)


def test_two_hundred_callers_get_best_seats_until_the_hall_is_full(
    rushed_server: RunningServer, theatre: Platform
) -> None:
    hall = theatre.hall(20, 26)
    places = {seat_id: divmod(n, 26) for n, seat_id in enumerate(hall.seat_ids)}
    crowd = Crowd(theatre, 200)
    replies = crowd.all_at_once(partial(_find, crowd, hall, 3))
    crowd.close()
    assert {reply.status for reply in replies} <= {201, 409}
    held = [reply.json() for reply in replies if reply.status == 201]
    taken = [seat for hold in held for seat in hold["seat_ids"]]
    assert len(taken) == len(set(taken)), "a seat was given twice"
    for hold in held:
        spots = sorted(places[seat] for seat in hold["seat_ids"])
        is_adjacent = spots == [(spots[0][0], spots[0][1] + step) for step in range(3)]
        assert hold["adjacent"] is is_adjacent
    # 520 seats make 173 holds of three; the other callers find a single seat and are refused.
    assert len(held) == 173
    refusals = [reply.json() for reply in replies if reply.status == 409]
    assert {refusal["available_quantity"] for refusal in refusals} <= {0, 1}
    assert_sound(rushed_server.database_url)


def _reserve(crowd: Crowd, hall: Hall, seat: int, number: int) -> Reply:
    path = f"/api/events/{hall.event_id}/seats/{hall.seat_ids[seat]}/reserve"
    return crowd.post(path, {"user_id": f"user-{number}-{id(crowd)}"})


def _find(crowd: Crowd, hall: Hall, quantity: int, number: int) -> Reply:
    body = {
        "session_id": hall.session_id,
        "ticket_type_id": hall.ticket_type_id,
        "quantity": quantity,
        "user_id": f"user-{number}",
    }
    return crowd.place(body)


def _count(server: RunningServer, query: str, hall: Hall) -> object:
    with psycopg.connect(server.database_url) as connection:
        row = connection.execute(query.encode(), [hall.session_id]).fetchone()
    assert row is not None
    return row[0]
