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
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from holdfast.domain.commands import Command, IdempotencyKey, Receipt
from holdfast.domain.ids import HoldId
from holdfast.domain.order import Attendee
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import Holder
from tests.contract.seen import HoldSeen
from tests.contract.sides import Side
from tests.contract.venues import Plan, Venue, a_purchase
from tests.contract.wishes import (
    HALL,
    PEOPLE,
    POLICIES,
    POOLS,
    STALLS_CAPACITY,
    STEP_SECONDS,
    TICKET_TYPES,
    Wish,
    seat_names,
    wishes,
)
from tests.contract.worlds import MemoryWorld, PostgresWorld
from tests.support.auditing import assert_sound

ALL_POOLS = {**POOLS, "Stalls capacity": STALLS_CAPACITY}
holders = st.sampled_from([None, None, None, *PEOPLE])


class StoresAgree(RuleBasedStateMachine):
    database_url: str
    policy: HoldPolicy

    holds: Bundle[HoldId] = Bundle("holds")
    taken: Bundle[HoldId] = Bundle("taken")  # holds that were surely placed, of one person
    keys: Bundle[tuple[UUID, Wish]] = Bundle("keys")
    any_hold = st.one_of(taken, taken, holds)

    def __init__(self) -> None:
        super().__init__()
        plan = Plan(POOLS, TICKET_TYPES, self.policy, HALL)
        worlds = (MemoryWorld(), PostgresWorld(self.database_url))
        self.sides = [Side(world, plan) for world in worlds]
        self.numbers = count(1)
        self.sold = dict.fromkeys(ALL_POOLS, 0)
        self.ended: dict[HoldId, str] = {}

    def new_id(self) -> HoldId:
        """Holds end at whole seconds, and who ends first is evicted first, by id within a second.
        Rising ids make that the order of arrival on both sides, whether or not a second begins
        in between."""
        return HoldId(UUID(int=next(self.numbers)))

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

    @rule(target=taken, quantity=st.integers(1, 2))
    def take_something(self, quantity: int) -> "HoldId | MultipleResults[HoldId]":
        hold_id = self.new_id()
        ((outcome, *_),) = self.both(
            lambda venue: [venue.place(("guest", quantity), hold_id=hold_id, holder=PEOPLE[0])]
        )
        return hold_id if outcome == "placed" else multiple()

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

    @rule(
        hold_id=any_hold,
        seconds=st.sampled_from([100, 200, 600]),
        holder=holders,
        is_operator=st.booleans(),
    )
    def extend(
        self, hold_id: HoldId, seconds: int, holder: Holder | None, is_operator: bool
    ) -> None:
        self.both(
            lambda venue: [venue.extend(hold_id, seconds, holder=holder, is_operator=is_operator)]
        )

    @rule(hold_ids=st.lists(any_hold, min_size=1, max_size=4))
    def warn(self, hold_ids: list[HoldId]) -> None:
        self.both(lambda venue: [venue.warn(*hold_ids)])

    @rule(hold_ids=st.lists(any_hold, min_size=1, max_size=3, unique=True), holder=holders)
    def check_out(self, hold_ids: list[HoldId], holder: Holder | None) -> None:
        self.both(lambda venue: [venue.check_out(*hold_ids, holder=holder)] * 2)

    @rule(
        hold_ids=st.lists(any_hold, min_size=1, max_size=3, unique=True),
        holder=holders,
        attendees=st.lists(st.sampled_from([None, Attendee("Ada")]), max_size=3),
        is_in_checkout=st.booleans(),
    )
    def convert(
        self,
        hold_ids: list[HoldId],
        holder: Holder | None,
        attendees: list[Attendee | None],
        is_in_checkout: bool,
    ) -> None:
        first, again = a_purchase(*attendees), a_purchase()

        def commands(venue: Venue) -> list[Command]:
            checkout_id = venue.check_out(*hold_ids).checkout_id if is_in_checkout else None
            return [
                venue.convert(*hold_ids, holder=holder, purchase=purchase, checkout_id=checkout_id)
                for purchase in (first, again)
            ]

        self.both(commands)

    @rule(target=holds, wish=wishes, other=wishes, is_reaped=st.booleans())
    def pay_late(self, wish: Wish, other: Wish, is_reaped: bool) -> HoldId:
        """Somebody else may have the places by then."""
        late, next_id, purchase = self.new_id(), self.new_id(), a_purchase()
        self.both(lambda venue: [wish.place(venue, late)])
        self._pass(7)
        self.both(lambda venue: [other.place(venue, next_id)])
        if is_reaped:
            self.both(lambda venue: [venue.expire(late)])
        self.both(lambda venue: [venue.convert(late, purchase=purchase)] * 2)
        return next_id

    @rule(hold_id=any_hold, wish=wishes)
    def convert_by_a_message_that_comes_twice(self, hold_id: HoldId, wish: Wish) -> None:
        event_id, purchase, new_id = uuid4(), a_purchase(), self.new_id()

        def commands(venue: Venue) -> list[Command]:
            receipt = Receipt("orders", event_id)
            key = IdempotencyKey(venue.organization_id, event_id, b"", receipt)
            paid = venue.convert(hold_id, purchase=purchase, key=key)
            return [paid, wish.place(venue, new_id), paid]

        self.both(commands)

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
        self._pass(steps)

    @rule()
    def let_time_pass_until_somebody_is_warned(self) -> None:
        self._pass(6)

    def _pass(self, steps: int) -> None:
        for side in self.sides:
            side.world.let_pass(side.venue, steps * STEP_SECONDS)

    @invariant()
    def counters_are_equal_and_add_up(self) -> None:
        for name, total in ALL_POOLS.items():
            pools = [side.world.pool(side.venue.pools[name]) for side in self.sides]
            counters = {(pool.total, pool.held, pool.sold) for pool in pools}
            assert len(counters) == 1
            held, sold = pools[0].held, pools[0].sold
            assert 0 <= held + sold <= total
            assert sold >= self.sold[name], "what is sold stays sold"
            self.sold[name] = sold
            for side in self.sides:
                assert side.world.lapse_units(side.venue.pools[name]) == held

    @invariant()
    def seats_and_holds_are_equal_and_belong_together(self) -> None:
        seats, others = (side.world.seats(side.venue) for side in self.sides)
        assert seats == others
        holds, others_holds = (self._holds_of(side) for side in self.sides)
        assert holds == others_holds
        for hold_id, (hold, _) in holds.items():
            if hold.status != "active":
                assert self.ended.setdefault(hold_id, hold.status) == hold.status, "one end, once"
        assert self.ended.keys() <= holds.keys()
        taken = Counter(
            (name, hold.status, hold_id)
            for hold_id, (hold, names) in holds.items()
            for name in names
            if name is not None and hold.status in {"active", "converted"}
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
    def _holds_of(side: Side) -> dict[HoldId, tuple[HoldSeen, list[str | None]]]:
        """With the names of the seats instead of their ids."""
        name_of = {place.id: name for name, place in side.venue.places.items()}
        return {
            hold_id: (
                hold._replace(seat_ids=()),
                [None if seat_id is None else name_of[seat_id] for seat_id in hold.seat_ids],
            )
            for hold_id, hold in side.world.holds(side.venue).items()
        }

    @invariant()
    def orders_are_equal_and_what_was_sold(self) -> None:
        orders, others = (side.orders() for side in self.sides)
        assert orders == others
        holds = self.sides[0].world.holds(self.sides[0].venue)
        paid = {hold_id: hold for hold_id, hold in holds.items() if hold.status == "converted"}
        tickets = Counter(ticket[1] for order in orders.values() for ticket in order.tickets)
        assert tickets == {hold_id: sum(hold.units) for hold_id, hold in paid.items()}
        for order_id, order in orders.items():
            assert {paid[hold_id].order_id for hold_id in order.hold_ids} == {order_id}

    @invariant()
    def facts_and_audit_are_equal_and_unique(self) -> None:
        facts, others = (self._named(side, side.world.facts(side.venue)) for side in self.sides)
        assert facts == others
        assert max(others.values(), default=1) == 1
        audit, others = (self._named(side, side.world.audit(side.venue)) for side in self.sides)
        assert audit == others
        orders = sum(fact[0] == "order.confirmed" for fact in facts)
        assert audit.total() == len(facts) - orders, "the audit has a row for each other fact"

    @invariant()
    def each_hold_is_told_of_in_the_order_of_its_versions(self) -> None:
        for side in self.sides:
            told: dict[HoldId | None, list[int]] = {}
            for fact in side.world.facts(side.venue):
                if fact.seat_id is None and fact.type != "order.confirmed":
                    told.setdefault(fact.hold_id, []).append(fact.version)
            holds = side.world.holds(side.venue)
            assert told == {
                hold_id: list(range(1, hold.version + 1)) for hold_id, hold in holds.items()
            }

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
