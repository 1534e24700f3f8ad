"""Where fewer would do: as many as there are, and never fewer than that. On every store alike."""

from uuid import uuid4

from holdfast.domain.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.outcomes import Placed
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, placed, refused, unchanged, waiting
from tests.contract.seen import World
from tests.contract.test_cart_seats import held_seats
from tests.contract.test_waitlist import POLICY, a_person
from tests.contract.venues import STRANGER, Hall, Plan, Venue


def club(world: World, policy: HoldPolicy | None = None, total: int = 4) -> Venue:
    types = {"standing": ("floor",), "guest": ("floor",)}
    return world.build(Plan({"floor": total}, types, policy or HoldPolicy()))


def rows_of_three(world: World) -> Venue:
    return world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 3, "B": 3}}, {"seat": ()})))


def rows_of(venue: Venue, hold: Hold) -> set[str]:
    return {name.split()[1] for name in venue.names_of(hold)}


def test_what_is_given_up_counts_for_what_comes_in_its_place(
    world: World, engine: Admission
) -> None:
    venue = club(world, total=3)
    placed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    after = changed(engine, venue.fill("basket", {"a": venue.some("guest", 3, at_least=1)}))
    assert after.quantity == 3
    assert world.pool(venue.pools["floor"]).held == 3


def test_what_others_hold_does_not_count(world: World, engine: Admission) -> None:
    venue = club(world)
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    placed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    after = changed(engine, venue.fill("basket", {"a": venue.some("guest", 4, at_least=1)}))
    assert after.quantity == 3


def test_each_gets_its_least_before_anyone_gets_more(world: World, engine: Admission) -> None:
    venue = club(world, total=5)
    wish = {
        "a": venue.some("standing", 4, at_least=1),
        "b": venue.some("guest", 3, at_least=2),
        "c": venue.some("guest", 1),
    }
    hold = placed(engine, venue.fill("basket", wish))
    assert [line.quantity for line in hold.lines] == [2, 2, 1]
    assert unchanged(engine, venue.fill("basket", wish)) == hold
    too_much = {**wish, "b": venue.some("guest", 3, at_least=3), "c": venue.some("guest", 2)}
    refusal = refused(engine, venue.fill("other", too_much, holder=STRANGER))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY


def test_what_seats_need_of_a_pool_is_not_given_to_others(world: World, engine: Admission) -> None:
    types = {"standing": ("house",)}
    hall = Hall({"Stalls": {"A": 4}}, {"seat": ("house",)})
    venue = world.build(Plan({"house": 8}, types, hall=hall))
    named = venue.place(venue.some("standing", 8, at_least=1), venue.these("Stalls A 1"))
    hold = placed(engine, named)
    assert [line.quantity for line in hold.lines] == [7, 1]
    ask(engine, venue.release(hold.id))
    placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2", "Stalls A 3")))
    found = venue.place(
        venue.some("seat", 3, at_least=1), venue.some("standing", 6, at_least=1), holder=STRANGER
    )
    hold = placed(engine, found)
    assert [line.quantity for line in hold.lines] == [1, 4], "there was one seat only"


def test_side_by_side_as_many_as_a_row_has(world: World, engine: Admission) -> None:
    venue = rows_of_three(world)
    hold = placed(engine, venue.place(venue.some("seat", 4, together=True, at_least=1)))
    assert len(hold.seats) == 3
    assert len(rows_of(venue, hold)) == 1


def test_side_by_side_is_never_fewer_than_asked_for(world: World, engine: Admission) -> None:
    venue = rows_of_three(world)
    refusal = refused(engine, venue.place(venue.some("seat", 5, together=True, at_least=4)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert refusal.details["available_quantity"] == 3
    assert not held_seats(world, venue)


def test_a_hold_that_is_asked_for_again_is_the_same(world: World, engine: Admission) -> None:
    """Under the same id: the answer to the first call was lost."""
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 3}}, {"seat": ()})))
    command = venue.place(venue.some("seat", 4, at_least=2), hold_id=HoldId(uuid4()))
    hold = placed(engine, command)
    assert len(hold.seats) == 3
    again = ask(engine, command)
    assert isinstance(again, Placed)
    assert (again.hold, again.is_repeat) == (hold, True)


def test_an_id_is_of_one_hold_though_fewer_would_do(world: World, engine: Admission) -> None:
    """Three seats are held: that is no answer to who needs four at least."""
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 3}}, {"seat": ()})))
    hold_id = HoldId(uuid4())
    placed(engine, venue.place(venue.some("seat", 4, at_least=2), hold_id=hold_id))
    refused(engine, venue.place(venue.some("seat", 5, at_least=4), hold_id=hold_id))
    assert len(held_seats(world, venue)) == 3


def test_who_waits_waits_for_the_least_that_would_do(world: World, engine: Admission) -> None:
    venue = club(world, POLICY)
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    three = placed(engine, venue.place(("standing", 3), holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", {"a": venue.some("standing", 4, at_least=2)}))
    assert hold.quantity == 2
    ask(engine, venue.release(three.id))
    assert world.holds(venue)[hold.id].status == "active"


def test_who_was_promoted_with_the_least_may_ask_for_the_rest(
    world: World, engine: Admission
) -> None:
    venue = club(world, POLICY)
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    three = placed(engine, venue.place(("standing", 3), holder=STRANGER))
    command = venue.fill("basket", {"a": venue.some("standing", 4, at_least=2)}, holder=a_person(1))
    waiting(engine, command)
    ask(engine, venue.release(three.id))
    assert changed(engine, command).quantity == 3
