"""A state machine that drives two stores with the same commands and compares them after every
step."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine, invariant

from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Needs
from holdfast.domain.group.transitions import units_by_pool
from holdfast.domain.ids import HoldId, PoolId
from holdfast.domain.orders.cancellation import places_of
from holdfast.domain.policy import HoldPolicy
from tests.contract.lines_seen import could_be_promoted, seen_queues
from tests.contract.seen import HoldSeen
from tests.contract.sides import Side
from tests.contract.venues import Plan, Venue
from tests.contract.wishes import HALL, POOLS, STALLS_CAPACITY, STEP_SECONDS, TICKET_TYPES
from tests.contract.worlds import MemoryWorld, PostgresWorld
from tests.support.auditing import assert_sound

VOIDED = "ticket.voided"
OF_ORDERS = {"order.confirmed", "order.cancelled", VOIDED}
ALL_POOLS = {**POOLS, "Stalls capacity": STALLS_CAPACITY}


class Agreeing(RuleBasedStateMachine):
    database_url: str
    policy: HoldPolicy

    def __init__(self) -> None:
        super().__init__()
        plan = Plan(POOLS, TICKET_TYPES, self.policy, HALL)
        worlds = (MemoryWorld(), PostgresWorld(self.database_url))
        self.sides = [Side(world, plan) for world in worlds]
        # Another process, with no queues in its memory.
        self.elsewhere = PostgresStore(self.database_url).connect()
        self.numbers = count(1)
        self.ended: dict[HoldId, str] = {}

    def new_id(self) -> HoldId:
        """An id larger than all before: eviction breaks ties by id, so the holds of one group keep
        their order on both sides."""
        return HoldId(UUID(int=next(self.numbers)))

    def both(self, make: Callable[[Venue], list[Command]]) -> list[tuple[Any, ...]]:
        """Run the commands that `make` builds for each venue; both sides must give the same
        answers. A second passes first: holds end at whole seconds, and which of two ends first must
        not depend on whether the real clock passed a whole second on one side."""
        self._pass_seconds(1)
        first, second = (side.run(make(side.venue)) for side in self.sides)
        assert first == second, f"{first} on memory, {second} on PostgreSQL"
        return first

    def pass_time(self, steps: int) -> None:
        self._pass_seconds(steps * STEP_SECONDS)

    def _pass_seconds(self, seconds: int) -> None:
        for side in self.sides:
            side.world.let_pass(side.venue, seconds)

    @invariant()
    def counters_are_equal_and_add_up(self) -> None:
        for name, total in ALL_POOLS.items():
            pools = [side.world.pool(side.venue.pools[name]) for side in self.sides]
            counters = {(pool.total, pool.held, pool.sold) for pool in pools}
            assert len(counters) == 1, f"{name}: {counters}"
            held, sold = pools[0].held, pools[0].sold
            assert 0 <= held + sold <= total
            for side in self.sides:
                assert side.world.lapse_units(side.venue.pools[name]) == held

    @invariant()
    def seats_and_holds_are_equal_and_match(self) -> None:
        seats, others = (side.world.seats(side.venue) for side in self.sides)
        assert seats == others
        holds, others_holds = (self._holds_of(side) for side in self.sides)
        assert holds == others_holds
        for hold_id, (hold, _) in holds.items():
            if hold.status not in {"waiting", "active"}:
                assert self.ended.setdefault(hold_id, hold.status) == hold.status, (
                    "the hold ended twice"
                )
        assert self.ended.keys() <= holds.keys()
        void = {
            (ticket.hold_id, ticket.seat)
            for order in self.sides[0].orders().values()
            for ticket in order.tickets
            if ticket.voided_version is not None
        }
        taken = Counter(
            (name, hold.status, hold_id)
            for hold_id, (hold, names) in holds.items()
            for name in names
            if name is not None
            and hold.status in {"active", "converted"}
            and (hold_id, name) not in void
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
        """Seats go by name: the ids differ between stores."""
        name_of = {place.id: name for name, place in side.venue.places.items()}
        return {
            hold_id: (
                hold._replace(seat_ids=()),
                [None if seat_id is None else name_of[seat_id] for seat_id in hold.seat_ids],
            )
            for hold_id, hold in side.world.holds(side.venue).items()
        }

    @invariant()
    def counters_match_the_holds_and_a_cart_has_one_live_hold(self) -> None:
        """Check one side only: another invariant compares the two."""
        world, venue = self.sides[0].world, self.sides[0].venue
        held: Counter[PoolId] = Counter()
        carts: Counter[str] = Counter()
        holds = {hold.key: hold for hold in world.all_holds(venue)}
        sold = Counter(
            pool_id
            for order in world.orders(venue).values()
            for place in places_of(order, holds, lambda _: True)
            if not place.ticket.is_void
            for pool_id in place.line.pool_ids
        )
        for hold in holds.values():
            if hold.cart is not None and not hold.is_over():
                carts[hold.cart] += 1
            if hold.occupies_places():
                held.update(units_by_pool(hold))
        for pool_id in venue.pools.values():
            pool = world.pool(pool_id)
            assert (pool.held, pool.sold) == (held[pool_id], sold[pool_id])
        assert max(carts.values(), default=1) == 1

    @invariant()
    def queues_are_equal_and_nobody_could_be_promoted(self) -> None:
        waitlist, other = (side.waitlist() for side in self.sides)
        queues = seen_queues(self.sides[0].venue, waitlist)
        assert queues == seen_queues(self.sides[1].venue, other)
        settled, also_settled = (side.world.is_settled(side.venue) for side in self.sides)
        assert settled is also_settled
        world, venue = self.sides[0].world, self.sides[0].venue
        waiting = [hold.id for hold in world.all_holds(venue) if hold.waiting is not None]
        assert Counter(waiting) == Counter(id_ for queue in queues for id_ in queue.hold_ids)
        assert all(queue.waiting == len(queue.hold_ids) for queue in queues)
        if waitlist and settled:
            assert not could_be_promoted(world, venue, HALL, waitlist)

    @invariant()
    def queues_in_memory_are_those_in_the_database(self) -> None:
        world, venue = self.sides[1].world, self.sides[1].venue
        assert isinstance(world, PostgresWorld)
        key = (venue.organization_id, venue.session_id)
        kept = world.store.memories.waitlists.get(key)
        if kept is None or kept.version != world.waitlist_version(venue):
            return
        waitlists = self.elsewhere.survey(
            Needs(sessions=frozenset({key}), waitlists=frozenset({key}))
        ).waitlists
        stored = waitlists[key].queues if waitlists else {}
        assert kept.waitlist.queues.keys() == stored.keys()
        for id_, queue in stored.items():
            in_memory = kept.waitlist.queues[id_]
            assert replace(in_memory, first=()) == replace(queue, first=())
            seen = len(in_memory.first if id_ in kept.lacking else queue.first)
            assert in_memory.first[:seen] == queue.first[:seen]

    @invariant()
    def orders_are_equal_and_match_the_converted_holds(self) -> None:
        orders, others = (side.orders() for side in self.sides)
        assert orders == others
        holds = self.sides[0].world.holds(self.sides[0].venue)
        paid = {hold_id: hold for hold_id, hold in holds.items() if hold.status == "converted"}
        tickets = Counter(ticket.hold_id for order in orders.values() for ticket in order.tickets)
        assert tickets == {hold_id: sum(hold.units) for hold_id, hold in paid.items()}
        for order_id, order in orders.items():
            assert {paid[hold_id].order_id for hold_id in order.hold_ids} == {order_id}

    @invariant()
    def facts_and_audit_are_equal_and_unique(self) -> None:
        facts, others = (self._named(side, side.world.facts(side.venue)) for side in self.sides)
        assert facts == others
        orders = self.sides[0].orders().values()
        void = sum(ticket.voided_version is not None for each in orders for ticket in each.tickets)
        told = Counter({fact: count for fact, count in facts.items() if fact[0] == VOIDED})
        assert told.total() == void
        facts -= told  # the tickets of a hold share their version
        assert max(facts.values(), default=1) == 1
        audit, others = (self._named(side, side.world.audit(side.venue)) for side in self.sides)
        assert audit == others
        rows = sum(count for row, count in audit.items() if row[0] != "order.refunded")
        assert rows == len(facts) - len(orders), "the audit has a row for each other fact"

    @invariant()
    def facts_of_a_hold_follow_its_versions(self) -> None:
        for side in self.sides:
            versions: dict[HoldId | None, list[int]] = {}
            for fact in side.world.facts(side.venue):
                if fact.seat_id is None and fact.type not in OF_ORDERS:
                    versions.setdefault(fact.hold_id, []).append(fact.version)
            holds = side.world.holds(side.venue)
            assert versions == {
                hold_id: list(range(1, hold.version + 1)) for hold_id, hold in holds.items()
            }

    @staticmethod
    def _named(side: Side, seen: list[Any]) -> "Counter[tuple[Any, ...]]":
        """Count the rows with the seat id, their last column, replaced by its name."""
        name_of = {place.id: name for name, place in side.venue.places.items()}
        return Counter((*row[:-1], row[-1] and name_of[row[-1]]) for row in seen)

    def teardown(self) -> None:
        self.elsewhere.close()
        for side in self.sides:
            side.close()
        assert_sound(self.database_url)
