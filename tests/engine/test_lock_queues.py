"""Lock queues: commands that waited too long for a locked seat, and large commands."""

import time
from uuid import UUID, uuid4

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Footprint, Resource, ResourceKind
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.engine import lock_queues
from holdfast.engine.limits import POLL_SECONDS, SEAT_WAIT_SECONDS, WEIGHT_IN_MAIN_LANE_MAX
from holdfast.engine.lock_queues import LockQueues
from holdfast.engine.queue import Pending
from tests.contract.venues import Plan, Venue, empty_venue

ORGANIZATION = OrganizationId(uuid4())
SEAT, OTHER_SEAT = (Resource(ResourceKind.SEAT, ORGANIZATION, UUID(int=n)) for n in (1, 2))
POOL = Resource(ResourceKind.POOL, ORGANIZATION, UUID(int=3))


@pytest.fixture
def venue() -> Venue:
    return empty_venue(Plan({"floor": 1}, {"standing": ("floor",)}))


def pending_of(command: Command) -> Pending:
    return Pending(command, None, time.monotonic() + 600, lambda _: None, lambda _: None)


def test_seat_waits_time_out_whichever_lock_queue_had_its_turn(
    venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = LockQueues(lanes=4)
    buyers = [pending_of(venue.place(("standing", 1))) for _ in range(4)]
    releasing = pending_of(venue.release(HoldId(uuid4())))
    patient = pending_of(venue.place(("standing", 1)))
    room.join([(buyer, SEAT) for buyer in buyers[:3]])
    room.join([(buyers[3], OTHER_SEAT), (releasing, OTHER_SEAT), (patient, POOL)])
    assert room.take(1) == (SEAT, buyers[:1])
    assert room.put_back(SEAT, [(buyers[0], SEAT)]) == []
    monkeypatch.setattr(lock_queues, "SEAT_WAIT_SECONDS", -1.0)
    assert room.take(1) == (OTHER_SEAT, buyers[3:])
    given_up = room.put_back(OTHER_SEAT, [(buyers[3], OTHER_SEAT)])
    assert sorted(buyers.index(buyer) for buyer, _ in given_up) == [0, 1, 2, 3]
    assert (buyers[3], OTHER_SEAT) in given_up
    assert room.queue_for(ORGANIZATION, Footprint(frozenset({SEAT}))) is None, "its queue is gone"
    assert sorted(map(id, room.empty())) == sorted(map(id, (releasing, patient)))


def test_a_command_that_got_its_lock_does_not_time_out(
    venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_queues, "SEAT_WAIT_SECONDS", 0.0)
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    room = LockQueues(lanes=4)
    buyers = [pending_of(venue.place(("standing", 1))) for _ in range(2)]
    room.join([(buyer, SEAT) for buyer in buyers])
    now += 1
    assert room.take(1) == (SEAT, buyers[:1])
    now += 1
    monkeypatch.setattr(lock_queues, "SEAT_WAIT_SECONDS", 0.5)
    assert room.put_back(SEAT, [], buyers[:1]) == []
    assert room.take(2) == (SEAT, buyers), "in order"


def test_a_lock_queue_that_moves_does_not_time_out(
    venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    room = LockQueues(lanes=4)
    buyers = [pending_of(venue.place(("standing", 1))) for _ in range(6)]
    room.join([(buyer, SEAT) for buyer in buyers])
    for buyer in buyers[:3]:
        assert room.take(1) == (SEAT, [buyer])
        now += SEAT_WAIT_SECONDS - 0.1
        assert room.put_back(SEAT, []) == []
    assert room.take(1) == (SEAT, [buyers[3]])
    now += SEAT_WAIT_SECONDS
    assert len(room.put_back(SEAT, [(buyers[3], SEAT)])) == 3


class TestLargeCommands:
    OWN = Resource(ResourceKind.LARGE, ORGANIZATION, UUID(int=0))
    OTHER = Resource(ResourceKind.LARGE, OrganizationId(uuid4()), UUID(int=0))

    def large(self, venue: Venue) -> Pending:
        pending = pending_of(venue.place(("standing", 1)))
        pending.is_large = True
        return pending

    def test_they_run_one_at_a_time_whatever_their_queue(self, venue: Venue) -> None:
        room = LockQueues(lanes=4)
        first, second = self.large(venue), self.large(venue)
        room.join([(first, self.OWN), (second, self.OTHER)])
        assert room.take(128) == (self.OWN, [first])
        room.put_back(self.OWN, [(first, POOL)])  # its pool is locked
        assert room.take(128) == (self.OTHER, [second])
        assert room._next_queue() is None, "the first waits while the second runs"
        room.put_back(self.OTHER, [])
        assert room.take(128) == (POOL, [first])

    def test_small_commands_behind_one_do_not_wait_for_another(self, venue: Venue) -> None:
        room = LockQueues(lanes=4)
        first, second = self.large(venue), self.large(venue)
        small = [pending_of(venue.place(("standing", 1))) for _ in range(3)]
        room.join([(second, self.OTHER), (first, POOL), *((each, POOL) for each in small)])
        assert room.take(128) == (self.OTHER, [second])
        assert room.take(2) == (POOL, small[:2])
        room.put_back(POOL, [(small[0], POOL)])
        room.put_back(self.OTHER, [])
        assert room.take(128) == (POOL, [small[0]]), "first: it had its turn"
        room.put_back(POOL, [])
        assert room.take(128) == (POOL, [first]), "alone"
        room.put_back(POOL, [])
        assert room.take(128) == (POOL, small[2:])

    def test_a_blocked_one_is_not_starved_by_new_ones(self, venue: Venue) -> None:
        room = LockQueues(lanes=4)
        blocked = self.large(venue)
        room.join([(blocked, POOL)])
        assert room.take(128) == (POOL, [blocked])
        room.join([(self.large(venue), self.OTHER)])
        room.put_back(POOL, [(blocked, POOL)])
        served = []
        for _ in range(4):
            turn = room.take(128)
            assert turn is not None
            served.append(turn[0])
            room.join([(self.large(venue), self.OTHER)])  # its organization keeps sending
            room.put_back(turn[0], [(blocked, POOL)] if turn[0] is POOL else [])
        assert served.count(POOL) == 2

    def test_a_small_command_at_the_front_gives_its_queue_no_precedence(self, venue: Venue) -> None:
        room = LockQueues(lanes=4)
        small, fresh = (pending_of(venue.place(("standing", 1))) for _ in range(2))
        room.join([(small, POOL), (self.large(venue), POOL)])
        assert room.take(128) == (POOL, [small])
        room.put_back(POOL, [(small, POOL)])
        room.join([(fresh, SEAT)])
        assert room.take(128) == (SEAT, [fresh]), "it was never tried"
        assert room.take(128) == (POOL, [small])


def test_a_single_lane_serves_a_lock_queue_again_that_stayed_locked(venue: Venue) -> None:
    room = LockQueues(lanes=1)
    pending = pending_of(venue.place(("standing", 1)))
    room.join([(pending, POOL)])
    for _ in range(2):
        assert room._next_queue() == POOL
        assert room.take(128) == (POOL, [pending])
        room.put_back(POOL, [(pending, POOL)])


@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_one_lane_is_reserved_for_lock_queues_that_were_never_tried(
    venue: Venue, lanes: int
) -> None:
    room = LockQueues(lanes)
    locks = [Resource(ResourceKind.SEAT, ORGANIZATION, UUID(int=n)) for n in range(lanes + 1)]
    *stuck, new = [(lock, [pending_of(venue.place(("standing", 1)))]) for lock in locks]
    for lock, (pending,) in stuck:
        room.join([(pending, lock)])
        assert room.take(128) == (lock, [pending])
        room.put_back(lock, [(pending, lock)])
    assert [room.take(128) for _ in range(lanes - 1)] == stuck[:-1]
    assert room._next_queue() is None, "the last lane waits for a new lock queue"
    room.join([(new[1][0], new[0])])
    assert room.take(128) == new


def test_an_advisory_lock_is_tried_again_after_a_pause(
    venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    holder = Resource(ResourceKind.HOLDER, ORGANIZATION, UUID(int=1))
    room = LockQueues(lanes=2)
    for lock, pause in ((holder, POLL_SECONDS), (POOL, 0.0)):
        pending = pending_of(venue.place(("standing", 1)))
        room.join([(pending, lock)])
        room.take(128)
        room.put_back(lock, [(pending, lock)])
        assert (room._next_queue() is None) is (pause > 0)
        now += pause
        assert room.take(128) == (lock, [pending])
        room.put_back(lock, [])


def test_closed_lock_queues_are_served_to_their_end(venue: Venue) -> None:
    room = LockQueues(lanes=2)
    pending = pending_of(venue.place(("standing", 1)))
    room.join([(pending, POOL)])
    room.close()
    assert room.take(128) == (POOL, [pending])
    room.put_back(POOL, [(pending, POOL)])
    assert room.take(128) == (POOL, [pending])
    room.put_back(POOL, [])
    assert room.take(128) is None


def test_a_command_joins_the_first_of_its_lock_queues_in_lock_order(venue: Venue) -> None:
    room = LockQueues(lanes=2)
    room.join([(pending_of(venue.place(("standing", 1))), lock) for lock in (SEAT, POOL)])
    both = Footprint(frozenset({SEAT, POOL, OTHER_SEAT}))
    assert room.queue_for(ORGANIZATION, both) == min(SEAT, POOL)
    assert room.queue_for(ORGANIZATION, Footprint(frozenset({OTHER_SEAT}))) is None


@pytest.mark.parametrize(("over", "is_large"), [(0, False), (1, True)])
def test_a_command_is_large_above_the_weight_limit(over: int, is_large: bool) -> None:
    footprint = Footprint(frozenset({POOL}), weight=WEIGHT_IN_MAIN_LANE_MAX + over)
    queue = LockQueues(lanes=2).queue_for(ORGANIZATION, footprint)
    assert queue == (TestLargeCommands.OWN if is_large else None)
