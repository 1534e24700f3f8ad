"""The stores run the very same decisions: driven with the same commands, they give the same
answers and end in the same state. A Hypothesis state machine looks for the commands."""

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from holdfast.domain.commands import Ask, Command, IdempotencyKey, PlaceHold, SeatAsk
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import Holder
from tests.contract.sides import Side
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import MemoryWorld, PostgresWorld
from tests.support.auditing import assert_sound

# Time passes in steps of 100 s, so that no hold is ever near its end when it is looked at.
TTL_SECONDS = 650
STEP_SECONDS = 100
STEPS_ALIVE = TTL_SECONDS // STEP_SECONDS
STALLS_CAPACITY = 6

POOLS = {"house": 12, "adults": 8, "children": 8}
HALL = Hall(
    {"Stalls": {"A": 5, "B": 4}, "Balcony": {"C": 4}},
    {"seat": (), "junior": ("children",)},
    capacities={"Stalls": STALLS_CAPACITY},
    sold_in={"Balcony": ("seat",)},
    aisles_after=frozenset({3}),
    accessible=frozenset({"Stalls A 1"}),
    companion=frozenset({"Stalls A 2"}),
    restricted_view=frozenset({"Balcony C 4"}),
)
TICKET_TYPES = {
    "adult": ("adults", "house"),
    "child": ("children", "house"),
    "guest": ("house",),
}
SEAT_NAMES = [
    f"{block} {row} {number}"
    for block, rows in HALL.blocks.items()
    for row, width in rows.items()
    for number in range(1, width + 1)
]
PEOPLE = [Holder(user_id=f"user-{number}") for number in range(3)]
POLICIES = {
    "lenient": HoldPolicy(TTL_SECONDS, 10),
    "strict": HoldPolicy(TTL_SECONDS, 10, one_active_hold=True, refuse_orphans=True),
}

MakeAsk = Callable[[Venue], Ask | SeatAsk]
seat_names = st.lists(st.sampled_from(SEAT_NAMES), min_size=1, max_size=3, unique=True)


def admission(ticket_type: str, quantity: int) -> MakeAsk:
    return lambda venue: venue.some(ticket_type, quantity)


def best(ticket_type: str, quantity: int, block: str | None, accessible: int) -> MakeAsk:
    return lambda venue: venue.some(
        ticket_type, quantity, block=block, accessible=min(accessible, quantity)
    )


def named(names: list[str]) -> MakeAsk:
    return lambda venue: venue.these(*names)


asks = st.one_of(
    st.builds(admission, st.sampled_from(sorted(TICKET_TYPES)), st.integers(1, 6)),
    st.builds(
        best,
        st.sampled_from(sorted(HALL.seated)),
        st.integers(1, 5),
        st.sampled_from([None, None, *HALL.blocks]),
        st.sampled_from([0, 0, 0, 1]),
    ),
    st.builds(named, seat_names),
)


class Wish:
    """What somebody asks for, to be put to both venues."""

    def __init__(self, makers: list[MakeAsk], holder: Holder, wants_alternative: bool) -> None:
        self._makers = makers
        self._holder = holder
        self._wants_alternative = wants_alternative
        self.fingerprint = uuid4().bytes

    def place(self, venue: Venue, hold_id: HoldId, key: IdempotencyKey | None = None) -> PlaceHold:
        return venue.place(
            *_without_repeats([make(venue) for make in self._makers]),
            hold_id=hold_id,
            key=key,
            holder=self._holder,
            wants_alternative=self._wants_alternative,
        )


def _without_repeats(asked: list[Ask | SeatAsk]) -> list[Ask | SeatAsk]:
    """A hold names a seat once."""
    seen: set[Any] = set()
    kept: list[Ask | SeatAsk] = []
    for each in asked:
        if isinstance(each, SeatAsk):
            if seen & set(each.seat_ids):
                continue
            seen |= set(each.seat_ids)
        kept.append(each)
    return kept


wishes = st.builds(
    Wish, st.lists(asks, min_size=1, max_size=3), st.sampled_from(PEOPLE), st.booleans()
)


class StoresAgree(RuleBasedStateMachine):
    database_url: str
    policy: HoldPolicy

    holds: Bundle[HoldId] = Bundle("holds")
    keys: Bundle[tuple[UUID, Wish]] = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        plan = Plan(POOLS, TICKET_TYPES, self.policy, HALL)
        worlds = (MemoryWorld(), PostgresWorld(self.database_url))
        self.sides = [Side(world, plan) for world in worlds]
        self.numbers = count(1)
        self.step = 0
        self.placed_at: dict[HoldId, int] = {}

    def new_id(self) -> HoldId:
        """Holds end at whole seconds, and who ends first is evicted first, by id within a second.
        Rising ids make that the order of arrival on both sides, whether or not a second begins
        in between."""
        hold_id = HoldId(UUID(int=next(self.numbers)))
        self.placed_at[hold_id] = self.step
        return hold_id

    def both(self, make: Callable[[Venue], list[Command]]) -> list[tuple[Any, ...]]:
        """`make` builds the commands for a venue; both sides must answer alike."""
        first, second = (side.run(make(side.venue)) for side in self.sides)
        assert first == second
        return first

    @rule(target=holds, wish=wishes)
    def place(self, wish: Wish) -> HoldId:
        hold_id = self.new_id()
        self.both(lambda venue: [wish.place(venue, hold_id)])
        return hold_id

    @rule(target=holds, burst=st.lists(wishes, min_size=2, max_size=5))
    def place_several_at_once(self, burst: list[Wish]) -> HoldId:
        ids = [self.new_id() for _ in burst]
        self.both(
            lambda venue: [
                wish.place(venue, hold_id) for wish, hold_id in zip(burst, ids, strict=True)
            ]
        )
        return ids[-1]

    @rule(target=holds, names=seat_names, holder=st.sampled_from(PEOPLE))
    def pick_seats(self, names: list[str], holder: Holder) -> HoldId:
        hold_id = self.new_id()
        self.both(lambda venue: [venue.seats(*names, hold_id=hold_id, holder=holder)])
        return hold_id

    @rule(hold_id=holds, wish=wishes)
    def place_again_with_the_same_id(self, hold_id: HoldId, wish: Wish) -> None:
        self.both(lambda venue: [wish.place(venue, hold_id)])

    @rule(target=keys, wish=wishes)
    def place_with_a_key(self, wish: Wish) -> tuple[UUID, Wish]:
        digest, hold_id = uuid4(), self.new_id()
        self.both(lambda venue: [wish.place(venue, hold_id, _key(venue, digest, wish))])
        return digest, wish

    @rule(key=keys, other=wishes, is_same=st.booleans())
    def repeat_a_key(self, key: tuple[UUID, Wish], other: Wish, is_same: bool) -> None:
        digest, first = key
        wish, hold_id = first if is_same else other, self.new_id()
        self.both(lambda venue: [wish.place(venue, hold_id, _key(venue, digest, wish))] * 2)

    @rule(hold_id=holds)
    def release(self, hold_id: HoldId) -> None:
        self.both(lambda venue: [venue.release(hold_id)])

    @rule(hold_id=consumes(holds), wish=wishes)
    def release_and_place_at_once(self, hold_id: HoldId, wish: Wish) -> None:
        new_id = self.new_id()
        self.both(lambda venue: [venue.release(hold_id), wish.place(venue, new_id)])

    @rule(hold_ids=st.lists(holds, min_size=1, max_size=4))
    def expire(self, hold_ids: list[HoldId]) -> None:
        self.both(lambda venue: [venue.expire(*hold_ids)])

    @rule(hold_id=holds)
    def sell(self, hold_id: HoldId) -> None:
        is_alive = self.step - self.placed_at[hold_id] <= STEPS_ALIVE
        held = self.sides[0].world.holds(self.sides[0].venue).get(hold_id)
        if is_alive and held is not None and held.status == "active":
            for side in self.sides:
                side.world.sell(side.placed[hold_id])

    @rule(names=seat_names, is_lifted=st.booleans())
    def block_or_unblock(self, names: list[str], is_lifted: bool) -> None:
        self.both(lambda venue: [venue.unblock(*names) if is_lifted else venue.block(*names)])

    @rule(names=seat_names, wish=wishes)
    def block_and_place_and_unblock_at_once(self, names: list[str], wish: Wish) -> None:
        ids = [self.new_id() for _ in range(2)]
        self.both(
            lambda venue: [
                venue.block(*names),
                wish.place(venue, ids[0]),
                venue.unblock(*names),
                wish.place(venue, ids[1]),
            ]
        )

    @rule(steps=st.integers(1, 4))
    def let_time_pass(self, steps: int) -> None:
        self.step += steps
        for side in self.sides:
            side.world.let_pass(side.venue, steps * STEP_SECONDS)

    @invariant()
    def counters_are_equal_and_add_up(self) -> None:
        for name, total in {**POOLS, "Stalls capacity": STALLS_CAPACITY}.items():
            pools = [side.world.pool(side.venue.pools[name]) for side in self.sides]
            counters = {(pool.total, pool.held, pool.sold) for pool in pools}
            assert len(counters) == 1
            held, sold = pools[0].held, pools[0].sold
            assert 0 <= held + sold <= total
            for side in self.sides:
                assert side.world.lapse_units(side.venue.pools[name]) == held

    @invariant()
    def seats_and_holds_are_equal_and_belong_together(self) -> None:
        seats, others = (side.world.seats(side.venue) for side in self.sides)
        assert seats == others
        holds, others_holds = (self._holds_of(side) for side in self.sides)
        assert holds == others_holds
        taken = Counter(
            (name, status, hold_id)
            for hold_id, (status, _, _, names) in holds.items()
            for name in names
            if name is not None and status in {"active", "converted"}
        )
        assert taken == Counter(
            (name, "active" if seat.status == "held" else "converted", seat.hold_id)
            for name, seat in seats.items()
            if seat.hold_id is not None
        )
        in_stalls = [seat for name, seat in seats.items() if name.startswith("Stalls")]
        pool = self.sides[0].world.pool(self.sides[0].venue.pools["Stalls capacity"])
        assert sum(seat.hold_id is not None for seat in in_stalls) == pool.held + pool.sold

    @staticmethod
    def _holds_of(side: Side) -> dict[HoldId, tuple[Any, ...]]:
        """Seats by name."""
        name_of = {place.id: name for name, place in side.venue.places.items()}
        return {
            hold_id: (*hold[:3], [id_ and name_of[id_] for id_ in hold.seat_ids])
            for hold_id, hold in side.world.holds(side.venue).items()
        }

    @invariant()
    def facts_and_audit_are_equal_and_unique(self) -> None:
        facts, others = (self._named(side, side.world.facts(side.venue)) for side in self.sides)
        assert facts == others
        assert max(others.values(), default=1) == 1
        audit, others = (self._named(side, side.world.audit(side.venue)) for side in self.sides)
        assert audit == others
        # Seats of a hold are told of one by one; the audit log names the hold.
        of_seats_of_holds = sum(fact[1] is not None and fact[-1] is not None for fact in facts)
        assert audit.total() == len(facts) - of_seats_of_holds

    @staticmethod
    def _named(side: Side, seen: list[Any]) -> "Counter[tuple[Any, ...]]":
        """The seat comes last, in both kinds of rows."""
        name_of = {place.id: name for name, place in side.venue.places.items()}
        return Counter((*row[:-1], row[-1] and name_of[row[-1]]) for row in seen)

    def teardown(self) -> None:
        for side in self.sides:
            side.close()
        assert_sound(self.database_url)


def _key(venue: Venue, digest: UUID, wish: Wish) -> IdempotencyKey:
    return IdempotencyKey(venue.organization_id, digest, wish.fingerprint)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_memory_and_postgresql_give_the_same_answers(fresh_database_url: str, policy: str) -> None:
    StoresAgree.database_url = fresh_database_url
    StoresAgree.policy = POLICIES[policy]
    run_state_machine_as_test(
        StoresAgree,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
