"""Parties that can never be served hold nobody up, however many there are. Runs on every store."""

import pytest

from holdfast.domain.holds.hold import Hold
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.waitlist import queues
from holdfast.domain.waitlist.queues import LOOK_AHEAD
from holdfast.engine import Admission
from tests.contract.asking import (
    ask,
    converted,
    explained,
    placed,
    promoted,
    waiting,
)
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_waitlist import (
    POLICY,
    a_person,
    club,
    join_waitlist,
    sold_out,
    statuses,
)

QUEUES = 64  # so only one party of each is read


def too_large_for_what_is_unsold(engine: Admission, venue: Venue, *behind: int) -> list[Hold]:
    """More parties than are read need 5 places, of which 4 are unsold and free. Returns the parties
    of other sizes behind them."""
    paid, held = sold_out(engine, venue, 2, 4)
    waitlist = join_waitlist(engine, venue, *[5] * (LOOK_AHEAD + 1), *behind)
    converted(engine, venue.convert(paid.id))
    ask(engine, venue.release(held.id))
    return waitlist[LOOK_AHEAD + 1 :]


def test_a_party_behind_many_that_are_too_large_is_served(world: World, engine: Admission) -> None:
    venue = club(world, total=6)
    small = too_large_for_what_is_unsold(engine, venue, 1)
    promoted(engine, venue.promote())
    assert statuses(world, venue, small) == ["active"]
    assert world.is_settled(venue), "the promoter would never stop"
    placed(engine, venue.place(("standing", 2)))
    assert world.pool(venue.pools["floor"]).free == 1


def test_its_place_is_explained(world: World, engine: Admission) -> None:
    venue = club(world, total=6)
    (small,) = too_large_for_what_is_unsold(engine, venue, 1)
    found = explained(engine, venue.explain())
    assert found[small.id] is None, "the promoter serves it"


def test_newcomers_are_served_if_all_who_wait_are_too_large(
    world: World, engine: Admission
) -> None:
    venue = club(world, total=6)
    too_large_for_what_is_unsold(engine, venue)
    promoted(engine, venue.promote())
    assert world.is_settled(venue)
    placed(engine, venue.place(("standing", 1)))
    placed(engine, venue.fill("basket", {"a": venue.some("standing", 9, at_least=1)}))
    assert world.pool(venue.pools["floor"]).free == 0


def test_newcomers_do_not_overtake_a_party_behind_many_that_are_too_large(
    world: World, engine: Admission
) -> None:
    venue = club(world, total=6)
    paid, held, last = sold_out(engine, venue, 2, 3, 1)
    *_, small = join_waitlist(engine, venue, *[5] * (LOOK_AHEAD + 1), 4)
    converted(engine, venue.convert(paid.id))
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert world.is_settled(venue)
    newcomer = waiting(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(last.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [small, newcomer]) == ["active", "waiting"]


def test_nobody_looks_further_than_a_limit(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parties behind it are not served, and nobody overtakes them."""
    monkeypatch.setattr(queues, "LOOK_AHEAD_MAX", LOOK_AHEAD)
    venue = club(world, total=6)
    small = too_large_for_what_is_unsold(engine, venue, 1)
    promoted(engine, venue.promote())
    newcomer = waiting(engine, venue.place(("standing", 1)))
    assert statuses(world, venue, [*small, newcomer]) == ["waiting", "waiting"]
    assert world.is_settled(venue), "the promoter would never stop"


def test_a_withdrawn_type_does_not_stop_the_sale_of_another(
    world: World, engine: Admission
) -> None:
    types = ("student", "adult")
    hall = Hall({"Stalls": {"A": 4}}, dict.fromkeys(types, ()), sold_in={"Stalls": types})
    venue = world.build(Plan({}, {}, POLICY, hall))
    held = placed(engine, venue.place(("adult", 4), holder=STRANGER))
    for number in range(LOOK_AHEAD):
        waiting(engine, venue.place(("student", 1), holder=a_person(number)))
    adult = waiting(engine, venue.place(("adult", 1), holder=a_person(LOOK_AHEAD)))
    world.sell_nowhere(venue, "student")
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [adult]) == ["active"]
    assert world.is_settled(venue)
    placed(engine, venue.place(("adult", 3)))


def test_a_sold_out_type_does_not_stop_the_sale_of_another(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All who wait for it need not be read."""
    monkeypatch.setattr(queues, "LOOK_AHEAD_MAX", LOOK_AHEAD)
    venue = world.build(
        Plan(
            {"vip": 1, "venue": 9},
            {"vip": ("vip", "venue"), "guest": ("venue",)},
            POLICY,
        )
    )
    sold = placed(engine, venue.place(("vip", 1), holder=STRANGER))
    for number in range(LOOK_AHEAD + 1):
        waiting(engine, venue.place(("vip", 1), holder=a_person(number)))
    converted(engine, venue.convert(sold.id))
    promoted(engine, venue.promote())
    assert world.is_settled(venue)
    placed(engine, venue.place(("guest", 8)))


def with_quotas(world: World, policy: HoldPolicy = POLICY) -> Venue:
    """Each type has its own quota of 6, and they share the venue."""
    quotas = {f"quota {number}": 6 for number in range(QUEUES)}
    types = {f"type {number}": (f"quota {number}", "venue") for number in range(QUEUES)}
    return world.build(Plan({"venue": 6, **quotas}, types, policy))


def wait_in_line(engine: Admission, venue: Venue, number: int, size: int, person: int) -> Hold:
    return waiting(engine, venue.place((f"type {number}", size), holder=a_person(person)))


def test_a_party_behind_one_that_is_too_large_is_served_with_many_queues(
    world: World, engine: Admission
) -> None:
    venue = with_quotas(world)
    paid, held = (placed(engine, venue.place(("type 0", size), holder=STRANGER)) for size in (2, 4))
    large = wait_in_line(engine, venue, 0, 5, 0)
    small = wait_in_line(engine, venue, 0, 1, 1)
    others = [wait_in_line(engine, venue, number, 6, number + 1) for number in range(1, QUEUES)]
    converted(engine, venue.convert(paid.id))
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [large, small]) == ["waiting", "active"]
    assert set(statuses(world, venue, others)) == {"waiting"}
    assert world.is_settled(venue)
    placed(engine, venue.place(("type 0", 3)))


def test_a_party_that_was_not_read_is_served_before_later_ones(
    world: World, engine: Admission
) -> None:
    """The first of its queue is too large, and the place is in the venue that all queues share."""
    venue = with_quotas(world)
    paid, held, _ = (
        placed(engine, venue.place(("type 0", size), holder=STRANGER)) for size in (2, 1, 3)
    )
    large = wait_in_line(engine, venue, 0, 5, 0)
    small = wait_in_line(engine, venue, 0, 1, 1)
    others = [wait_in_line(engine, venue, number, 1, number + 1) for number in range(1, QUEUES)]
    converted(engine, venue.convert(paid.id))
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [large, small]) == ["waiting", "active"]
    assert set(statuses(world, venue, others)) == {"waiting"}
