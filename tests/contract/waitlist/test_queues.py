"""Compare a strict waitlist with a plain list: after every step the same parties hold places and
wait in the same order. With overtaking allowed, check its limit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.domain.group.outcomes import Placed, Waiting
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from tests.contract.asking import ask
from tests.contract.seen import World
from tests.contract.venues import Plan, Venue

TOTAL = 5
LASTS_SECONDS = 100
POLICY = HoldPolicy(LASTS_SECONDS, waitlist=True, waiting_seconds=86_400, waiting_places_max=50)


@dataclass
class Oracle:
    """One pool. A numbered party holds places or waits for them."""

    held: dict[int, int] = field(default_factory=dict)
    waitlist: list[tuple[int, int]] = field(default_factory=list)

    @property
    def free(self) -> int:
        return TOTAL - sum(self.held.values())

    def come(self, party: int, size: int) -> None:
        if size <= self.free and not self.waitlist:
            self.held[party] = size
        elif size <= TOTAL:
            self.waitlist.append((party, size))

    def go(self, *parties: int) -> None:
        for party in parties:
            self.held.pop(party, None)
        self.waitlist = [each for each in self.waitlist if each[0] not in parties]
        self._serve()

    def change(self, party: int, size: int) -> None:
        """Shrinking always works, growing only while nobody waits; growing on the waitlist goes to
        its end."""
        if party in self.held:
            more = size - self.held[party]
            if more <= 0 or (more <= self.free and not self.waitlist):
                self.held[party] = size
        elif party in dict(self.waitlist):
            if size > TOTAL:
                return
            if size <= dict(self.waitlist)[party]:
                self.waitlist = [(each, size if each == party else n) for each, n in self.waitlist]
            else:
                self.waitlist = [each for each in self.waitlist if each[0] != party]
                self.waitlist.append((party, size))
        else:
            self.come(party, size)
        self._serve()

    def _serve(self) -> None:
        while self.waitlist and self.waitlist[0][1] <= self.free:
            party, size = self.waitlist.pop(0)
            self.held[party] = size


@dataclass
class Crowd:
    """The same parties on a store, each with its own cart."""

    world: World
    engine: Admission
    venue: Venue
    newest: dict[int, HoldId] = field(default_factory=dict)

    def change(self, party: int, size: int) -> None:
        holder = Holder(user_id=f"user-{party}")
        items = {"a": ("standing", size)}
        outcome = ask(self.engine, self.venue.fill(f"cart-{party}", items, holder=holder))
        if isinstance(outcome, Placed | Waiting):
            self.newest[party] = outcome.hold.id

    def go(self, party: int) -> None:
        ask(self.engine, self.venue.empty(f"cart-{party}"))

    def lapse(self, *parties: int) -> None:
        self.world.let_pass(self.venue, LASTS_SECONDS + 1)
        if parties:
            ask(self.engine, self.venue.expire(*(self.newest[party] for party in parties)))

    def seen(self) -> tuple[dict[int, int], list[tuple[int, int]]]:
        holds = {party: self.world.hold(self.venue, id_) for party, id_ in self.newest.items()}
        held = {
            party: hold.quantity
            for party, hold in holds.items()
            if hold.status is HoldStatus.ACTIVE
        }
        places = sorted(
            (self.world.position(hold), party, hold.quantity)
            for party, hold in holds.items()
            if hold.status is HoldStatus.WAITING
        )
        return held, [(party, size) for _, party, size in places]


parties = st.integers(1, 6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("change"), parties, st.integers(1, TOTAL + 1)),
        st.tuples(st.just("change"), parties, st.integers(1, TOTAL)),
        st.tuples(st.just("go"), parties, st.just(0)),
        st.tuples(st.just("lapse"), st.just(0), st.just(0)),
    ),
    min_size=1,
    max_size=20,
)
Steps = list[tuple[str, int, int]]
Test = TypeVar("Test", bound=Callable[..., None])


def examples(count: int) -> Callable[[Test], Test]:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


def follow(world: World, engine: Admission, taken: Steps) -> None:
    venue = world.build(Plan({"floor": TOTAL}, {"standing": ("floor",)}, POLICY))
    crowd, oracle = Crowd(world, engine, venue), Oracle()
    for step, party, size in taken:
        if step == "change":
            crowd.change(party, size)
            oracle.change(party, size)
        elif step == "go":
            crowd.go(party)
            oracle.go(party)
        else:
            lapsing = tuple(oracle.held)
            crowd.lapse(*lapsing)
            oracle.go(*lapsing)
        assert crowd.seen() == (oracle.held, oracle.waitlist)
        assert world.pool(venue.pools["floor"]).held == TOTAL - oracle.free
    assert world.is_settled(venue)


@pytest.mark.parametrize("world", ["memory"], indirect=True)
@examples(150)
@given(taken=steps)
def test_a_strict_waitlist_is_like_a_list(world: World, engine: Admission, taken: Steps) -> None:
    follow(world, engine, taken)


@pytest.mark.parametrize("world", ["postgres"], indirect=True)
@examples(15)
@given(taken=steps)
def test_a_strict_waitlist_is_like_a_list_in_the_database(
    world: World, engine: Admission, taken: Steps
) -> None:
    follow(world, engine, taken)


@pytest.mark.parametrize("world", ["memory"], indirect=True)
@pytest.mark.parametrize("allowed", [1, 2])
@examples(75)
@given(sizes=st.lists(st.integers(1, TOTAL), min_size=5, max_size=15), data=st.data())
def test_nobody_is_overtaken_more_often_than_allowed(
    world: World, engine: Admission, allowed: int, sizes: list[int], data: st.DataObject
) -> None:
    policy = HoldPolicy(3600, waitlist=True, waiting_passes_max=allowed)
    venue = world.build(Plan({"floor": TOTAL}, {"standing": ("floor",)}, policy))
    order: list[HoldId] = []
    passed: dict[HoldId, int] = {}
    served: set[HoldId] = set()

    def look() -> None:
        """Count an overtake for each party still waiting when a later one gets places."""
        holds = {id_: world.hold(venue, id_) for id_ in order}
        waiting = [id_ for id_ in order if holds[id_].status is HoldStatus.WAITING]
        for id_ in order:
            if holds[id_].held_at is not None and id_ not in served:
                served.add(id_)
                for earlier in waiting:
                    if order.index(earlier) < order.index(id_):
                        passed[earlier] = passed.get(earlier, 0) + 1

    for number, size in enumerate(sizes):
        holder = Holder(user_id=f"user-{number}")
        outcome = ask(engine, venue.place(("standing", size), holder=holder))
        assert isinstance(outcome, Placed | Waiting)
        order.append(outcome.hold.id)
        look()
        if data.draw(st.booleans()):
            ask(engine, venue.release(data.draw(st.sampled_from(order))))
            look()
        assert max(passed.values(), default=0) <= allowed
