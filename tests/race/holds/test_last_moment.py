"""Payment or extension against expiry at the last millisecond: exactly one wins. Each race has a
control: without the guard the same test fails."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.engine import statements
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Converted, Extended, Outcome
from holdfast.domain.ids import HoldId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from tests.contract.venues import Venue
from tests.race.guards import ROUNDS_MAX, TwoEngines, without
from tests.race.last_moment import BATCH, LastMoment, Race, set_ends
from tests.support.auditing import assert_sound, rows

HOUR_SECONDS = 3600


def winners(race: Race, kind: type) -> tuple[set[HoldId], set[HoldId]]:
    """The holds whose buyers succeeded, and the holds the reaper expired."""
    served = {hold_id for hold_id, outcome in race.answers.items() if isinstance(outcome, kind)}
    assert len(race.reaped) == len(set(race.reaped)), "no hold ends twice"
    return served, set(race.reaped)


def assert_exactly_one_won(race: Race, kind: type) -> None:
    served, reaped = winners(race, kind)
    assert not served & reaped, "both won"
    assert served | reaped == set(race.answers), "nobody won"
    for hold_id in reaped:
        outcome = race.answers[hold_id]
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.HOLD_EXPIRED
    # Both sides won often, so it was a race.
    assert min(len(served), len(reaped)) > len(race.answers) / 50


@pytest.mark.parametrize("rounds", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_hold_is_paid_or_expires_never_both(two_engines: TwoEngines, rounds: int) -> None:
    world, engines = two_engines
    race = LastMoment(world, engines).run(rounds, lambda venue, hold_id: venue.convert(hold_id))
    assert_exactly_one_won(race, Converted)
    served, reaped = winners(race, Converted)
    statuses = dict(rows(world.url, "SELECT id, status FROM hold"))
    assert {id_ for id_, status in statuses.items() if status == "converted"} == served
    assert {id_ for id_, status in statuses.items() if status == "expired"} == reaped
    late = "SELECT id FROM hold WHERE confirmed_at >= expires_at OR expired_at < expires_at"
    assert rows(world.url, late) == [], "never late, and never early"
    assert rows(world.url, "SELECT count(*) FROM purchase_order") == [(len(served),)]
    assert_sound(world.url)


def test_a_hold_is_extended_or_expires_never_both(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    race = LastMoment(world, engines).run(
        1_000,
        lambda venue, hold_id: venue.extend(hold_id, HOUR_SECONDS, is_operator=True),
    )
    assert_exactly_one_won(race, Extended)
    served, _ = winners(race, Extended)
    alive = rows(world.url, "SELECT id FROM hold WHERE status = 'active' AND version = 2")
    assert {id_ for (id_,) in alive} == served
    assert_sound(world.url)


@pytest.mark.parametrize("kind", [Converted, Extended])
def test_control_without_the_locks_both_happen(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    """Both sides act a moment after reading, so they surely collide."""
    world, engines = two_engines
    for name in ("LOCK_HOLDS", "LOCK_SEATS"):
        without(monkeypatch, name)
    monkeypatch.setattr(statements, "CLOCK", statements.CLOCK + ", pg_sleep(0.1)")

    def wanted(venue: Venue, hold_id: HoldId) -> Command:
        if kind is Converted:
            return venue.convert(hold_id)
        return venue.extend(hold_id, HOUR_SECONDS, is_operator=True)

    moment = LastMoment(world, engines)
    for _ in range(ROUNDS_MAX):
        served, reaped = winners(moment.run(BATCH, wanted), kind)
        if served & reaped:
            break
    else:
        pytest.fail("no hold was both served and expired")
    with pytest.raises(AssertionError):
        assert_sound(world.url)


def payments_that_wait_past_the_end(
    two_engines: TwoEngines, rounds: int
) -> Iterator[Outcome | None]:
    """Lock each hold until its end has passed, and yield the outcome of its payment."""
    world, engines = two_engines
    moment = LastMoment(world, engines)
    venue, names = moment.hall_of(rounds)
    with psycopg.connect(world.url, autocommit=True) as owner:
        for name in names:
            hold_ids = moment.hold_seats(venue, [name])
            with psycopg.connect(world.url) as stranger:
                (end,) = set_ends(owner, venue, hold_ids, 0.1).values()
                stranger.execute("SELECT FROM hold WHERE id = ANY (%s) FOR UPDATE", [hold_ids])
                waiting = engines[0].submit(venue.convert(*hold_ids))
                time.sleep(max(0.0, end.timestamp() + 0.03 - time.time()))
            yield waiting.result(60).outcome


def test_a_payment_that_waits_for_a_lock_past_the_end_is_too_late(
    two_engines: TwoEngines,
) -> None:
    for outcome in payments_that_wait_past_the_end(two_engines, 20):
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.HOLD_EXPIRED


def test_control_with_the_clock_read_before_the_wait_it_succeeds(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = statements.CLOCK.replace("clock_timestamp()", "transaction_timestamp()")
    assert begun != statements.CLOCK
    monkeypatch.setattr(statements, "CLOCK", begun)
    outcomes = payments_that_wait_past_the_end(two_engines, ROUNDS_MAX)
    assert any(isinstance(outcome, Converted) for outcome in outcomes)
