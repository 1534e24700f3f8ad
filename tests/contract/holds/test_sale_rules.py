"""Rules of events and policies: sale periods, one active hold, no single free seats. Runs on every
store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.catalog.model import EventStatus, SaleTerms
from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.outcomes import NOTHING_MORE, Placed, Released
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.ids import SeatId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from tests.contract.asking import (
    answer,
    ask,
    converted,
    extended,
    placed,
    refused,
    started,
)
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()})


def theatre(world: World, **policy: bool) -> Venue:
    plan = Plan({"floor": 10}, {"standing": ("floor",)}, HoldPolicy(**policy), HALL)
    return world.build(plan)


NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("sale", "code"),
    [
        (SaleTerms(EventStatus.DRAFT), RefusalCode.EVENT_NOT_AVAILABLE),
        (SaleTerms(EventStatus.ARCHIVED), RefusalCode.EVENT_NOT_AVAILABLE),
        (SaleTerms(EventStatus.CANCELLED), RefusalCode.EVENT_UNAVAILABLE),
        (SaleTerms(starts_at=NOW + timedelta(hours=1)), RefusalCode.EVENT_SALES_CLOSED),
        (SaleTerms(ends_at=NOW - timedelta(hours=1)), RefusalCode.EVENT_SALES_CLOSED),
        (SaleTerms(EventStatus.LIVE, NOW - timedelta(hours=1), NOW + timedelta(hours=1)), None),
    ],
)
def test_an_event_that_is_not_on_sale_refuses_holds(
    world: World, engine: Admission, sale: SaleTerms, code: RefusalCode | None
) -> None:
    venue = world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=HALL, sale=sale))
    commands = [venue.seats("Stalls A 1"), venue.place(("seat", 1)), venue.place(("standing", 1))]
    outcomes = [ask(engine, command) for command in commands]
    codes = [outcome.code if isinstance(outcome, Refusal) else None for outcome in outcomes]
    assert codes == [code] * 3


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (EventStatus.CANCELLED, RefusalCode.EVENT_UNAVAILABLE),
        (EventStatus.ARCHIVED, RefusalCode.EVENT_NOT_AVAILABLE),
    ],
)
def test_a_cancelled_or_archived_event_refuses_every_command_that_could_sell(
    world: World, engine: Admission, status: EventStatus, code: RefusalCode
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    cart = placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    kept = started(engine, venue.check_out(cart.id)).holds[0]
    world.set_status(venue, status)
    ways: dict[str, Command] = {
        "place": venue.place(("standing", 1)),
        "reserve": replace(venue.seats("Stalls A 2"), is_reservation=True),
        "change": venue.fill("basket", {"a": ("standing", 2)}),
        "extend": venue.extend(hold.id, 60),
        "extend as an operator": venue.extend(hold.id, 60, is_operator=True),
        "check out": venue.check_out(hold.id),
        "check out again": venue.check_out(cart.id),
        "convert": venue.convert(hold.id),
    }
    outcomes = {way: ask(engine, command) for way, command in ways.items()}
    codes = {way: getattr(outcome, "code", outcome) for way, outcome in outcomes.items()}
    assert codes == dict.fromkeys(ways, code)
    assert world.hold(venue, hold.id) == hold, "nobody was given more time to pay"
    assert world.hold(venue, cart.id) == kept
    assert isinstance(ask(engine, venue.release(hold.id)), Released), "a release is always possible"


def test_a_hold_made_in_time_can_be_paid_after_the_sale(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    world.end_sale(venue)
    extended(engine, venue.extend(hold.id, 60))
    started(engine, venue.check_out(hold.id))
    assert len(converted(engine, venue.convert(hold.id)).order.tickets) == 1


def test_a_checkout_is_replayed_for_its_key_after_the_event_was_cancelled(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    command = replace(venue.check_out(hold.id), idempotency=venue.key())
    first = answer(engine, command)
    world.set_status(venue, EventStatus.CANCELLED)
    again = answer(engine, command)
    assert (again.body, again.is_replay) == (first.body, True)


def test_a_policy_can_limit_a_holder_to_one_live_hold_per_session(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, one_active_hold=True)
    first = placed(engine, venue.seats("Stalls A 1"))
    for command in (venue.seats("Stalls A 2"), venue.place(("standing", 1))):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
        assert refusal.details["hold_id"] == str(first.id)
        assert refusal.details["expires_in"] in range(590, 601)
    assert placed(engine, venue.seats("Stalls A 1")).id == first.id, "your own seat is not refused"
    placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    ask(engine, venue.release(first.id))
    placed(engine, venue.seats("Stalls A 3"))
    world.let_pass(venue, 601)
    placed(engine, venue.seats("Stalls A 4"))


def test_concurrent_requests_share_the_one_live_hold(world: World, engine: Admission) -> None:
    venue = theatre(world, one_active_hold=True)
    by_user = Holder(user_id="user-1")
    won = []
    for holder in (BUYER, by_user):
        futures = [engine.submit(venue.place(("seat", 1), holder=holder)) for _ in range(5)]
        outcomes = [future.result(60).outcome for future in futures]
        assert [isinstance(outcome, Placed) for outcome in outcomes] == [True] + [False] * 4
        won += [outcome.hold.id for outcome in outcomes if isinstance(outcome, Placed)]
    first = won[0]
    futures = [
        engine.submit(venue.release(first)),
        *(engine.submit(venue.place(("seat", 1))) for _ in range(2)),
    ]
    _, *outcomes = [future.result(60).outcome for future in futures]
    assert [isinstance(outcome, Placed) for outcome in outcomes] == [True, False]


@pytest.mark.parametrize(
    ("taken", "names", "left"),
    [
        ((), "A2", ("A1",)),
        ((), "A5", ("A6",)),
        ((), "A1 A3", ("A2",)),
        ((), "A1 A2", ()),
        (("A1", "A2", "A3"), "A4 A5", ()),  # three are free, so one is always left
        (("A1", "A2", "A3"), "A5", ("A4", "A6")),
        (("A3",), "A1", ()),
    ],
)
def test_a_policy_can_refuse_selections_that_leave_a_single_seat(
    world: World, engine: Admission, taken: tuple[str, ...], names: str, left: tuple[str, ...]
) -> None:
    def full(name: str) -> str:
        return f"Stalls {name[0]} {name[1]}"

    venue = theatre(world, refuse_orphans=True)
    if taken:
        engine.submit(venue.block(*map(full, taken))).result(60)
    command = venue.seats(*map(full, names.split()))
    if not left:
        placed(engine, command)
        return
    refusal = refused(engine, command)
    assert refusal.code is RefusalCode.ORPHAN_SEAT
    orphans = refusal.details["orphan_seats"]
    assert orphans == [str(seat_id) for seat_id in venue.seat_ids(*map(full, left))]
    placed(engine, venue.place(("standing", 1)))


@pytest.mark.parametrize(
    ("names", "locked"),
    [("A3", "A1 A2 A3 A4 A5"), ("A1", "A1 A2 A3"), ("A6", "A4 A5 A6"), ("A1 A2", "A1 A2 A3 A4")],
)
def test_the_single_seat_check_locks_two_seats_on_each_side(
    world: World, names: str, locked: str
) -> None:
    """Otherwise somebody could take one of them meanwhile."""
    venue = theatre(world, refuse_orphans=True)
    command = venue.seats(*(f"Stalls {name[0]} {name[1]}" for name in names.split()))
    connection = world.store.connect()
    survey = connection.survey(command.needs(NOTHING_MORE), is_patient=True)
    connection.close()
    planned = GroupPlan(survey).footprint(command)
    seats = {SeatId(each.name) for each in planned.required_of(ResourceKind.SEAT)}
    assert seats == set(venue.seat_ids(*(f"Stalls {name[0]} {name[1]}" for name in locked.split())))


def test_a_single_seat_may_be_left_without_that_policy(world: World, engine: Admission) -> None:
    placed(engine, theatre(world).seats("Stalls A 2"))


def test_a_seat_with_an_expired_hold_counts_as_free_in_the_single_seat_check(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, refuse_orphans=True)
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
    refused(engine, venue.seats("Stalls A 4"))
    world.let_pass(venue, 601)
    assert refused(engine, venue.seats("Stalls A 2")).code is RefusalCode.ORPHAN_SEAT
    placed(engine, venue.seats("Stalls A 3", "Stalls A 4"))
