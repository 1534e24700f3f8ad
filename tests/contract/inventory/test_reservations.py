"""Reservations of the Inventory Service: their states, repeats and any order of the calls."""

from dataclasses import replace
from itertools import permutations
from uuid import uuid4

import pytest

from holdfast.domain.group.origin import IdempotencyKey, Receipt
from holdfast.domain.group.outcomes import Reserved
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.inventory.reservation import FOREVER, ReservedLine
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, in_one_group, placed, refused
from tests.contract.inventory.calls import Calls, repeated, reserved
from tests.contract.seen import World
from tests.contract.venues import Venue


@pytest.fixture
def venue(world: World) -> Venue:
    pools = {"floor": 10, "seats": 20, "hall": 25}
    types = {"standing": ("floor", "hall"), "sitting": ("seats", "hall")}
    return world.venue(pools, types)


@pytest.fixture
def calls(venue: Venue) -> Calls:
    return Calls(venue)


def counts(world: World, venue: Venue, pool: str) -> tuple[int, int]:
    found = world.pool(venue.pools[pool])
    return found.held, found.sold


class TestHold:
    def test_tickets_are_held_until_somebody_says_otherwise(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        hold = reserved(engine, calls.hold(standing=2, sitting=3))
        assert (hold.id, hold.status, hold.expires_at) == (calls.hold_id, "active", FOREVER)
        assert (hold.warn_at, hold.holder.email) == (None, None)
        for pool, units in (("floor", 2), ("seats", 3), ("hall", 5)):
            assert counts(world, calls.venue, pool) == (units, 0)
            assert world.lapse(calls.venue.pools[pool]) == {FOREVER: units}
        stored = world.hold(calls.venue, hold.id)
        assert stored == hold

    def test_a_repeat_changes_nothing(self, world: World, engine: Admission, calls: Calls) -> None:
        first = reserved(engine, calls.hold(standing=2, sitting=3))
        assert repeated(engine, calls.hold(standing=2, sitting=3)) == first
        assert repeated(engine, calls.hold(sitting=3, standing=2)) == first, "in any order"
        assert counts(world, calls.venue, "hall") == (5, 0)

    @pytest.mark.parametrize("other", [{"standing": 3}, {"standing": 2, "sitting": 1}])
    def test_other_lines_under_the_same_id_are_refused(
        self, engine: Admission, calls: Calls, other: dict[str, int]
    ) -> None:
        reserved(engine, calls.hold(standing=2))
        refusal = refused(engine, calls.hold(**other))
        assert refusal.code is RefusalCode.IDEMPOTENCY_KEY_REUSED

    def test_all_lines_or_none(self, world: World, engine: Admission, calls: Calls) -> None:
        refusal = refused(engine, calls.hold(sitting=3, standing=11))
        assert refusal.details == {"available_quantity": 10}
        assert counts(world, calls.venue, "seats") == (0, 0)
        assert world.holds(calls.venue) == {}

    def test_ticket_types_share_a_pool(self, engine: Admission, calls: Calls) -> None:
        """The first type that is short is counted after those before it."""
        refusal = refused(engine, calls.hold(standing=10, sitting=16))
        assert refusal.details == {"available_quantity": 15}

    def test_a_refused_hold_may_come_again(self, engine: Admission, calls: Calls) -> None:
        other = Calls(calls.venue)
        reserved(engine, other.hold(standing=9))
        assert refused(engine, calls.hold(standing=2)).details == {"available_quantity": 1}
        reserved(engine, other.release())
        reserved(engine, calls.hold(standing=2))

    def test_an_unknown_session_or_ticket_type_is_refused(
        self, engine: Admission, calls: Calls
    ) -> None:
        command = calls.hold(standing=1)
        unknown = replace(command, session_id=SessionId(uuid4()))
        assert refused(engine, unknown).code is RefusalCode.INVALID_SESSION
        lines = (*command.lines, ReservedLine(TicketTypeId(uuid4()), 1))
        other = refused(engine, replace(command, lines=lines))
        assert other.code is RefusalCode.INVALID_TICKET_TYPE

    def test_the_number_of_lines_and_tickets_is_limited(self, calls: Calls) -> None:
        types = [ReservedLine(TicketTypeId(uuid4()), 1) for _ in range(51)]
        command = calls.hold(standing=1)
        for lines in (
            (),
            types,
            types[:1] * 2,
            [replace(types[0], quantity=0)],
            [replace(types[0], quantity=100_001)],
        ):
            with pytest.raises(InvalidValue):
                replace(command, lines=tuple(lines))
        replace(command, lines=tuple(types[:50]))

    def test_a_hold_of_this_service_is_no_reservation(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        """Somebody who sells from the same database cannot lose a hold by these calls."""
        placed(engine, calls.venue.place(("standing", 2), hold_id=calls.hold_id))
        for command in (calls.hold(standing=2), calls.release(), calls.commit(standing=2)):
            assert refused(engine, command).code is RefusalCode.IDEMPOTENCY_KEY_REUSED
        assert counts(world, calls.venue, "floor") == (2, 0)


class TestRelease:
    def test_tickets_come_back(self, world: World, engine: Admission, calls: Calls) -> None:
        reserved(engine, calls.hold(standing=2, sitting=3))
        hold = reserved(engine, calls.release())
        assert (hold.status, calls.shown(hold)) == ("cancelled", {})
        assert repeated(engine, calls.release()) == hold
        for pool in calls.venue.pools:
            assert counts(world, calls.venue, pool) == (0, 0)
            assert world.lapse_units(calls.venue.pools[pool]) == 0

    def test_a_release_before_its_hold_wins(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        hold = reserved(engine, calls.release())
        assert world.hold(calls.venue, hold.id) == hold
        assert (hold.status, hold.lines, hold.quantity) == ("cancelled", (), 0)
        refusal = refused(engine, calls.hold(standing=2))
        assert refusal.code is RefusalCode.INVALID_HOLD_STATE
        assert refusal.details == {"current_status": "released"}
        assert repeated(engine, calls.release()) == hold
        assert counts(world, calls.venue, "floor") == (0, 0)

    def test_sold_tickets_are_not_released(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        reserved(engine, calls.hold(standing=2))
        reserved(engine, calls.commit(standing=2))
        assert refused(engine, calls.release()).details == {"current_status": "committed"}
        assert counts(world, calls.venue, "floor") == (0, 2)

    def test_another_session_is_refused(self, engine: Admission, calls: Calls) -> None:
        reserved(engine, calls.hold(standing=2))
        for session_id in (SessionId(uuid4()), calls.venue.session_id):
            command = replace(calls.release(), session_id=session_id)
            outcome = ask(engine, command)
            is_own = session_id == calls.venue.session_id
            assert isinstance(outcome, Reserved if is_own else Refusal)

    def test_an_unknown_session_is_refused(self, engine: Admission, calls: Calls) -> None:
        command = replace(calls.release(), session_id=SessionId(uuid4()))
        assert refused(engine, command).code is RefusalCode.INVALID_SESSION


class TestCommit:
    def test_tickets_are_sold(self, world: World, engine: Admission, calls: Calls) -> None:
        reserved(engine, calls.hold(standing=2, sitting=3))
        hold = reserved(engine, calls.commit(standing=2, sitting=3))
        assert (hold.status, hold.order_id) == ("converted", None)
        assert hold.confirmed_at is not None
        assert repeated(engine, calls.commit(sitting=3, standing=2)) == hold
        assert counts(world, calls.venue, "hall") == (0, 5)
        assert world.lapse_units(calls.venue.pools["hall"]) == 0
        assert world.hold(calls.venue, hold.id) == hold
        assert repeated(engine, calls.hold(standing=2, sitting=3)) == hold

    def test_fewer_tickets_are_sold_than_were_held(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        reserved(engine, calls.hold(standing=2, sitting=3))
        hold = reserved(engine, calls.commit(sitting=1))
        assert calls.shown(hold) == {"sitting": 1}
        assert world.hold(calls.venue, hold.id) == hold
        assert counts(world, calls.venue, "floor") == (0, 0)
        assert counts(world, calls.venue, "hall") == (0, 1)

    def test_cancelled_tickets_are_for_sale_again(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        reserved(engine, calls.hold(standing=4, sitting=3))
        sold = reserved(engine, calls.commit(standing=4, sitting=3))
        fewer = reserved(engine, calls.commit(standing=1, sitting=3))
        assert calls.shown(fewer) == {"standing": 1, "sitting": 3}
        assert fewer.confirmed_at == sold.confirmed_at
        assert counts(world, calls.venue, "floor") == (0, 1)
        none = reserved(engine, calls.commit())
        assert (none.status, none.lines, none.quantity) == ("converted", (), 0)
        assert world.hold(calls.venue, none.id) == none
        assert repeated(engine, calls.commit()) == none
        assert counts(world, calls.venue, "hall") == (0, 0)

    def test_a_late_commit_brings_nothing_back(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        reserved(engine, calls.hold(standing=4, sitting=3))
        reserved(engine, calls.commit(standing=1))
        hold = repeated(engine, calls.commit(standing=4, sitting=3))
        assert calls.shown(hold) == {"standing": 1}
        less = reserved(engine, calls.commit())
        assert repeated(engine, calls.commit(standing=4, sitting=3)) == less
        assert counts(world, calls.venue, "hall") == (0, 0)

    def test_the_hold_is_recognized_after_fewer_tickets_are_left(
        self, engine: Admission, calls: Calls
    ) -> None:
        reserved(engine, calls.hold(standing=4, sitting=3))
        hold = reserved(engine, calls.commit(standing=1))
        assert repeated(engine, calls.hold(standing=4, sitting=3)) == hold
        for other in ({"standing": 1}, {"standing": 4}, {"standing": 4, "sitting": 4}):
            refusal = refused(engine, calls.hold(**other))
            assert refusal.code is RefusalCode.IDEMPOTENCY_KEY_REUSED

    @pytest.mark.parametrize("is_shrunk", [False, True])
    def test_more_than_was_reserved_is_refused(
        self, world: World, engine: Admission, calls: Calls, is_shrunk: bool
    ) -> None:
        reserved(engine, calls.hold(standing=4))
        if is_shrunk:
            reserved(engine, calls.commit(standing=1))
        for more in ({"standing": 5}, {"standing": 1, "sitting": 1}):
            refusal = refused(engine, calls.commit(**more))
            assert refusal.code is RefusalCode.IDEMPOTENCY_KEY_REUSED
        assert sum(counts(world, calls.venue, "floor")) == (1 if is_shrunk else 4)

    def test_a_commit_before_its_hold_is_refused(self, engine: Admission, calls: Calls) -> None:
        assert refused(engine, calls.commit(standing=1)).code is RefusalCode.HOLD_NOT_FOUND
        reserved(engine, calls.hold(standing=1))
        reserved(engine, calls.commit(standing=1))

    def test_released_tickets_are_not_sold(self, engine: Admission, calls: Calls) -> None:
        reserved(engine, calls.hold(standing=1))
        reserved(engine, calls.release())
        assert refused(engine, calls.commit(standing=1)).details == {"current_status": "released"}

    def test_an_unknown_session_or_ticket_type_is_refused(
        self, engine: Admission, calls: Calls
    ) -> None:
        command = calls.commit(standing=1)
        unknown = replace(command, session_id=SessionId(uuid4()))
        assert refused(engine, unknown).code is RefusalCode.INVALID_SESSION
        reserved(engine, calls.hold(standing=1))
        lines = (*command.lines, ReservedLine(TicketTypeId(uuid4()), 1))
        other = refused(engine, replace(command, lines=lines))
        assert other.code is RefusalCode.INVALID_TICKET_TYPE

    def test_many_lines_are_remembered(self, world: World, engine: Admission) -> None:
        names = [f"type{number}" for number in range(50)]
        venue = world.venue({"floor": 10_000_000}, dict.fromkeys(names, ("floor",)))
        calls = Calls(venue)
        quantities = {name: 99_951 + number for number, name in enumerate(names)}
        reserved(engine, calls.hold(**quantities))
        reserved(engine, calls.commit(type7=1))
        repeated(engine, calls.hold(**quantities))
        assert counts(world, venue, "floor") == (0, 1)


class TestAnyOrder:
    @pytest.mark.parametrize("order", list(permutations(range(4))))
    def test_a_hold_that_ends_leaves_nothing(
        self, world: World, engine: Admission, calls: Calls, order: tuple[int, ...]
    ) -> None:
        """Both calls twice, in every order."""
        sent = [calls.hold(standing=2), calls.hold(standing=2), calls.release(), calls.release()]
        for number in order:
            ask(engine, sent[number])
        assert world.holds(calls.venue)[calls.hold_id].status == "cancelled"
        assert counts(world, calls.venue, "floor") == (0, 0)

    @pytest.mark.parametrize("order", list(permutations(range(4))))
    def test_the_smallest_quantities_count(
        self, world: World, engine: Admission, calls: Calls, order: tuple[int, ...]
    ) -> None:
        reserved(engine, calls.hold(standing=4, sitting=4))
        sold = ({"standing": 4, "sitting": 4}, {"standing": 3}, {"standing": 2, "sitting": 4})
        commits = [calls.commit(**each) for each in (*sold, sold[0])]
        for number in order:
            ask(engine, commits[number])
        assert calls.shown(world.hold(calls.venue, calls.hold_id)) == {"standing": 2}
        assert counts(world, calls.venue, "hall") == (0, 2)

    def test_calls_of_one_group_are_decided_in_turn(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        del engine  # this one would decide them one by one
        commands = [
            *(calls.hold(standing=4), calls.hold(standing=4), calls.commit(standing=4)),
            *(calls.commit(standing=1), calls.commit(standing=4), calls.release()),
        ]
        outcomes = in_one_group(world.store, *commands)
        assert all(isinstance(each, Reserved) for each in outcomes[:5])
        assert isinstance(outcomes[5], Refusal)
        assert counts(world, calls.venue, "floor") == (0, 1)

    def test_a_release_and_its_hold_in_one_group(
        self, world: World, engine: Admission, calls: Calls
    ) -> None:
        del engine
        outcomes = in_one_group(world.store, calls.release(), calls.hold(standing=4))
        assert isinstance(outcomes[1], Refusal)
        assert world.holds(calls.venue)[calls.hold_id].status == "cancelled"


def test_every_version_has_its_fact_and_its_audit_entry(
    world: World, engine: Admission, calls: Calls
) -> None:
    reserved(engine, calls.hold(standing=4))
    reserved(engine, calls.commit(standing=4))
    reserved(engine, calls.commit(standing=3))
    early = Calls(calls.venue)
    reserved(engine, early.release())
    told = [(fact.hold_id, fact.version, fact.type) for fact in world.facts(calls.venue)]
    assert told == [
        (calls.hold_id, 1, "hold.created"),
        (calls.hold_id, 2, "hold.converted"),
        (calls.hold_id, 3, "hold.changed"),
        (early.hold_id, 1, "hold.created"),
        (early.hold_id, 2, "hold.cancelled"),
    ]
    assert [(row.hold_id, row.action) for row in world.audit(calls.venue)] == [
        (hold_id, type_) for hold_id, _, type_ in told
    ]
    assert "order_id" not in dict(world.payloads(calls.venue))["hold.converted"]


def test_a_message_has_one_effect(world: World, engine: Admission, calls: Calls) -> None:
    event_id = uuid4()
    receipt = Receipt("inventory", event_id)
    key = IdempotencyKey(calls.venue.organization_id, event_id, b"", receipt)
    assert not answer(engine, calls.release(key)).is_replay
    assert answer(engine, calls.release(key)).is_replay


def test_organizations_do_not_see_each_other(world: World, engine: Admission, venue: Venue) -> None:
    """The same ids in two organizations are two reservations."""
    hold_id = HoldId(uuid4())
    other = world.venue({"floor": 5, "hall": 5}, {"standing": ("floor", "hall")})
    for each in (venue, other):
        reserved(engine, Calls(each, hold_id).hold(standing=2))
    reserved(engine, Calls(other, hold_id).release())
    assert counts(world, venue, "floor") == (2, 0)
