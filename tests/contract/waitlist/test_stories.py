"""What people who run waitlists elsewhere have complained about, on every store."""

import pytest

from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.waitlist.obstacles import Explanation, Obstacle, Shortage
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, explained, placed, promoted, refused, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan
from tests.contract.waitlist.test_explanations import close
from tests.contract.waitlist.test_fairness import hold_of, house, wait_for
from tests.contract.waitlist.test_waitlist import (
    POLICY,
    a_person,
    club,
    join_waitlist,
    sold_out,
    statuses,
)


@pytest.mark.parametrize("by", ["sale_ended", "session_started", "cancelled", "archived"])
def test_nobody_is_served_after_the_sale_has_ended_or_the_session_has_started(
    world: World, engine: Admission, by: str
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    queue = join_waitlist(engine, venue, 2, 1)
    close(world, venue, by)
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["cancelled", "cancelled"]
    assert "hold.promoted" not in {fact.type for fact in world.facts(venue)}
    assert world.pool(venue.pools["floor"]).held == 0


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        ("cancelled", "operator"),
        ("archived", None),
        ("sale_ended", None),
        ("session_started", None),
    ],
)
def test_a_cancelled_sale_ends_the_waitlist_by_operator(
    world: World, engine: Admission, by: str, reason: str | None
) -> None:
    """So that the parties get an e-mail."""
    venue = club(world)
    sold_out(engine, venue, 4)
    join_waitlist(engine, venue, 2, 1)
    close(world, venue, by)
    promoted(engine, venue.promote())
    ended = [payload for type_, payload in world.payloads(venue) if type_ == "hold.cancelled"]
    assert [payload.get("reason") for payload in ended] == [reason, reason]
    assert [payload["freed_quantity"] for payload in ended] == [0, 0]
    audited = [values for values in world.audit_values(venue) if values["status"] == "cancelled"]
    assert ["as_operator" in values for values in audited] == [reason is not None] * 2


def test_a_party_whose_time_is_up_expires_even_if_the_event_is_cancelled(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    join_waitlist(engine, venue, 2)
    world.let_pass(venue, POLICY.waiting_seconds + 1)
    close(world, venue, "cancelled")
    promoted(engine, venue.promote())
    (ended,) = [payload for type_, payload in world.payloads(venue) if type_ == "hold.expired"]
    assert "reason" not in ended
    assert not any("as_operator" in values for values in world.audit_values(venue))


def test_nobody_joins_the_waitlist_of_a_session_that_has_started(
    world: World, engine: Admission
) -> None:
    """Though places that are left may still be sold, to latecomers."""
    venue = club(world)
    sold_out(engine, venue, 3)
    world.start_session(venue)
    refusal = refused(engine, venue.place(("standing", 2)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    placed(engine, venue.place(("standing", 1)))


def test_the_full_one_of_two_pools_is_named_and_others_are_served(
    world: World, engine: Admission
) -> None:
    """Adults have a quota of their own and share the house. The quota is full, so the first party
    waits; guests, who need no quota, get what the first party leaves."""
    venue = house(world)
    hold_of(engine, venue, "adult", 4)
    (held,) = [hold_of(engine, venue, "guest", 2)]
    first = wait_for(engine, venue, "adult", 1)
    second = wait_for(engine, venue, "guest", 1, person=2)
    third = wait_for(engine, venue, "guest", 1, person=3)
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [first, second, third]) == ["waiting", "active", "waiting"]
    found = explained(engine, venue.explain())
    assert found == {
        first.id: Explanation(
            Obstacle.TOO_FEW_PLACES, (Shortage(venue.pools["adults"], needed=1, available=0),)
        ),
        third.id: Explanation(Obstacle.NOT_ITS_TURN),
    }


def test_a_party_is_skipped_with_a_reason_and_the_others_keep_their_order(
    world: World, engine: Admission
) -> None:
    """The first party's ticket type is no longer sold anywhere."""
    hall = Hall(
        {"Stalls": {"A": 4}}, {"adult": (), "student": ()}, sold_in={"Stalls": ("adult", "student")}
    )
    venue = world.build(Plan({}, {}, POLICY, hall))
    held = placed(engine, venue.place(("adult", 4), holder=STRANGER))
    first = waiting(engine, venue.place(("student", 1), holder=a_person(1)))
    others = [
        waiting(engine, venue.place(("adult", size), holder=a_person(2 + number)))
        for number, size in enumerate((2, 2, 1))
    ]
    world.sell_nowhere(venue, "student")
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [first, *others]) == ["waiting", "active", "active", "waiting"]
    found = explained(engine, venue.explain())
    assert found[first.id] == Explanation(
        Obstacle.NOT_OFFERED, ticket_type_id=venue.ticket_types["student"]
    )


def test_places_freed_while_the_sale_is_paused_go_to_the_waitlist_when_it_resumes(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    first, second = join_waitlist(engine, venue, 3, 1)
    world.pause_sale(venue)
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [first, second]) == ["waiting", "waiting"]
    world.resume_sale(venue)
    newcomer = waiting(engine, venue.place(("standing", 1), holder=a_person(9)))
    assert world.position(newcomer) == 3, "a newcomer does not take the place"
    promoted(engine, venue.promote())
    assert statuses(world, venue, [first, second, newcomer]) == ["active", "active", "waiting"]


def test_a_paused_sale_keeps_the_order_and_the_parties(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    queue = join_waitlist(engine, venue, 3, 1)
    world.pause_sale(venue)
    refused(engine, venue.place(("standing", 1), holder=a_person(9)))
    promoted(engine, venue.promote())
    world.resume_sale(venue)
    assert [world.position(hold) for hold in queue] == [1, 2]


def test_a_buyer_who_gives_a_place_back_is_not_offered_it_again(
    world: World, engine: Admission
) -> None:
    venue = club(world, total=1)
    (held,) = sold_out(engine, venue, 1)
    (ann,) = join_waitlist(engine, venue, 1)
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [ann]) == ["active"]
    ask(engine, venue.release(ann.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [ann]) == ["cancelled"]
    assert world.pool(venue.pools["floor"]).free == 1


def test_a_buyer_who_joins_anew_is_last(world: World, engine: Admission) -> None:
    venue = club(world, total=1)
    (held,) = sold_out(engine, venue, 1)
    ann, bob = join_waitlist(engine, venue, 1, 1)
    ask(engine, venue.release(held.id))
    ask(engine, venue.release(ann.id))
    assert statuses(world, venue, [ann, bob]) == ["cancelled", "active"]
    again = waiting(engine, venue.place(("standing", 1), holder=a_person(0)))
    ask(engine, venue.release(bob.id))
    assert statuses(world, venue, [again, ann]) == ["active", "cancelled"]


def test_places_left_at_the_start_are_sold_before_the_waitlist_has_ended(
    world: World, engine: Admission
) -> None:
    """The promoter ends it, some parties at a time."""
    venue = club(world)
    sold_out(engine, venue, 1)
    (first,) = join_waitlist(engine, venue, 4)
    world.start_session(venue)
    placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    assert statuses(world, venue, [first]) == ["waiting"]
    changed(engine, venue.fill("basket", {"a": venue.some("standing", 9, at_least=2)}))
    assert world.pool(venue.pools["floor"]).free == 0


def test_seats_left_at_the_start_are_sold_before_the_waitlist_has_ended(
    world: World, engine: Admission
) -> None:
    venue = world.build(Plan({}, {}, POLICY, Hall({"Stalls": {"A": 4}}, {"seat": ()})))
    placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    first = waiting(engine, venue.place(("seat", 4), holder=a_person(1)))
    world.start_session(venue)
    placed(engine, venue.fill("basket", {"a": ("seat", 1)}))
    placed(engine, venue.seats("Stalls A 4", holder=a_person(2)))
    refusal = refused(engine, venue.fill("basket", {"a": ("seat", 4)}))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert statuses(world, venue, [first]) == ["waiting"]
    changed(engine, venue.fill("basket", {"a": ("seat", 2)}))


def test_a_party_keeps_waiting_when_the_session_is_postponed(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    world.start_session(venue, in_seconds=60)
    (first,) = join_waitlist(engine, venue, 1)
    world.start_session(venue, in_seconds=7200)
    world.let_pass(venue, 120)
    ask(engine, venue.expire(first.id))
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [first]) == ["active"]
