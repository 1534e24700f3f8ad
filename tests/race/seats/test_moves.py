"""Operators who move holds, over two engines on one database, like two server processes. Each race
has a control: without the guard the same test fails."""

from collections.abc import Iterator

import pytest

from holdfast.domain.group.outcomes import Placed
from holdfast.domain.ids import HoldId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from tests.contract.venues import Hall, Plan
from tests.race.guards import ROUNDS_MAX, TwoEngines, slowly, without
from tests.race.seats.test_seats import PEOPLE
from tests.support.auditing import assert_sound

HALL = Hall({"Stalls": {"A": 4}}, {"seat": ()})
AT_ONCE = 2


def winners_of_one_seat(two_engines: TwoEngines, rounds: int) -> Iterator[int]:
    """Two holds move to the same seat at once; how many get it."""
    world, engines = two_engines
    for _ in range(rounds):
        venue = world.build(Plan({}, {}, hall=HALL))
        holds: list[HoldId] = []
        for number in range(AT_ONCE):
            seats = venue.seats(f"Stalls A {number + 1}", holder=PEOPLE[number])
            outcome = engines[0].submit(seats).result(60).outcome
            assert isinstance(outcome, Placed)
            holds.append(outcome.hold.id)
        futures = [
            engine.submit(venue.move(hold_id, {f"Stalls A {number + 1}": "Stalls A 4"}))
            for number, (engine, hold_id) in enumerate(zip(engines, holds, strict=True))
        ]
        outcomes = [future.result(60).outcome for future in futures]
        refused = [each.code for each in outcomes if isinstance(each, Refusal)]
        assert set(refused) <= {RefusalCode.SEAT_HELD_BY_ANOTHER_USER}
        yield AT_ONCE - len(refused)


def test_of_two_holds_that_move_to_one_seat_exactly_one_gets_it(two_engines: TwoEngines) -> None:
    assert set(winners_of_one_seat(two_engines, 40)) == {1}
    assert_sound(two_engines[0].url)


def test_control_without_the_seat_lock_both_get_it(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "LOCK_SEATS")
    slowly(monkeypatch)
    assert 2 in winners_of_one_seat(two_engines, ROUNDS_MAX)
    with pytest.raises(AssertionError, match="seat"):
        assert_sound(two_engines[0].url)


def extended_at_once(
    two_engines: TwoEngines, rounds: int, seen_version: int | None
) -> Iterator[int]:
    """Two operators who saw the same version extend a hold at once; how many succeed."""
    world, engines = two_engines
    for _ in range(rounds):
        venue = world.venue({"floor": 1}, {"standing": ("floor",)})
        outcome = engines[0].submit(venue.place(("standing", 1))).result(60).outcome
        assert isinstance(outcome, Placed)
        extension = venue.extend(
            outcome.hold.id, 60, holder=None, is_operator=True, seen_version=seen_version
        )
        futures = [engine.submit(extension) for engine in engines]
        outcomes = [future.result(60).outcome for future in futures]
        refused = [each.code for each in outcomes if isinstance(each, Refusal)]
        assert set(refused) <= {RefusalCode.HOLD_CHANGED}
        yield AT_ONCE - len(refused)


def test_of_two_operators_who_saw_the_same_version_one_succeeds(two_engines: TwoEngines) -> None:
    assert set(extended_at_once(two_engines, 40, seen_version=1)) == {1}
    assert_sound(two_engines[0].url)


def test_control_without_the_version_both_succeed(two_engines: TwoEngines) -> None:
    assert set(extended_at_once(two_engines, 5, seen_version=None)) == {2}
