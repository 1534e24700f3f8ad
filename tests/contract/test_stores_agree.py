"""The stores run the very same decisions: driven with the same commands, they give the same
answers and end in the same state. A Hypothesis state machine looks for the commands."""

from collections import Counter
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

from holdfast.domain.commands import Command, IdempotencyKey
from holdfast.domain.ids import HoldId
from holdfast.domain.outcomes import Expired, Outcome, Placed, Released
from holdfast.domain.refusals import Refusal
from holdfast.engine import Admission
from holdfast.ports.engine import Answer
from tests.contract.venues import Venue
from tests.contract.worlds import MemoryWorld, PostgresWorld, World

POOLS = {"house": 12, "adults": 8, "children": 8}
TICKET_TYPES = {
    "adult": ("adults", "house"),
    "child": ("children", "house"),
    "guest": ("house",),
}
# Time passes in steps of 100 s, so that no hold is ever near its end when it is looked at.
TTL_SECONDS = 650
STEP_SECONDS = 100

asks = st.lists(
    st.tuples(st.sampled_from(sorted(TICKET_TYPES)), st.integers(1, 6)), min_size=1, max_size=3
)


def render(outcome: Outcome) -> bytes:
    return repr(shown(Answer(outcome))).encode()


def shown(answer: Answer) -> tuple[Any, ...]:
    """What two stores must agree on: everything but the moments and the ids of their venues."""
    match answer.outcome:
        case Placed(hold=hold, is_repeat=is_repeat):
            lines = [line.quantity for line in hold.lines]
            return ("placed", hold.id, hold.status, hold.version, lines, is_repeat)
        case Released(hold=hold):
            return ("released", hold.id, hold.status, hold.version)
        case Expired() as expired:
            return ("expired", sorted(expired.hold_ids))
        case Refusal(code=code, details=details):
            return ("refused", code, dict(details))
        case _:
            return ("replayed", answer.body)


class Side:
    """One store with its engine and venue."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.venue = world.venue(POOLS, TICKET_TYPES, TTL_SECONDS, quantity_max=10)
        self.engine = Admission(world.store)
        self.engine.start()

    def run(self, commands: list[Command]) -> list[tuple[Any, ...]]:
        futures = [self.engine.submit(command, render) for command in commands]
        return [shown(future.result(20)) for future in futures]


class StoresAgree(RuleBasedStateMachine):
    database_url: str

    holds: Bundle[HoldId] = Bundle("holds")
    keys: Bundle[tuple[Any, bytes]] = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        self.sides = [Side(MemoryWorld()), Side(PostgresWorld(self.database_url))]
        self.numbers = count(1)

    def new_id(self) -> HoldId:
        """Holds end at whole seconds, and who ends first is evicted first, by id within a second.
        Rising ids make that the order of arrival on both sides, whether or not a second begins
        in between."""
        return HoldId(UUID(int=next(self.numbers)))

    def both(self, make: Any) -> list[tuple[Any, ...]]:
        """`make` builds the commands for a venue; both sides must answer alike."""
        first, second = (side.run(make(side.venue)) for side in self.sides)
        assert first == second
        return first

    @rule(target=holds, wanted=asks)
    def place(self, wanted: list[tuple[str, int]]) -> HoldId:
        hold_id = self.new_id()
        self.both(lambda venue: [venue.place(*wanted, hold_id=hold_id)])
        return hold_id

    @rule(target=holds, burst=st.lists(asks, min_size=2, max_size=5))
    def place_several_at_once(self, burst: list[list[tuple[str, int]]]) -> HoldId:
        ids = [self.new_id() for _ in burst]
        self.both(
            lambda venue: [
                venue.place(*wanted, hold_id=hold_id)
                for wanted, hold_id in zip(burst, ids, strict=True)
            ]
        )
        return ids[-1]

    @rule(hold_id=holds, wanted=asks)
    def place_again_with_the_same_id(self, hold_id: HoldId, wanted: list[tuple[str, int]]) -> None:
        self.both(lambda venue: [venue.place(*wanted, hold_id=hold_id)])

    @rule(target=keys, wanted=asks)
    def place_with_a_key(self, wanted: list[tuple[str, int]]) -> tuple[Any, bytes]:
        key = (uuid4(), repr(wanted).encode())
        hold_id = self.new_id()
        self.both(lambda venue: [venue.place(*wanted, hold_id=hold_id, key=_key(venue, key))])
        return key

    @rule(key=keys, wanted=asks)
    def repeat_a_key(self, key: tuple[Any, bytes], wanted: list[tuple[str, int]]) -> None:
        repeated = (key[0], repr(wanted).encode())
        hold_id = self.new_id()
        self.both(
            lambda venue: [venue.place(*wanted, hold_id=hold_id, key=_key(venue, repeated))] * 2
        )

    @rule(hold_id=holds)
    def release(self, hold_id: HoldId) -> None:
        self.both(lambda venue: [venue.release(hold_id)])

    @rule(hold_id=consumes(holds), wanted=asks)
    def release_and_place_at_once(self, hold_id: HoldId, wanted: list[tuple[str, int]]) -> None:
        new_id = self.new_id()
        self.both(lambda venue: [venue.release(hold_id), venue.place(*wanted, hold_id=new_id)])

    @rule(hold_ids=st.lists(holds, min_size=1, max_size=4))
    def expire(self, hold_ids: list[HoldId]) -> None:
        self.both(lambda venue: [venue.expire(*hold_ids)])

    @rule(steps=st.integers(1, 4))
    def let_time_pass(self, steps: int) -> None:
        for side in self.sides:
            side.world.let_pass(side.venue, steps * STEP_SECONDS)

    @invariant()
    def counters_are_equal_and_add_up(self) -> None:
        for name, total in POOLS.items():
            pools = [side.world.pool(side.venue.pools[name]) for side in self.sides]
            counters = {(pool.total, pool.held, pool.sold) for pool in pools}
            assert len(counters) == 1
            held = pools[0].held
            assert 0 <= held <= total
            for side in self.sides:
                assert side.world.lapse_units(side.venue.pools[name]) == held

    @invariant()
    def facts_and_audit_are_equal_and_unique(self) -> None:
        facts = [side.world.facts(side.venue) for side in self.sides]
        assert Counter(facts[0]) == Counter(facts[1])
        assert max(Counter(facts[1]).values(), default=1) == 1
        audit = [Counter(side.world.audit(side.venue)) for side in self.sides]
        assert audit[0] == audit[1]
        assert audit[0].total() == len(facts[0])

    def teardown(self) -> None:
        for side in self.sides:
            side.engine.stop()
            side.world.close()


def _key(venue: Venue, key: tuple[Any, bytes]) -> IdempotencyKey:
    return IdempotencyKey(venue.organization_id, *key)


@pytest.fixture
def machine(database_url: str) -> type[StoresAgree]:
    StoresAgree.database_url = database_url
    return StoresAgree


def test_memory_and_postgresql_give_the_same_answers(machine: type[StoresAgree]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
