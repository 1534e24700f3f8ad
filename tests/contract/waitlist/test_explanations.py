"""Why a party is not served, on every store: the reasons are those of the promotion itself."""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.waitlist.obstacles import Explanation, Obstacle, Shortage
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.engine import Admission
from tests.contract.asking import ask, converted, explained, placed, promoted, refused, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_fairness import hold_of, house, wait_for
from tests.contract.waitlist.test_waitlist import (
    POLICY,
    a_person,
    club,
    join_waitlist,
    sold_out,
)

ROWS = {"Stalls": {"A": 6, "B": 6}, "Balcony": {"C": 4}}
SEATED = {"adult": (), "student": ("students",)}


def hall(world: World, policy: HoldPolicy = POLICY, **more: object) -> Venue:
    seats = Hall(ROWS, SEATED, **more)  # type: ignore[arg-type]
    return world.build(Plan({"students": 3}, {}, policy, seats))


def obstacles(engine: Admission, venue: Venue, holds: list[Hold]) -> list[str | None]:
    found = explained(engine, venue.explain())
    return [None if (each := found[hold.id]) is None else each.obstacle.value for hold in holds]


def check_against_promotion(
    world: World, engine: Admission, venue: Venue
) -> Mapping[HoldId, Explanation | None]:
    """Whoever has no obstacle is served by the next promotion, and nobody else."""
    before = (world.holds(venue), world.facts(venue), world.audit(venue))
    found = explained(engine, venue.explain())
    assert (world.holds(venue), world.facts(venue), world.audit(venue)) == before, (
        "an explanation changes nothing"
    )
    promoted(engine, venue.promote())
    for hold_id, explanation in found.items():
        is_served = world.hold(venue, hold_id).status is HoldStatus.ACTIVE
        assert is_served is (explanation is None), explanation
    return found


def test_the_pool_that_is_short_is_named(world: World, engine: Admission) -> None:
    venue = house(world)
    hold_of(engine, venue, "adult", 3)
    first = wait_for(engine, venue, "adult", 2)
    found = explained(engine, venue.explain())
    assert found == {
        first.id: Explanation(
            Obstacle.TOO_FEW_PLACES, (Shortage(venue.pools["adults"], needed=2, available=1),)
        )
    }


def test_a_lapsed_hold_counts_as_free(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    (party,) = join_waitlist(engine, venue, 2)
    world.let_pass(venue, 601)
    assert obstacles(engine, venue, [party]) == [None]
    check_against_promotion(world, engine, venue)


def test_parties_behind_the_first_are_told_so(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 3)
    queue = join_waitlist(engine, venue, 2, 1)
    assert obstacles(engine, venue, queue) == ["too_few_places", "behind_first"]
    world.set_policy(venue, replace(POLICY, waiting_passes_max=1))
    assert obstacles(engine, venue, queue) == ["too_few_places", None]
    check_against_promotion(world, engine, venue)


def test_a_party_waits_while_others_are_entitled_to_the_free_places(
    world: World, engine: Admission
) -> None:
    venue = house(world)
    hold_of(engine, venue, "adult", 4)
    first = wait_for(engine, venue, "adult", 2)
    second = wait_for(engine, venue, "guest", 1, person=2)
    assert obstacles(engine, venue, [first, second]) == ["too_few_places", "not_its_turn"]


@pytest.mark.parametrize(
    "by", ["cancelled", "archived", "sale_ended", "session_started", "sale_not_open", "draft"]
)
def test_a_closed_sale_is_the_reason_for_everybody(
    world: World, engine: Admission, by: str
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    queue = join_waitlist(engine, venue, 2, 1)
    close(world, venue, by)
    reason = {
        "cancelled": "event_cancelled",
        "archived": "event_archived",
        "draft": "event_not_on_sale",
    }.get(by, by)
    assert obstacles(engine, venue, queue) == [reason, reason]
    ask(engine, venue.release(held.id))
    statuses = {world.hold(venue, party.id).status.value for party in queue}
    assert statuses == ({"waiting"} if by in {"sale_not_open", "draft"} else {"cancelled"})


def close(world: World, venue: Venue, by: str) -> None:
    match by:
        case "sale_ended":
            world.end_sale(venue)
        case "session_started":
            world.start_session(venue)
        case "sale_not_open":
            world.pause_sale(venue)
        case status:
            world.set_status(venue, EventStatus(status))


def test_a_party_that_wants_what_is_no_longer_sold_is_told_so(
    world: World, engine: Admission
) -> None:
    venue = hall(world, sold_in={"Stalls": ("adult", "student"), "Balcony": ("adult",)})
    placed(engine, venue.place(("adult", 16), holder=STRANGER))
    first = waiting(engine, venue.place(("student", 1), holder=a_person(1)))
    second = waiting(engine, venue.place(("adult", 1), holder=a_person(2)))
    world.sell_nowhere(venue, "student")
    assert obstacles(engine, venue, [first, second]) == ["not_offered", "too_few_seats"]


def test_a_party_that_needs_more_than_is_unsold_is_told_so(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 3)
    (party,) = join_waitlist(engine, venue, 2)
    converted(engine, venue.convert(held.id))
    found = explained(engine, venue.explain())[party.id]
    assert found == Explanation(
        Obstacle.TOO_MUCH_SOLD, (Shortage(venue.pools["floor"], needed=2, available=1),)
    )


def test_seats_that_are_not_together_are_the_reason(world: World, engine: Admission) -> None:
    venue = hall(world)
    taken = [
        f"{block} {row} {n}" for block, rows in ROWS.items() for row in rows for n in (1, 3, 5)
    ]
    taken = [name for name in taken if name in venue.places]
    placed(engine, venue.seats(*taken, holder=STRANGER))
    together = venue.some("adult", 2, together=True)
    party = waiting(engine, venue.place(together, holder=a_person(1)))
    found = explained(engine, venue.explain())[party.id]
    assert found is not None
    assert found.obstacle is Obstacle.TOO_FEW_SEATS
    assert found.seats is not None
    assert found.seats.requested == 2


def test_as_many_as_one_promotion_serves_have_no_obstacle(world: World, engine: Admission) -> None:
    many = PROMOTIONS_MAX + 3
    venue = club(world, total=many)
    (held,) = sold_out(engine, venue, many)
    queue = join_waitlist(engine, venue, *[1] * many)
    world.pause_sale(venue)
    ask(engine, venue.release(held.id))
    world.resume_sale(venue)
    assert obstacles(engine, venue, queue) == [None] * PROMOTIONS_MAX + ["next_batch"] * 3
    check_against_promotion(world, engine, venue)


def test_a_waitlist_that_others_are_changing_is_not_explained_wrongly(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    join_waitlist(engine, venue, 2)
    world.pause_sale(venue)
    ask(engine, venue.release(held.id))
    world.resume_sale(venue)
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        assert refused(engine, venue.explain()).code is RefusalCode.SERVICE_UNAVAILABLE
    check_against_promotion(world, engine, venue)


def test_there_is_nothing_to_explain_without_a_waitlist(world: World, engine: Admission) -> None:
    assert explained(engine, club(world).explain()) == {}
    assert explained(engine, club(world, HoldPolicy()).explain()) == {}


@pytest.mark.parametrize("seed", range(12))
def test_a_promotion_serves_those_without_an_obstacle_and_nobody_else(
    world: World, engine: Admission, seed: int
) -> None:
    """Random parties for tickets of shared pools. The sale is paused while places are freed, so
    that nobody has been served yet."""
    dice = random.Random(seed)
    venue = house(world, policy=replace(POLICY, waiting_passes_max=dice.choice((0, 0, 1, 3))))
    types = ("adult", "child", "guest", "parking")
    held = [hold_of(engine, venue, "guest", 1) for _ in range(6)]
    held += [hold_of(engine, venue, "parking", 1) for _ in range(2)]
    for person in range(dice.randint(3, 9)):
        quantity = dice.randint(1, 4)
        ask(engine, venue.place((dice.choice(types), quantity), holder=a_person(person)))
    served = check_after_releases(world, engine, venue, held, dice)
    world.set_total(venue, "house", 6 + dice.randint(0, 3))
    served |= check_against_promotion(world, engine, venue)
    assert served


@pytest.mark.parametrize("seed", range(12))
def test_the_same_for_seats(world: World, engine: Admission, seed: int) -> None:
    dice = random.Random(seed)
    capacities = dice.choice(({}, {"Balcony": 2}))
    passes = dice.choice((0, 0, 1, 3))
    venue = hall(world, replace(POLICY, waiting_passes_max=passes), capacities=capacities)
    held: list[Hold] = []
    for name in venue.places:
        outcome = ask(engine, venue.seats(name, holder=STRANGER))
        held += [outcome.hold] if isinstance(outcome, Placed) else []
    for person in range(dice.randint(3, 9)):
        block = dice.choice((None, "Stalls", "Balcony"))
        wish = venue.some(
            dice.choice(("adult", "student")),
            dice.randint(1, 3),
            block=block,
            together=dice.random() < 0.5,
        )
        ask(engine, venue.place(wish, holder=a_person(person)))
    check_after_releases(world, engine, venue, held, dice)


def check_after_releases(
    world: World, engine: Admission, venue: Venue, held: list[Hold], dice: random.Random
) -> dict[HoldId, Explanation | None]:
    world.pause_sale(venue)
    for hold in dice.sample(held, dice.randint(1, len(held) - 1)):
        ask(engine, venue.release(hold.id))
    world.resume_sale(venue)
    return dict(check_against_promotion(world, engine, venue))
