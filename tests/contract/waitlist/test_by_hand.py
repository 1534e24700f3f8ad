"""An operator promotes one party, in turn or out of turn, on every store."""

from collections import Counter
from dataclasses import replace

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.outcomes import Placed, Waiting
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    ask,
    explained,
    in_one_group,
    placed,
    promoted,
    promoted_by_hand,
    refused,
    waiting,
)
from tests.contract.seen import World
from tests.contract.venues import OPERATOR, STRANGER
from tests.contract.waitlist.test_explanations import close, hall
from tests.contract.waitlist.test_fairness import hold_of, house, wait_for
from tests.contract.waitlist.test_waitlist import (
    POLICY,
    a_person,
    club,
    join_waitlist,
    sold_out,
    statuses,
)


def test_a_party_is_served_out_of_turn_if_its_places_are_free(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    first, second, third = join_waitlist(engine, venue, 3, 1, 1)
    outcome = promoted_by_hand(engine, venue.promote_hold(third))
    assert (outcome.hold, outcome.overtaken) == (world.hold(venue, third.id), 1)
    assert statuses(world, venue, [first, second, third]) == ["waiting", "waiting", "active"]
    assert world.pool(venue.pools["floor"]).held == 3
    assert world.facts(venue)[-1] == ("hold.promoted", third.id, 2, None)
    assert world.audit(venue)[-1] == (
        "hold.promoted",
        third.id,
        "operator:ann",
        "waiting",
        "active",
        None,
    )


def test_the_audit_has_the_reason_and_the_overtake(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    first, second = join_waitlist(engine, venue, 3, 1)
    promoted_by_hand(engine, venue.promote_hold(second))
    recorded = world.audit_values(venue)[-1]
    assert recorded["reason"] == "She stands at the box office"
    assert (recorded["as_operator"], recorded["overtaken_queues"]) == (True, 1)
    assert statuses(world, venue, [first]) == ["waiting"]


def test_being_overtaken_by_hand_uses_up_the_overtakes_of_the_first(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    first, second, third = join_waitlist(engine, venue, 3, 1, 1)
    world.set_policy(venue, replace(POLICY, waiting_passes_max=1))
    found = explained(engine, venue.explain())
    assert found[second.id] is None, "it may overtake the first"
    promoted_by_hand(engine, venue.promote_hold(third))
    assert statuses(world, venue, [first, second, third]) == ["waiting", "waiting", "active"], (
        "nobody may overtake the first again"
    )


def test_the_first_party_overtakes_nobody(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    first, second = join_waitlist(engine, venue, 2, 2)
    world.pause_sale(venue)
    ask(engine, venue.release(held.id))
    world.resume_sale(venue)
    outcome = promoted_by_hand(engine, venue.promote_hold(first))
    assert outcome.overtaken == 0
    assert statuses(world, venue, [first, second]) == ["active", "active"], (
        "the rest is served in order"
    )


def test_an_overtake_counts_in_another_queue_that_has_a_claim_on_the_same_places(
    world: World, engine: Admission
) -> None:
    venue = house(world)
    hold_of(engine, venue, "adult", 4)
    first = wait_for(engine, venue, "adult", 2)
    second = wait_for(engine, venue, "guest", 1, person=2)
    assert promoted_by_hand(engine, venue.promote_hold(second)).overtaken == 1
    assert statuses(world, venue, [first, second]) == ["waiting", "active"]


def test_missing_places_are_refused_in_words(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 3)
    _, second = join_waitlist(engine, venue, 2, 2)
    before = world.holds(venue)
    refusal = refused(engine, venue.promote_hold(second))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert refusal.message == "Only 1 ticket(s) available"
    assert world.holds(venue) == before


def test_seats_are_found_for_a_party_promoted_by_hand(world: World, engine: Admission) -> None:
    venue = hall(world)
    placed(engine, venue.place(("adult", 14), holder=STRANGER))
    large = waiting(engine, venue.place(("adult", 3), holder=a_person(1)))
    pair = waiting(engine, venue.place(("adult", 2), holder=a_person(2)))
    refusal = refused(engine, venue.promote_hold(large))
    assert refusal.message == "Not enough seats available. Requested: 3, Available: 2"
    hold = promoted_by_hand(engine, venue.promote_hold(pair)).hold
    assert len(hold.seats) == 2
    assert [world.seats(venue)[name].hold_id for name in venue.names_of(hold)] == [hold.id] * 2


def test_lapsed_holds_make_room_for_a_party_promoted_by_hand(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    (lapsed,) = sold_out(engine, venue, 4)
    first, second = join_waitlist(engine, venue, 4, 2)
    world.let_pass(venue, 601)
    promoted_by_hand(engine, venue.promote_hold(second))
    assert statuses(world, venue, [lapsed, first, second]) == ["expired", "waiting", "active"]


def test_two_operators_do_not_promote_the_same_party_twice(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    _, second = join_waitlist(engine, venue, 3, 1)
    promoted_by_hand(engine, venue.promote_hold(second))
    again = refused(engine, venue.promote_hold(second))
    assert again.code is RefusalCode.HOLD_CHANGED
    late = refused(engine, venue.promote_hold(second, seen_version=2))
    assert late.message == "The hold is active, and no longer on the waitlist"
    assert world.pool(venue.pools["floor"]).held == 3


def test_a_cart_that_changed_meanwhile_is_not_promoted(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    seen = waiting(engine, venue.fill("basket", {"a": ("standing", 3)}))
    waiting(engine, venue.fill("basket", {"a": ("standing", 2)}))
    refusal = refused(engine, venue.promote_hold(seen))
    assert refusal.code is RefusalCode.HOLD_CHANGED


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("cancelled", "The event has been cancelled"),
        ("draft", "The event is not on sale"),
        ("sale_ended", "Sales for this event are not open"),
        ("sale_not_open", "Sales for this event are not open"),
        ("session_started", "The session has started"),
    ],
)
def test_nobody_is_promoted_by_hand_while_the_sale_is_closed(
    world: World, engine: Admission, by: str, message: str
) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    _, second = join_waitlist(engine, venue, 3, 1)
    close(world, venue, by)
    assert refused(engine, venue.promote_hold(second)).message == message
    assert statuses(world, venue, [second]) == ["waiting"]


def test_a_party_that_wants_what_is_no_longer_sold_is_not_promoted(
    world: World, engine: Admission
) -> None:
    venue = hall(world, sold_in={"Stalls": ("adult", "student"), "Balcony": ("adult",)})
    held = placed(engine, venue.place(("adult", 16), holder=STRANGER))
    party = waiting(engine, venue.place(("student", 1), holder=a_person(1)))
    world.sell_nowhere(venue, "student")
    ask(engine, venue.release(held.id))
    refusal = refused(engine, venue.promote_hold(party))
    assert refusal.message == "A ticket type of this hold is no longer on sale"


def test_a_hold_that_does_not_exist_or_has_expired_is_not_promoted(
    world: World, engine: Admission
) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=3600, waiting_seconds=300))
    sold_out(engine, venue, 3)
    _, party = join_waitlist(engine, venue, 2, 1)
    stranger = replace(venue.promote_hold(party), hold_id=HoldId(a_person(9).key))
    assert refused(engine, stranger).code is RefusalCode.HOLD_NOT_FOUND
    world.let_pass(venue, 301)
    assert refused(engine, venue.promote_hold(party)).code is RefusalCode.HOLD_EXPIRED


def test_promotions_by_hand_and_in_order_never_share_a_place(world: World) -> None:
    """In one group: the last place goes to one party only."""
    venue = club(world)
    first_round = in_one_group(
        world.store,
        venue.place(("standing", 3), holder=STRANGER),
        venue.place(("standing", 2), holder=a_person(1)),
        venue.place(("standing", 1), holder=a_person(2)),
        venue.place(("standing", 1), holder=a_person(3)),
    )
    holds = [each.hold for each in first_round if isinstance(each, Placed | Waiting)]
    in_one_group(
        world.store,
        venue.promote_hold(holds[2]),
        venue.promote_hold(holds[3]),
        venue.promote(),
    )
    served = [hold.id for hold in holds if world.hold(venue, hold.id).status is HoldStatus.ACTIVE]
    assert served == [holds[0].id, holds[2].id]
    assert world.pool(venue.pools["floor"]).held == 4


def test_a_draft_is_not_reopened_by_a_promotion(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    queue = join_waitlist(engine, venue, 2)
    world.set_status(venue, EventStatus.DRAFT)
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["waiting"]


@pytest.mark.parametrize("is_served", [True, False])
def test_who_served_the_waitlist_is_recorded_with_the_reason(
    world: World, engine: Admission, *, is_served: bool
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    (first,) = join_waitlist(engine, venue, 2)
    if is_served:
        world.set_total(venue, "floor", 6)
    entries = len(world.audit(venue))
    promoted(engine, replace(venue.promote(), origin=OPERATOR))
    found = world.audit(venue)[entries:]
    made = [("hold.promoted", first.id, "operator:ann", "waiting", "active", None)]
    served = ("waitlist.served", None, "operator:ann", None, None, None)
    assert Counter(found) == Counter([served, *(made if is_served else ())])
    reasons = [new["reason"] for new in world.audit_values(venue)[entries:]]
    assert reasons == [OPERATOR.reason] * len(found)
    ask(engine, replace(venue.release_as_operator(held.id), origin=OPERATOR))
    assert [entry.actor for entry in world.audit(venue) if entry.action == "hold.promoted"] == [
        "operator:ann" if is_served else "waitlist"
    ], "another reason was given for what freed the places"


def test_the_end_of_a_waitlist_has_no_reason(world: World, engine: Admission) -> None:
    """Though somebody gave one for serving it."""
    venue = club(world)
    sold_out(engine, venue, 4)
    (first,) = join_waitlist(engine, venue, 2)
    world.end_sale(venue)
    promoted(engine, replace(venue.promote(), origin=OPERATOR))
    ended, _ = sorted(world.audit(venue)[-2:])
    assert ended == ("hold.cancelled", first.id, "waitlist", "waiting", "cancelled", None)
    assert sum(new.get("reason") is not None for new in world.audit_values(venue)) == 1
