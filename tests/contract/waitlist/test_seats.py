"""Waiting for best seats, adjacent if requested. A request for named seats never waits, and never
takes what the first party needs."""

from dataclasses import replace

from holdfast.domain.group.outcomes import Converted, Placed
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, in_one_group, placed, promoted, refused, waiting
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_waitlist import POLICY, a_person, statuses

HALL = Hall(
    {"Stalls": {"A": 4}, "Balcony": {"C": 3}},
    {"seat": ()},
    accessible=frozenset({"Stalls A 1"}),
)
STALLS = [f"Stalls A {number}" for number in range(1, 5)]
BALCONY = [f"Balcony C {number}" for number in range(1, 4)]


def theatre(world: World, hall: Hall = HALL, policy: HoldPolicy = POLICY) -> Venue:
    return world.build(Plan({"floor": 2}, {"standing": ("floor",)}, policy, hall))


def all_taken(engine: Admission, venue: Venue) -> dict[str, Hold]:
    """Hold each seat in a hold of its own."""
    return {name: placed(engine, venue.seats(name, holder=STRANGER)) for name in venue.places}


def free(engine: Admission, venue: Venue, taken: dict[str, Hold], *names: str) -> None:
    for name in names:
        ask(engine, venue.release(taken[name].id))


def wait_for(
    engine: Admission,
    venue: Venue,
    quantity: int,
    *,
    person: int = 1,
    block: str | None = None,
    accessible: int = 0,
    together: bool = False,
) -> Hold:
    wish = venue.some("seat", quantity, block=block, accessible=accessible, together=together)
    return waiting(engine, venue.place(wish, holder=a_person(person)))


def seats_of(world: World, venue: Venue, hold: Hold) -> set[str]:
    after = world.hold(venue, hold.id)
    assert after.status is HoldStatus.ACTIVE
    names = set(venue.names_of(after))
    seats = world.seats(venue)
    assert all(seats[name].hold_id == hold.id for name in names)
    return names


def test_a_party_waiting_for_seats_gets_them_when_enough_are_free(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    pair, single = wait_for(engine, venue, 2), wait_for(engine, venue, 1, person=2)
    assert [world.position(hold) for hold in (pair, single)] == [1, 2]
    free(engine, venue, taken, "Stalls A 2")
    assert statuses(world, venue, [pair, single]) == ["waiting", "waiting"]
    free(engine, venue, taken, "Balcony C 1")
    assert seats_of(world, venue, pair) == {"Stalls A 2", "Balcony C 1"}
    facts = [fact.type for fact in world.facts(venue)[-4:]]
    assert facts[-3:] == ["hold.promoted", "seat.held", "seat.held"]
    free(engine, venue, taken, "Stalls A 4")
    assert seats_of(world, venue, single) == {"Stalls A 4"}
    assert world.is_settled(venue)


def test_a_party_waiting_for_adjacent_seats_gets_only_adjacent_ones(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    pair = wait_for(engine, venue, 2, together=True)
    free(engine, venue, taken, "Stalls A 1", "Stalls A 3", "Balcony C 2")
    assert statuses(world, venue, [pair]) == ["waiting"]
    refusal = refused(engine, venue.seats("Stalls A 1"))
    assert refusal.code is RefusalCode.OTHERS_ARE_WAITING
    waiting(engine, venue.place(("seat", 1)))
    free(engine, venue, taken, "Stalls A 4")
    assert seats_of(world, venue, pair) == {"Stalls A 3", "Stalls A 4"}


def test_waiting_for_one_block_leaves_others_on_sale(world: World, engine: Admission) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    pair = wait_for(engine, venue, 2, block="Stalls")
    free(engine, venue, taken, "Balcony C 1", "Balcony C 2", "Stalls A 1")
    placed(engine, venue.seats("Balcony C 1", holder=a_person(2)))
    best = placed(engine, venue.place(("seat", 1), holder=a_person(3)))
    assert venue.names_of(best) == ["Balcony C 2"]
    assert refused(engine, venue.seats("Stalls A 1")).code is RefusalCode.OTHERS_ARE_WAITING
    free(engine, venue, taken, "Stalls A 3")
    assert seats_of(world, venue, pair) == {"Stalls A 1", "Stalls A 3"}


def test_a_party_can_wait_for_an_accessible_seat(world: World, engine: Admission) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    hold = wait_for(engine, venue, 1, accessible=1)
    free(engine, venue, taken, "Stalls A 2")
    assert statuses(world, venue, [hold]) == ["waiting"]
    free(engine, venue, taken, "Stalls A 1")
    assert seats_of(world, venue, hold) == {"Stalls A 1"}


def test_a_promoted_seat_has_its_blocks_price_or_the_custom_price(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    usual = wait_for(engine, venue, 1)
    wish = venue.some("seat", 1, price=1234)
    special = waiting(engine, venue.place(wish, holder=a_person(2)))
    free(engine, venue, taken, "Stalls A 1", "Stalls A 2")
    assert [world.hold(venue, hold.id).total.minor for hold in (usual, special)] == [4500, 1234]


def test_a_party_waiting_for_a_block_sees_that_blocks_price(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, replace(HALL, sold_in={"Balcony": ("seat",)}))
    all_taken(engine, venue)
    world.set_price(venue, "seat", 9900)
    wishes = (
        venue.some("seat", 1, block="Balcony"),
        venue.some("seat", 1),
        venue.some("seat", 1, block="Balcony", price=1234),
    )
    parties = [
        waiting(engine, venue.place(wish, holder=a_person(number)))
        for number, wish in enumerate(wishes)
    ]
    assert [party.total.minor for party in parties] == [4500, 9900, 1234]


def test_a_request_for_named_seats_never_waits(world: World, engine: Admission) -> None:
    venue = theatre(world)
    all_taken(engine, venue)
    for command in (
        venue.seats("Stalls A 1"),
        venue.place(venue.these("Stalls A 1"), ("standing", 1)),
        venue.fill("basket", {"a": venue.these("Stalls A 1")}),
    ):
        assert refused(engine, command).code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER


def test_an_unblocked_seat_goes_to_the_waitlist(world: World, engine: Admission) -> None:
    venue = theatre(world)
    ask(engine, venue.block("Stalls A 1", "Stalls A 2"))
    placed(engine, venue.seats(*STALLS[2:], *BALCONY, holder=STRANGER))
    hold = wait_for(engine, venue, 1)
    ask(engine, venue.unblock("Stalls A 1", "Stalls A 2"))
    assert len(seats_of(world, venue, hold)) == 1
    placed(engine, venue.place(("seat", 1)))


def test_expiring_a_hold_gives_its_seats_to_the_waitlist(world: World, engine: Admission) -> None:
    venue = theatre(world)
    lapsing = placed(engine, venue.seats(*STALLS, *BALCONY, holder=STRANGER))
    first, second = wait_for(engine, venue, 3, together=True), wait_for(engine, venue, 4, person=2)
    world.let_pass(venue, 601)
    ask(engine, venue.expire(lapsing.id))
    assert seats_of(world, venue, first) | seats_of(world, venue, second) == {*STALLS, *BALCONY}


def test_a_party_can_wait_for_seats_and_standing_tickets(world: World, engine: Admission) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    both = waiting(engine, venue.place(("seat", 1), ("standing", 2)))
    assert world.pool(venue.pools["floor"]).held == 0
    wish = venue.place(("standing", 1), holder=a_person(2))
    later = waiting(engine, wish)
    free(engine, venue, taken, "Stalls A 1")
    assert seats_of(world, venue, both) == {"Stalls A 1"}
    assert world.pool(venue.pools["floor"]).held == 2
    assert statuses(world, venue, [later]) == ["waiting"]


def test_promotions_respect_block_capacity(world: World, engine: Admission) -> None:
    hall = replace(HALL, capacities={"Stalls": 2})
    venue = theatre(world, hall)
    first = placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    second = placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    placed(engine, venue.seats(*BALCONY, holder=STRANGER))
    queue = [wait_for(engine, venue, 1, person=person) for person in (1, 2)]
    ask(engine, venue.release(first.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["active", "waiting"]
    ask(engine, venue.release(second.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["active", "active"]
    assert world.pool(venue.pools["Stalls capacity"]).held == 2


def test_a_party_that_the_hall_can_never_seat_is_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Stalls A 1", "Balcony C 1", holder=STRANGER))
    for too_much in (
        venue.some("seat", 8),
        venue.some("seat", 5, together=True),
        venue.some("seat", 4, block="Balcony"),
        venue.some("seat", 2, accessible=2),
    ):
        refused(engine, venue.place(too_much))
    for person, enough in enumerate(
        (
            venue.some("seat", 7),
            venue.some("seat", 3, together=True),
            venue.some("seat", 3, block="Balcony"),
            venue.some("seat", 2, accessible=1),
        )
    ):
        waiting(engine, venue.place(enough, holder=a_person(person)))


def test_a_party_whose_seats_were_just_sold_holds_nobody_up(
    world: World, engine: Admission
) -> None:
    """In the same group, before the cached seat map shows it."""
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    wait_for(engine, venue, 7)
    late = venue.seats("Stalls A 1", holder=a_person(2))
    assert refused(engine, late).code is RefusalCode.OTHERS_ARE_WAITING
    sold, found = in_one_group(world.store, venue.convert(hold.id), late)
    assert isinstance(sold, Converted)
    assert isinstance(found, Placed)


def test_small_parties_overtake_one_that_cannot_be_seated(world: World, engine: Admission) -> None:
    venue = theatre(world, policy=replace(POLICY, waiting_passes_max=1))
    taken = all_taken(engine, venue)
    large, *small = (wait_for(engine, venue, size, person=size) for size in (4, 1, 2))
    free(engine, venue, taken, "Stalls A 1")
    assert statuses(world, venue, [large, *small]) == ["waiting", "active", "waiting"]
    free(engine, venue, taken, "Stalls A 2", "Stalls A 3")
    assert statuses(world, venue, [large, *small]) == ["waiting", "active", "waiting"]
    free(engine, venue, taken, "Stalls A 4", "Balcony C 1")
    assert statuses(world, venue, [large, *small]) == ["active", "active", "waiting"]


def test_a_waiting_cart_can_take_named_seats_instead(world: World, engine: Admission) -> None:
    """Its own place on the waitlist does not stop it."""
    venue = theatre(world)
    taken = all_taken(engine, venue)
    wish = venue.some("seat", 2, together=True)
    hold = waiting(engine, venue.fill("basket", {"a": wish}))
    free(engine, venue, taken, "Stalls A 1", "Stalls A 3")
    instead = {"a": venue.these("Stalls A 1", "Stalls A 3")}
    refused(engine, venue.fill("basket", {"a": venue.these("Stalls A 2")}))
    assert world.hold(venue, hold.id) == hold
    new = placed(engine, venue.fill("basket", instead, holder=BUYER))
    assert statuses(world, venue, [hold, new]) == ["cancelled", "active"]
    assert world.is_settled(venue)


def test_a_waiting_cart_can_take_free_places_before_those_behind_it(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    taken = all_taken(engine, venue)
    hold = waiting(engine, venue.fill("basket", {"a": venue.some("seat", 2, together=True)}))
    behind = wait_for(engine, venue, 1)
    free(engine, venue, taken, "Stalls A 1")
    refusal = refused(engine, venue.fill("basket", {"a": venue.these("Stalls A 1")}))
    assert refusal.code is RefusalCode.OTHERS_ARE_WAITING
    assert statuses(world, venue, [hold, behind]) == ["waiting", "waiting"]
    less = venue.fill("basket", {"a": venue.some("seat", 1, together=True)})
    ask(engine, less)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [hold, behind]) == ["active", "waiting"]
