"""Many waitlist queues in one session, on every store."""

import pytest

from holdfast.domain.group.footprint import Needs, ResourceKind
from holdfast.domain.holds.hold import Hold
from holdfast.domain.waitlist import promotion_plan
from holdfast.domain.waitlist.queues import LOOK_AHEAD, Waitlist
from holdfast.engine import Admission
from tests.contract.asking import ask, placed, promoted, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_waitlist import POLICY, a_person, statuses


def many_blocks(world: World, engine: Admission, blocks: int, seats: int) -> tuple[Venue, Hold]:
    """A hall with all its seats taken by one hold."""
    hall = Hall({f"Block {number}": {"A": seats} for number in range(blocks)}, {"seat": ()})
    venue = world.build(Plan({}, {}, POLICY, hall))
    return venue, placed(engine, venue.seats(*venue.places, holder=STRANGER))


def wait_in_each(engine: Admission, venue: Venue, parties: int) -> list[Hold]:
    """Let this many different people wait for each block."""
    wishes = [venue.some("seat", 1, block=block) for block in venue.blocks] * parties
    commands = [venue.place(wish, holder=a_person(number)) for number, wish in enumerate(wishes)]
    return [waiting(engine, command) for command in commands]


def look_ahead(world: World, venue: Venue) -> Waitlist:
    connection = world.store.connect()
    key = (venue.organization_id, venue.session_id)
    try:
        return connection.survey(Needs(waitlists=frozenset({key}))).waitlists[key]
    finally:
        connection.close()


@pytest.mark.parametrize(("queues", "parties", "seen"), [(1, 8, 8), (20, 4, 3), (40, 2, 1)])
def test_only_a_few_parties_of_each_queue_are_read(
    world: World, engine: Admission, queues: int, parties: int, seen: int
) -> None:
    venue, _ = many_blocks(world, engine, queues, 1)
    wait_in_each(engine, venue, parties)
    waitlist = look_ahead(world, venue)
    assert [queue.waiting for queue in waitlist.queues.values()] == [parties] * queues
    assert [len(queue.first) for queue in waitlist.queues.values()] == [seen] * queues
    assert queues * seen <= LOOK_AHEAD


@pytest.mark.parametrize(("limit", "planned"), [(2, 2), (3, 3), (9, 4)])
def test_a_release_locks_seats_for_as_many_parties_as_it_may_promote(
    world: World,
    engine: Admission,
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    planned: int,
) -> None:
    monkeypatch.setattr(promotion_plan, "PROMOTIONS_MAX", limit)
    venue, _ = many_blocks(world, engine, 1, 4)
    wait_in_each(engine, venue, 6)
    key = (venue.organization_id, venue.session_id)
    needs = Needs(sessions=frozenset({key}), waitlists=frozenset({key}))
    connection = world.store.connect()
    planning = promotion_plan.WaitlistPlanning(connection.survey(needs, is_patient=True))
    connection.close()
    freed = [place.id for place in venue.places.values()]
    seats = {each for each in planning.resources(key, freed) if each.kind is ResourceKind.SEAT}
    assert len(seats) == planned


def test_every_queue_is_served_to_its_end(world: World, engine: Admission) -> None:
    """Only the first hold of each queue is read at a time."""
    venue, hold = many_blocks(world, engine, 40, 2)
    line = wait_in_each(engine, venue, 2)
    ask(engine, venue.release(hold.id))
    runs = 0
    while not world.is_settled(venue):
        promoted(engine, venue.promote())
        runs += 1
        assert runs < 10, "the promoter never finished"
    assert set(statuses(world, venue, line)) == {"active"}
