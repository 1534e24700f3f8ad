"""Seats locked elsewhere, or always taken first by others: buyers soon get other seats or a clear
refusal, never a 503."""

import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from holdfast.domain.group.footprint import Needs, Resource, ResourceKind, Survey
from holdfast.domain.group.outcomes import Converted
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission, Limits
from holdfast.engine.group import GroupRunner
from holdfast.engine.limits import OVERTAKEN_ROUNDS_MAX
from holdfast.engine.lock_queues import LockQueues
from holdfast.engine.queue import Pending
from holdfast.ports.engine import Answer
from holdfast.ports.store import CommitState, CommitToken, Group, Store, StoreConnection
from tests.contract.asking import placed, refused, render_plainly
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld

LOCKED = "Stalls A 1"
# Much shorter than the deadline below, and long enough for any machine.
SOON_SECONDS = 60


@pytest.fixture
def patient_engine(world: World) -> Iterator[Admission]:
    """An engine whose deadline ends no wait in these tests."""
    engine = Admission(world.store, Limits(deadline_seconds=600))
    engine.start()
    yield engine
    engine.stop()


def hall_of(world: World, seats: int) -> Venue:
    return world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": seats}}, {"seat": ()})))


def refusal_of(answer: Future[Answer]) -> Refusal:
    outcome = answer.result(SOON_SECONDS).outcome
    assert isinstance(outcome, Refusal), outcome
    return outcome


def test_a_seat_does_not_wait_for_its_neighbours(world: World, patient_engine: Admission) -> None:
    """Only a policy against single seats needs to know them."""
    venue = hall_of(world, 5)
    with world.seats_locked_elsewhere(venue, "Stalls A 2", "Stalls A 4"):
        placed(patient_engine, venue.seats("Stalls A 3", wants_alternative=True))


def test_a_locked_seat_is_refused_soon_and_the_others_are_sold_at_once(
    world: World, patient_engine: Admission
) -> None:
    venue = hall_of(world, 4)
    with world.seats_locked_elsewhere(venue, LOCKED):
        waiting = [
            patient_engine.submit(venue.seats(LOCKED, holder=holder))
            for holder in (BUYER, STRANGER)
        ]
        placed(patient_engine, venue.seats("Stalls A 4"))
        assert not any(answer.done() for answer in waiting)
        for answer in waiting:
            refusal = refusal_of(answer)
            assert refusal.code is RefusalCode.LOCK_NOT_AVAILABLE
            assert refusal.message == "Seat unavailable, please try another"
            assert refusal.details == {"seat_ids": [str(venue.places[LOCKED].id)]}
    placed(patient_engine, venue.seats(LOCKED))


def test_best_available_skips_a_locked_seat(world: World, patient_engine: Admission) -> None:
    venue = hall_of(world, 4)
    with world.seats_locked_elsewhere(venue, LOCKED):
        hold = placed(patient_engine, venue.place(("seat", 3)))
        assert LOCKED not in venue.names_of(hold)
        refusal = refusal_of(patient_engine.submit(venue.place(("seat", 1), holder=STRANGER)))
        assert refusal.code is RefusalCode.LOCK_NOT_AVAILABLE
    placed(patient_engine, venue.place(("seat", 1), holder=STRANGER))


def test_a_seat_with_a_lock_queue_is_not_reported_as_sold(
    world: World, patient_engine: Admission
) -> None:
    """The plan gives the last seat to the first command, which finds it locked; whether the second
    can have it is still open."""
    venue = hall_of(world, 2)
    placed(patient_engine, venue.place(("seat", 1), holder=STRANGER))
    (last,) = (name for name, seat in world.seats(venue).items() if seat.status == "available")
    waiting, named, found = (
        Pending(command, None, time.monotonic() + 600, lambda _: None, lambda _: None)
        for command in (venue.seats(last), venue.seats(last), venue.place(("seat", 1)))
    )
    lock_queues = LockQueues(1)
    seat = Resource(ResourceKind.SEAT, venue.organization_id, venue.places[last].id)
    lock_queues.join([(waiting, seat)])
    runner = GroupRunner(world.store.connect(), [], lock_queues)
    result = runner.run([named, found])
    assert [pending for pending, _ in result.blocked] == [named]
    assert result.again == [found]


def test_a_locked_seat_proposed_to_another_command_is_not_reported_as_sold(
    world: World,
) -> None:
    venue = hall_of(world, 1)
    engine = Admission(world.store, Limits(deadline_seconds=600))
    with world.seats_locked_elsewhere(venue, LOCKED):
        answers = [
            engine.submit(command) for command in (venue.seats(LOCKED), venue.place(("seat", 1)))
        ]
        engine.start()
        codes = [refusal_of(answer).code for answer in answers]
    engine.stop()
    assert codes == 2 * [RefusalCode.LOCK_NOT_AVAILABLE]


def test_a_conversion_waits_longer_for_a_lock_than_a_new_hold(
    world: World, patient_engine: Admission
) -> None:
    venue = hall_of(world, 2)
    hold = placed(patient_engine, venue.seats(LOCKED))
    with world.seats_locked_elsewhere(venue, LOCKED):
        paying = patient_engine.submit(venue.convert(hold.id), render_plainly)
        refusal_of(patient_engine.submit(venue.seats(LOCKED, holder=STRANGER)))
        assert not paying.done()
    assert isinstance(paying.result(SOON_SECONDS).outcome, Converted)


def test_a_seat_wrongly_cached_as_free_causes_no_endless_retries(
    database_url: str,
) -> None:
    """The row was changed without updating the map."""
    world = PostgresWorld(database_url)
    venue = hall_of(world, 4)
    engine = Admission(world.store, Limits(deadline_seconds=600))
    engine.start()
    best = placed(engine, venue.place(("seat", 1))).seats[0]
    engine.submit(venue.release(next(iter(world.holds(venue))))).result(SOON_SECONDS)
    refused(engine, venue.place(("seat", 5)))  # the map has seen the release
    with world.connected() as connection:
        connection.execute(
            "UPDATE seat SET status = 'blocked', blocked_reason = 'test' WHERE id = %s",
            [best.id],
        )
    found = placed(engine, venue.place(("seat", 3))).seats
    assert best.id not in {seat.id for seat in found}
    refusal = refusal_of(engine.submit(venue.place(("seat", 1))))
    assert refusal.code is RefusalCode.LOCK_NOT_AVAILABLE
    engine.stop()
    world.close()


@dataclass
class Rival:
    """Another engine that takes the only free seat before each group locks it, and frees
    another."""

    store: Store
    venue: Venue
    names: list[str] = field(default_factory=lambda: ["Stalls A 1", "Stalls A 2"])
    groups: int = 0

    def __post_init__(self) -> None:
        self._engine = Admission(self.store, Limits(deadline_seconds=600))
        self._engine.start()
        self._hold = placed(self._engine, self.venue.seats(self.names[1], holder=STRANGER))

    def be_quicker(self) -> None:
        self.groups += 1
        before = self._hold
        self._hold = placed(self._engine, self.venue.seats(self.names[0], holder=STRANGER))
        self._engine.submit(self.venue.release(before.id)).result(SOON_SECONDS)
        self.names.reverse()

    def connect(self) -> "_OvertakenConnection":
        return _OvertakenConnection(self, self.store.connect())

    def stop(self) -> None:
        self._engine.stop()


@dataclass
class _OvertakenConnection:
    rival: Rival
    inner: StoreConnection

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        return self.inner.survey(needs, is_patient=is_patient)

    @contextmanager
    def group(self) -> Iterator[Group]:
        self.rival.be_quicker()
        with self.inner.group() as group:
            yield group

    def resolve(self, token: CommitToken) -> CommitState:
        return self.inner.resolve(token)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def rival(world: World) -> Iterator[Rival]:
    rival = Rival(world.store, hall_of(world, 2))
    yield rival
    rival.stop()


def test_a_command_that_always_loses_its_seat_is_refused_and_delays_nobody(rival: Rival) -> None:
    """The one free seat is proposed to the first command only, so the others are refused without
    waiting for it."""
    engine = Admission(rival, Limits(deadline_seconds=600))
    answers = [engine.submit(rival.venue.place(("seat", 1))) for _ in range(5)]
    engine.start()
    codes = [refusal_of(answer).code for answer in answers]
    engine.stop()
    assert codes == [RefusalCode.LOCK_NOT_AVAILABLE, *4 * [RefusalCode.NO_AVAILABLE_SEATS]]
    assert rival.groups <= OVERTAKEN_ROUNDS_MAX + 1
