"""Calls of the Hold Service that arrive at two Inventory Services at once, on one database. Each
race has a control: without the guard the same test fails."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.domain import refusals
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, Outcome, Reserved
from holdfast.domain.inventory.release_tickets import ReleaseTickets
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission
from tests.contract.inventory.calls import Calls
from tests.contract.worlds import PostgresWorld
from tests.race.guards import ROUNDS_MAX, TwoEngines, slowly, unlocked, without
from tests.race.lines import at_once
from tests.support.auditing import assert_sound

PAIRS = 10


def winners_per_round(
    world: PostgresWorld, engines: list[Admission], rounds: int, stop_above: int
) -> Iterator[int]:
    """20 holds for 10 tickets, half at each service."""
    for _ in range(rounds):
        venue = world.venue({"floor": 10}, {"standing": ("floor",)})
        outcomes = at_once(engines, *(Calls(venue).hold(standing=1) for _ in range(20)))
        won = sum(isinstance(each, Reserved) for each in outcomes)
        yield won
        if won > stop_above:
            return


def test_two_services_never_reserve_a_ticket_twice(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    assert set(winners_per_round(world, engines, ROUNDS_MAX, 10)) == {10}
    assert_sound(world.url)


def test_control_without_the_row_lock_a_ticket_is_reserved_twice(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    without(monkeypatch, "LOCK_POOLS")
    assert max(winners_per_round(world, engines, ROUNDS_MAX, 10)) > 10


def hold_and_release(
    world: PostgresWorld, engines: list[Admission]
) -> tuple[list[Outcome | None], int]:
    """The outcomes of holds and their releases, each pair at both services, and what is left."""
    venue = world.venue({"floor": 1_000}, {"standing": ("floor",)})
    pairs = [Calls(venue) for _ in range(PAIRS)]
    commands = [command for each in pairs for command in (each.hold(standing=1), each.release())]
    outcomes = at_once(engines, *commands)
    return outcomes, world.pool(venue.pools["floor"]).held


def are_failures(outcomes: list[Outcome | None]) -> bool:
    expected = {RefusalCode.INVALID_HOLD_STATE}
    refused = {each.code for each in outcomes if isinstance(each, Refusal)}
    return not refused <= expected


def test_a_release_at_the_moment_of_its_hold_leaves_nothing_held(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    for turn in range(ROUNDS_MAX):
        outcomes, held = hold_and_release(world, engines if turn % 2 else engines[::-1])
        assert held == 0
        assert not are_failures(outcomes)
    assert_sound(world.url)


def test_control_without_a_record_of_early_releases_tickets_stay_held(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(command: ReleaseTickets, ledger: Ledger) -> Decision:
        return Decision(refusals.hold_not_found())

    monkeypatch.setattr(ReleaseTickets, "_released_before", forget)
    world, engines = two_engines
    for turn in range(ROUNDS_MAX):
        _, held = hold_and_release(world, engines if turn % 2 else engines[::-1])
        if held:
            return
    raise AssertionError("no ticket stayed held")


def test_control_without_the_locks_of_the_id_tickets_stay_held(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removes all guards: the advisory lock, and the constraints that would refuse the second row
    and its facts."""
    world, engines = two_engines
    with psycopg.connect(world.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE hold DROP CONSTRAINT hold_pkey CASCADE")
        connection.execute("ALTER TABLE outbox DROP CONSTRAINT outbox_fact_happens_once")
    unlocked(monkeypatch, ResourceKind.HOLD_ID)
    slowly(monkeypatch)
    assert any(hold_and_release(world, engines)[1] for _ in range(ROUNDS_MAX))


def ends(world: PostgresWorld, engines: list[Admission]) -> set[int]:
    """How many of a commit and a release of the same reservation succeed."""
    venue = world.venue({"floor": 1_000}, {"standing": ("floor",)})
    pairs = [Calls(venue) for _ in range(PAIRS)]
    at_once(engines, *(each.hold(standing=1) for each in pairs))
    commands = [command for each in pairs for command in (each.commit(standing=1), each.release())]
    outcomes = at_once(engines, *commands)
    of_pairs = zip(outcomes[::2], outcomes[1::2], strict=True)
    return {sum(isinstance(each, Reserved) for each in pair) for pair in of_pairs}


def test_a_reservation_ends_once(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    for turn in range(ROUNDS_MAX):
        assert ends(world, engines if turn % 2 else engines[::-1]) == {1}
    assert_sound(world.url)


def test_control_without_locks_a_reservation_ends_twice(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked(monkeypatch, ResourceKind.HOLD_ID)
    without(monkeypatch, "LOCK_HOLDS")
    without(monkeypatch, "LOCK_POOLS")
    slowly(monkeypatch)
    world, engines = two_engines
    assert any(ends(world, engines) != {1} for _ in range(ROUNDS_MAX))
