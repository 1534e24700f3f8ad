"""From the request to the answer: the intent is committed, the Inventory Service is asked outside
any transaction, and its answer is committed."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.group.outcomes import Outcome, Placed
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission
from holdfast.ports.engine import Answer
from holdfast.ports.inventory.service import (
    InventoryConflict,
    InventoryUnavailable,
    Reservation,
)
from holdfast.services.inventory.circuit import FAILURES_MAX, Circuit
from holdfast.services.inventory.remote_holds import CALLS, RemoteHolds
from tests.contract.asking import render_plainly
from tests.contract.venues import ORIGIN, Plan, Venue
from tests.contract.worlds import MemoryWorld
from tests.remote.scripted import ScriptedInventory
from tests.support.patience import PATIENCE_SECONDS, PATIENT, wait_until

PLAN = Plan({"floor": 1}, {"standing": ("floor",), "late": ("floor",)})


@pytest.fixture
def world() -> Iterator[MemoryWorld]:
    world = MemoryWorld()
    yield world
    world.close()


@pytest.fixture
def venue(world: MemoryWorld) -> Venue:
    return world.build(PLAN)


@pytest.fixture
def inventory() -> ScriptedInventory:
    return ScriptedInventory()


@pytest.fixture
def refused() -> list[Refusal]:
    return []


@pytest.fixture
def make_holds(
    world: MemoryWorld, inventory: ScriptedInventory, refused: list[Refusal]
) -> Iterator[Callable[[], RemoteHolds]]:
    """Several are like several processes."""

    def note(_: Command, refusal: Refusal) -> None:
        refused.append(refusal)

    engine = Admission(world.store, PATIENT)
    engine.start()
    made: list[RemoteHolds] = []

    def make() -> RemoteHolds:
        made.append(RemoteHolds(engine, inventory, Circuit(), note))
        return made[-1]

    yield make
    for each in made:
        each.stop()
    engine.stop()


@pytest.fixture
def holds(make_holds: Callable[[], RemoteHolds]) -> RemoteHolds:
    return make_holds()


def answer(holds: RemoteHolds, command: Command) -> Answer:
    return holds.submit(command, render_plainly).result(PATIENCE_SECONDS)


def outcome(holds: RemoteHolds, command: Command) -> Outcome | None:
    return answer(holds, command).outcome


def refusal(holds: RemoteHolds, command: Command) -> Refusal:
    found = outcome(holds, command)
    assert isinstance(found, Refusal), found
    return found


def statuses(world: MemoryWorld, venue: Venue) -> list[HoldStatus]:
    return [hold.status for hold in world.all_holds(venue)]


def a_key(venue: Venue) -> IdempotencyKey:
    return IdempotencyKey(venue.organization_id, uuid4(), b"the request")


def test_the_hold_is_active_once_its_tickets_are_reserved(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    ask = venue.place(("standing", 2), ("late", 1), ("standing", 1))
    found = outcome(holds, ask)
    assert isinstance(found, Placed)
    assert found.hold.status is HoldStatus.ACTIVE
    types = venue.ticket_types
    lines = {types["standing"]: 3, types["late"]: 1}
    assert inventory.asked == [
        Reservation(ask.hold_id, ask.session_id, lines, ReservationStatus.HELD)
    ]


def test_the_intent_is_committed_before_the_service_is_asked(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    seen: list[list[HoldStatus]] = []

    def look(_: Reservation) -> None:
        seen.append(statuses(world, venue))

    inventory.answer = look
    outcome(holds, venue.place(("standing", 2)))
    assert seen == [[HoldStatus.PENDING]]


def test_too_few_tickets_are_told_with_their_number(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    inventory.answer = lambda _: refusals.insufficient_inventory(1)
    found = refusal(holds, venue.place(("standing", 5)))
    assert found.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert found.message == "Only 1 ticket(s) available"
    assert found.details["available_quantity"] == 1
    assert statuses(world, venue) == [HoldStatus.FAILED]


@pytest.mark.parametrize(
    "problem",
    [InventoryUnavailable("timeout"), InventoryConflict("hold_not_found"), ValueError("a bug")],
)
def test_a_service_that_fails_ends_the_hold(
    holds: RemoteHolds,
    inventory: ScriptedInventory,
    world: MemoryWorld,
    venue: Venue,
    problem: Exception,
) -> None:
    def fail(_: Reservation) -> None:
        raise problem

    inventory.answer = fail
    found = refusal(holds, venue.place(("standing", 1)))
    assert found.code is RefusalCode.SERVICE_UNAVAILABLE
    assert statuses(world, venue) == [HoldStatus.FAILED]
    inventory.answer = lambda _: None
    assert isinstance(outcome(holds, venue.place(("standing", 1))), Placed)


def test_what_the_hold_service_refuses_is_never_asked(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    unknown = replace(venue.place(("standing", 1)), session_id=SessionId(uuid4()))
    assert refusal(holds, unknown).code is RefusalCode.INVALID_SESSION
    assert inventory.asked == []
    assert statuses(world, venue) == []


def test_after_several_failures_requests_are_refused_at_once_and_nothing_is_written(
    holds: RemoteHolds,
    inventory: ScriptedInventory,
    world: MemoryWorld,
    venue: Venue,
    refused: list[Refusal],
) -> None:
    def fail(_: Reservation) -> None:
        raise InventoryUnavailable("timeout")

    inventory.answer = fail
    for _ in range(FAILURES_MAX):
        refusal(holds, venue.place(("standing", 1)))
    before = len(world.all_holds(venue))
    found = refusal(holds, venue.place(("standing", 1)))
    assert found.code is RefusalCode.SERVICE_UNAVAILABLE
    assert len(world.all_holds(venue)) == before == len(inventory.asked)


def test_a_repeat_gets_the_first_answer(
    holds: RemoteHolds, inventory: ScriptedInventory, venue: Venue
) -> None:
    key = a_key(venue)
    first = answer(holds, venue.place(("standing", 1), key=key))
    again = answer(holds, venue.place(("standing", 1), key=key))
    assert again.is_replay
    assert again.body == first.body
    assert len(inventory.asked) == 1


def test_a_request_waits_for_an_earlier_one_with_its_key(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    """As a client that did not wait for the first answer."""
    is_asked, may_answer = threading.Event(), threading.Event()

    def wait(_: Reservation) -> None:
        is_asked.set()
        assert may_answer.wait(PATIENCE_SECONDS)

    inventory.answer = wait
    key = a_key(venue)
    first = holds.submit(venue.place(("standing", 1), key=key), render_plainly)
    assert is_asked.wait(PATIENCE_SECONDS)
    again = holds.submit(venue.place(("standing", 1), key=key), render_plainly)
    may_answer.set()
    answers = [each.result(PATIENCE_SECONDS) for each in (first, again)]
    assert [each.is_replay for each in answers] == [False, True]
    assert answers[0].body == answers[1].body
    assert statuses(world, venue) == [HoldStatus.ACTIVE]


def test_a_request_tries_anew_after_an_earlier_one_with_its_key_has_failed(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def fail_once(_: Reservation) -> None:
        if len(inventory.asked) == 1:
            is_asked.set()
            assert may_answer.wait(PATIENCE_SECONDS)
            raise InventoryUnavailable("timeout")

    inventory.answer = fail_once
    key = a_key(venue)
    first = holds.submit(venue.place(("standing", 1), key=key), render_plainly)
    assert is_asked.wait(PATIENCE_SECONDS)
    again = holds.submit(venue.place(("standing", 1), key=key), render_plainly)
    may_answer.set()
    assert isinstance(first.result(PATIENCE_SECONDS).outcome, Refusal)
    assert isinstance(again.result(PATIENCE_SECONDS).outcome, Placed)
    assert statuses(world, venue) == [HoldStatus.FAILED, HoldStatus.ACTIVE]


@pytest.mark.parametrize("is_same", [True, False])
def test_of_two_processes_with_one_key_one_hold_remains(
    make_holds: Callable[[], RemoteHolds],
    inventory: ScriptedInventory,
    world: MemoryWorld,
    venue: Venue,
    is_same: bool,
) -> None:
    """Both were asked for before either was settled."""
    both = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def together(_: Reservation) -> None:
        both.wait()

    inventory.answer = together
    keys = [a_key(venue)] * 2
    if not is_same:
        keys[1] = replace(keys[0], fingerprint=b"another request")
    futures = [
        make_holds().submit(venue.place(("standing", 1), key=key), render_plainly) for key in keys
    ]
    answers = [future.result(PATIENCE_SECONDS) for future in futures]
    if is_same:
        assert sorted(answer.is_replay for answer in answers) == [False, True]
        assert answers[0].body == answers[1].body
    expected = [HoldStatus.ACTIVE, HoldStatus.FAILED]
    wait_until(lambda: sorted(statuses(world, venue)) == expected, "the other hold is abandoned")


def test_of_two_processes_with_one_hold_id_both_get_the_hold(
    make_holds: Callable[[], RemoteHolds],
    inventory: ScriptedInventory,
    world: MemoryWorld,
    venue: Venue,
) -> None:
    both = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def together(_: Reservation) -> None:
        both.wait()

    inventory.answer = together
    command = venue.place(("standing", 1), hold_id=HoldId(uuid4()))
    futures = [make_holds().submit(command) for _ in range(2)]
    outcomes = [future.result(PATIENCE_SECONDS).outcome for future in futures]
    assert all(isinstance(each, Placed) for each in outcomes)
    assert statuses(world, venue) == [HoldStatus.ACTIVE]


def test_tickets_are_released_if_the_hold_failed_meanwhile(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    def fail_it_here(reservation: Reservation) -> None:
        refusal = refusals.service_unavailable()
        settle = SettleHold(venue.organization_id, reservation.hold_id, ORIGIN, refusal)
        holds.submit(settle).result(PATIENCE_SECONDS)

    inventory.answer = fail_it_here
    refusal(holds, venue.place(("standing", 1)))
    wait_until(lambda: inventory.released == inventory.asked, "they are released")


def test_tickets_that_are_not_sold_there_are_sold_out(
    holds: RemoteHolds, inventory: ScriptedInventory, venue: Venue
) -> None:
    """As its availability says. Another attempt would not help."""

    def refuse(_: Reservation) -> None:
        raise InventoryConflict("invalid_ticket_type")

    inventory.answer = refuse
    found = refusal(holds, venue.place(("standing", 1)))
    assert found == refusals.insufficient_inventory(0)


def test_an_id_that_is_taken_there_is_refused_as_reused(
    holds: RemoteHolds, inventory: ScriptedInventory, venue: Venue
) -> None:
    def refuse(_: Reservation) -> None:
        raise InventoryConflict("idempotency_key_reused")

    inventory.answer = refuse
    found = refusal(holds, venue.place(("standing", 1), hold_id=HoldId(uuid4())))
    assert found.code is RefusalCode.IDEMPOTENCY_KEY_REUSED


@pytest.mark.parametrize("is_certain", [True, False])
def test_a_certain_refusal_says_that_there_is_nothing_to_release(
    holds: RemoteHolds,
    inventory: ScriptedInventory,
    world: MemoryWorld,
    venue: Venue,
    is_certain: bool,
) -> None:
    inventory.answer = lambda _: refusals.insufficient_inventory(0)
    inventory.is_certain = is_certain
    refusal(holds, venue.place(("standing", 1)))
    (failed,) = [payload for kind, payload in world.payloads(venue) if kind == "hold.failed"]
    assert failed.get("reason") == ("not_reserved" if is_certain else None)


def test_waiting_calls_are_not_made_once_the_service_is_known_to_be_away(
    holds: RemoteHolds, inventory: ScriptedInventory, venue: Venue
) -> None:
    may_fail = threading.Event()

    def fail(_: Reservation) -> None:
        assert may_fail.wait(PATIENCE_SECONDS)
        raise InventoryUnavailable("timeout")

    inventory.answer = fail
    rush = [holds.submit(venue.place(("standing", 1))) for _ in range(4 * CALLS.at_once)]
    wait_until(lambda: len(inventory.asked) == CALLS.at_once, "half of the threads are busy")
    may_fail.set()
    for each in rush:
        assert isinstance(each.result(PATIENCE_SECONDS).outcome, Refusal)
    assert len(inventory.asked) < 2 * CALLS.at_once


def test_a_stop_waits_for_the_call_under_way_and_makes_no_other(
    make_holds: Callable[[], RemoteHolds], inventory: ScriptedInventory, venue: Venue
) -> None:
    holds = make_holds()
    is_asked, may_answer = threading.Event(), threading.Event()

    def wait(_: Reservation) -> None:
        is_asked.set()
        assert may_answer.wait(PATIENCE_SECONDS)

    inventory.answer = wait
    first = holds.submit(venue.place(("standing", 1)))
    assert is_asked.wait(PATIENCE_SECONDS)
    stopping = threading.Thread(target=holds.stop)
    stopping.start()
    may_answer.set()
    stopping.join(PATIENCE_SECONDS)
    assert isinstance(first.result(0).outcome, Placed)
    assert refusal(holds, venue.place(("standing", 1))).code is RefusalCode.SERVICE_UNAVAILABLE
    assert len(inventory.asked) == 1


def test_one_organization_cannot_use_all_calls(
    holds: RemoteHolds, inventory: ScriptedInventory, world: MemoryWorld, venue: Venue
) -> None:
    neighbour = world.build(PLAN)
    is_over = threading.Event()

    def wait(reservation: Reservation) -> None:
        assert is_over.wait(PATIENCE_SECONDS)

    inventory.answer = wait
    rush = [holds.submit(venue.place(("standing", 1))) for _ in range(CALLS.calls_max // 2)]
    try:
        assert refusal(holds, venue.place(("standing", 1))).code is RefusalCode.SERVICE_UNAVAILABLE
        theirs = holds.submit(neighbour.place(("standing", 1)))
    finally:
        is_over.set()
    assert isinstance(theirs.result(PATIENCE_SECONDS).outcome, Placed)
    assert all(isinstance(each.result(PATIENCE_SECONDS).outcome, Placed) for each in rush)


def test_carts_are_refused(holds: RemoteHolds, venue: Venue, refused: list[Refusal]) -> None:
    for command in (venue.fill("c1", {"i1": ("standing", 1)}), venue.renew("c1")):
        assert refusal(holds, command).code is RefusalCode.NOT_WITH_REMOTE_INVENTORY
    assert len(refused) == 2


def test_other_commands_pass(holds: RemoteHolds, venue: Venue) -> None:
    found = outcome(holds, venue.place(("standing", 1)))
    assert isinstance(found, Placed)
    assert not isinstance(outcome(holds, venue.extend(found.hold.id, 60)), Refusal)
    assert not isinstance(outcome(holds, venue.release(found.hold.id)), Refusal)
