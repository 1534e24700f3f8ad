"""Rivals for a seat in one group: each gets the answer that it would get alone, on every store."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Outcome, Placed
from holdfast.domain.holds import place_hold
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission, Limits
from tests.contract.asking import in_one_group, placed, refused, render_plainly
from tests.contract.seen import World
from tests.contract.venues import Hall, Plan, Venue
from tests.support.patience import PATIENCE_SECONDS

SEAT = "Stalls A 3"
HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()})
TTL_SECONDS = 600


def theatre(world: World) -> Venue:
    return world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=HALL))


def buyer(number: int) -> Holder:
    return Holder(EmailAddress(f"buyer{number}@example.com"))


def codes(outcomes: list[Outcome | None]) -> list[str]:
    return [
        outcome.code.value if isinstance(outcome, Refusal) else type(outcome).__name__
        for outcome in outcomes
    ]


HELD = RefusalCode.SEAT_HELD_BY_ANOTHER_USER.value


class Attempts:
    """Notes what the audit is told."""

    def __init__(self) -> None:
        self.refused_commands: list[tuple[Command, Refusal]] = []

    def committed(self, *_: Any) -> None:
        pass

    def refused(self, command: Command, refusal: Refusal) -> None:
        self.refused_commands.append((command, refusal))


@pytest.mark.parametrize("wants_alternative", [False, True])
def test_rivals_are_refused_as_if_each_had_come_alone(
    world: World, engine: Admission, wants_alternative: bool
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats(SEAT))
    alone = refused(engine, venue.seats(SEAT, holder=buyer(0), wants_alternative=wants_alternative))
    attempts = Attempts()
    crowd = Admission(world.store, Limits(deadline_seconds=PATIENCE_SECONDS), [attempts])
    rivals = [
        venue.seats(SEAT, holder=buyer(number), wants_alternative=wants_alternative)
        for number in range(5)
    ]
    futures = [crowd.submit(rival) for rival in rivals]
    crowd.start()
    outcomes = [future.result(60).outcome for future in futures]
    crowd.stop()
    for outcome in outcomes:
        assert isinstance(outcome, Refusal)
        assert (outcome.code, outcome.message) == (alone.code, alone.message)
        assert outcome.details.keys() == alone.details.keys()
        assert outcome.details["expires_at"] == alone.details["expires_at"]
        assert outcome.details.get("alternative") == alone.details.get("alternative")
    assert [command for command, _ in attempts.refused_commands] == rivals
    named = {command.failed_action(refusal) for command, refusal in attempts.refused_commands}
    assert {each.seat_id for each in named if each} == {hold.seats[0].id}
    assert {each.asked.holder for each in named if each} == {rival.holder for rival in rivals}


def test_one_of_many_rivals_wins(world: World) -> None:
    venue = theatre(world)
    outcomes = in_one_group(
        world.store, *(venue.seats(SEAT, holder=buyer(number)) for number in range(5))
    )
    assert codes(outcomes) == ["Placed", HELD, HELD, HELD, HELD]


def _with_its_holder(world: World) -> list[str]:
    """The holder clicks again amid the crowd."""
    venue = theatre(world)
    commands = [venue.seats(SEAT, holder=buyer(number)) for number in (1, 2, 1, 3)]
    return codes(in_one_group(world.store, *commands))


def test_the_holder_among_the_rivals_finds_the_own_hold(world: World) -> None:
    assert _with_its_holder(world) == ["Placed", HELD, "Placed", HELD]


def test_without_a_look_at_the_holder_the_own_hold_would_be_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""

    def whoever_asks(ledger: Ledger, placement: Any) -> Refusal | None:
        return ledger.contested.get(placement.rivalry)

    monkeypatch.setattr(place_hold, "_refused_like_rivals", whoever_asks)
    assert _with_its_holder(world) == ["Placed", HELD, HELD, HELD]


def _released_amid_rivals(world: World, engine: Admission) -> list[str]:
    venue = theatre(world)
    first = placed(engine, venue.seats(SEAT, holder=buyer(1)))
    return codes(
        in_one_group(
            world.store,
            venue.seats(SEAT, holder=buyer(2)),
            venue.release(first.id),
            venue.seats(SEAT, holder=buyer(3)),
            venue.seats(SEAT, holder=buyer(4)),
        )
    )


def test_a_seat_that_is_released_amid_its_rivals_goes_to_the_next(
    world: World, engine: Admission
) -> None:
    assert _released_amid_rivals(world, engine) == [HELD, "Released", "Placed", HELD]


def test_a_refusal_that_outlives_a_change_would_refuse_a_free_seat(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    apply = Ledger.apply

    def without_forgetting(ledger: Ledger, *changes: Any) -> None:
        known = dict(ledger.contested)
        apply(ledger, *changes)
        ledger.contested.update(known)

    monkeypatch.setattr(Ledger, "apply", without_forgetting)
    assert _released_amid_rivals(world, engine) == [HELD, "Released", HELD, HELD]


def test_rivals_for_a_lapsed_seat_see_the_new_expiry(world: World, engine: Admission) -> None:
    venue = theatre(world)
    placed(engine, venue.seats(SEAT, holder=buyer(1)))
    world.let_pass(venue, TTL_SECONDS + 1)  # it ends at a whole second
    outcomes = in_one_group(
        world.store, *(venue.seats(SEAT, holder=buyer(number)) for number in (2, 3, 4))
    )
    assert codes(outcomes) == ["Placed", HELD, HELD]
    for outcome in outcomes[1:]:
        assert isinstance(outcome, Refusal)
        remaining = outcome.details["expires_in"]
        assert isinstance(remaining, int)
        assert TTL_SECONDS - 2 <= remaining <= TTL_SECONDS


def test_a_repeated_key_is_replayed_amid_rivals(world: World, engine: Admission) -> None:
    venue = theatre(world)
    winner = replace(venue.seats(SEAT, holder=buyer(1)), idempotency=venue.key())
    first = engine.submit(winner, render_plainly).result(60)
    assert isinstance(first.outcome, Placed)
    crowd = Admission(world.store, Limits(deadline_seconds=PATIENCE_SECONDS))
    loser = replace(venue.seats(SEAT, holder=buyer(3)), idempotency=venue.key())
    # The same person's key, sent by a session that has another address by now.
    again = replace(winner, holder=buyer(4))
    futures = [
        crowd.submit(command, render_plainly)
        for command in (venue.seats(SEAT, holder=buyer(2)), loser, again)
    ]
    crowd.start()
    rival, lost, replayed = (future.result(60) for future in futures)
    crowd.stop()
    assert codes([rival.outcome, lost.outcome]) == [HELD, HELD]
    assert replayed.is_replay
    assert replayed.body == first.body


def test_rivals_for_different_selections_are_told_about_their_own(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Stalls A 2", SEAT, holder=buyer(1)))
    outcomes = in_one_group(
        world.store,
        venue.seats(SEAT, holder=buyer(2)),
        venue.seats("Stalls A 2", SEAT, holder=buyer(3)),
        venue.seats("Stalls A 2", holder=buyer(4)),
        venue.seats("Stalls A 1", holder=buyer(5)),
    )
    assert codes(outcomes) == [HELD, HELD, HELD, "Placed"]
    contested: list[Any] = [
        outcome.details["contested_seats"] for outcome in outcomes if isinstance(outcome, Refusal)
    ]
    numbers = [[each["seat_number"] for each in seats] for seats in contested]
    assert numbers == [["3"], ["2", "3"], ["2"]]
