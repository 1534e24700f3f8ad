"""Crowds on seats, over two engines on one database, like two server processes. Each race has a
control: without the guard the same test fails."""

from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.outcomes import Outcome, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Holder
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.race.guards import (
    ROUNDS_MAX,
    TwoEngines,
    contentions,
    wait_in_two_orders,
    without,
)
from tests.support.auditing import assert_sound, rows

PEOPLE = [Holder(user_id=f"user-{number}") for number in range(1000)]


def hall_of(world: PostgresWorld, hall: Hall) -> Venue:
    return world.build(Plan({}, {}, hall=hall))


def kinds(outcomes: list[Outcome | None]) -> Counter[str]:
    return Counter(
        outcome.code.value if isinstance(outcome, Refusal) else type(outcome).__name__
        for outcome in outcomes
    )


def holds_of(outcomes: list[Outcome | None]) -> list[Hold]:
    return [outcome.hold for outcome in outcomes if isinstance(outcome, Placed)]


def stampede(two_engines: TwoEngines, buyers: int) -> list[Outcome | None]:
    """All buyers want the same seat, half of them on each engine."""
    world, engines = two_engines
    venue = hall_of(world, Hall({"Stalls": {"A": 1}}, {"seat": ()}))
    futures = [
        engines[number % 2].submit(venue.seats("Stalls A 1", holder=PEOPLE[number]))
        for number in range(buyers)
    ]
    return [future.result(60).outcome for future in futures]


def test_of_a_thousand_commands_for_one_seat_exactly_one_gets_it(two_engines: TwoEngines) -> None:
    world, _ = two_engines
    outcomes = stampede(two_engines, 1000)
    assert kinds(outcomes) == {
        "Placed": 1,
        RefusalCode.SEAT_HELD_BY_ANOTHER_USER.value: 999,
    }
    (winner,) = holds_of(outcomes)
    assert rows(world.url, "SELECT id FROM hold") == [(winner.id,)]
    assert rows(world.url, "SELECT status, hold_id FROM seat") == [("held", winner.id)]
    for outcome in outcomes:
        if isinstance(outcome, Refusal):
            assert outcome.details["expires_in"] in range(570, 601)
            assert str(winner.holder.user_id) not in str(outcome)
    assert_sound(world.url)


def test_control_without_the_seat_lock_two_get_it(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = two_engines
    without(monkeypatch, "LOCK_SEATS")
    for _ in range(ROUNDS_MAX):
        if len(holds_of(stampede(two_engines, 20))) > 1:
            break
    else:
        pytest.fail("nobody was sold a seat twice")
    with pytest.raises(AssertionError, match="seat"):
        assert_sound(world.url)


def deadlocks(world: PostgresWorld) -> int:
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
    query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    return int(rows(world.url, query)[0][0])


def test_overlapping_selections_neither_deadlock_nor_split_a_hold(
    two_engines: TwoEngines,
) -> None:
    world, engines = two_engines
    hall = Hall({"Stalls": {"A": 12}}, {"seat": ()})
    for _ in range(60):
        venue = hall_of(world, hall)
        forwards = list(venue.places)
        futures = [
            engine.submit(venue.seats(*names, holder=holder))
            for holder, engine, names in (
                (PEOPLE[0], engines[0], forwards[:8]),
                (PEOPLE[1], engines[1], forwards[:3:-1]),
                (PEOPLE[2], engines[0], forwards[::-1]),
                (PEOPLE[3], engines[1], forwards[2:10]),
            )
        ]
        outcomes = [future.result(60).outcome for future in futures]
        assert kinds(outcomes) == {
            "Placed": 1,
            RefusalCode.SEAT_HELD_BY_ANOTHER_USER.value: 3,
        }
        (winner,) = holds_of(outcomes)
        held = {name for name, seat in world.seats(venue).items() if seat.hold_id == winner.id}
        assert held == set(venue.names_of(winner))
    assert deadlocks(world) == 0
    assert_sound(world.url)


def forty_seats(world: PostgresWorld) -> list[Resource]:
    venue = hall_of(world, Hall({"Stalls": {"A": 40}}, {"seat": ()}))
    return [
        Resource(ResourceKind.SEAT, venue.organization_id, place.id)
        for place in venue.places.values()
    ]


def test_locking_seats_never_deadlocks(two_engines: TwoEngines) -> None:
    world, _ = two_engines
    assert contentions(world, forty_seats(world), 150) == 0


def test_control_waiting_for_all_seat_locks_in_two_orders_deadlocks(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = two_engines
    wait_in_two_orders(monkeypatch, "LOCK_SEATS")
    assert contentions(world, forty_seats(world), 3000) > 0


BIG_HALL = Hall(
    {"Stalls": dict.fromkeys("ABCDEFGHIJKL", 15), "Balcony": dict.fromkeys("MNOPQR", 20)},
    {"seat": ()},
    aisles_after=frozenset({5, 10}),
)
SEATS = 12 * 15 + 6 * 20


def ask_for_best(two_engines: TwoEngines, venue: Venue, sizes: list[int]) -> list[Outcome | None]:
    _, engines = two_engines
    futures = [
        engines[number % 2].submit(venue.place(("seat", size), holder=PEOPLE[number]))
        for number, size in enumerate(sizes)
    ]
    return [future.result(60).outcome for future in futures]


def really_adjacent(venue: Venue, hold: Hold) -> bool:
    """Whether the map agrees that the seats are adjacent."""
    places = [venue.places[name] for name in venue.names_of(hold)]
    positions = sorted(place.position for place in places)
    in_one_row = len({(place.block_id, place.row) for place in places}) == 1
    return in_one_row and positions == list(range(positions[0], positions[0] + len(positions)))


@pytest.mark.parametrize("sizes", [[2] * 200, [1, 2, 3, 4] * 50])
def test_two_hundred_buyers_get_different_best_seats_until_none_are_left(
    two_engines: TwoEngines, sizes: list[int]
) -> None:
    world, _ = two_engines
    venue = hall_of(world, BIG_HALL)
    outcomes = ask_for_best(two_engines, venue, sizes)
    holds = holds_of(outcomes)
    names = [name for hold in holds for name in venue.names_of(hold)]
    assert len(names) == len(set(names)), "no seat twice"
    for hold in holds:
        assert hold.is_adjacent is really_adjacent(venue, hold)
    # Nothing was released, so fewer seats are left than any refused buyer wanted.
    left = SEATS - len(names)
    refused = [
        size for size, outcome in zip(sizes, outcomes, strict=True) if isinstance(outcome, Refusal)
    ]
    assert all(size > left for size in refused)
    assert set(kinds(outcomes)) <= {"Placed", "insufficient_inventory", "no_available_seats"}
    assert sum(hold.is_adjacent is True for hold in holds) > len(holds) / 2
    assert_sound(world.url)


def test_control_without_the_lock_best_seats_are_given_twice(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = two_engines
    without(monkeypatch, "LOCK_SEATS")
    for _ in range(ROUNDS_MAX):
        venue = hall_of(world, Hall({"Stalls": {"A": 10}}, {"seat": ()}))
        holds = holds_of(ask_for_best(two_engines, venue, [2] * 10))
        names = [name for hold in holds for name in venue.names_of(hold)]
        if len(names) > len(set(names)):
            break
    else:
        pytest.fail("no seat was given twice")
    with pytest.raises(AssertionError, match="seat"):
        assert_sound(world.url)


def people_in_a_capped_block(two_engines: TwoEngines, rounds: int) -> Iterator[int]:
    """Forty people, half of whom name a seat, and capacity for ten."""
    world, engines = two_engines
    for _ in range(rounds):
        venue = hall_of(world, Hall({"Stalls": {"A": 40}}, {"seat": ()}, {"Stalls": 10}))
        commands = [
            venue.seats(name, holder=PEOPLE[number])
            if number % 2
            else venue.place(("seat", 1), holder=PEOPLE[number])
            for number, name in enumerate(venue.places)
        ]
        futures = [
            engines[number // 2 % 2].submit(command) for number, command in enumerate(commands)
        ]
        outcomes = [future.result(60).outcome for future in futures]
        allowed = {
            "Placed",
            RefusalCode.BLOCK_AT_CAPACITY.value,
            RefusalCode.SEAT_HELD_BY_ANOTHER_USER.value,
        }
        assert set(kinds(outcomes)) <= allowed
        yield len(holds_of(outcomes))


def test_concurrent_buyers_never_exceed_a_block_capacity(two_engines: TwoEngines) -> None:
    world, _ = two_engines
    assert set(people_in_a_capped_block(two_engines, 30)) == {10}
    assert_sound(world.url)


def test_control_without_the_capacity_lock_they_do(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = two_engines
    without(monkeypatch, "LOCK_POOLS")
    assert any(people > 10 for people in people_in_a_capped_block(two_engines, ROUNDS_MAX))
    with pytest.raises(AssertionError, match=r"pool|capacity"):
        assert_sound(world.url)
