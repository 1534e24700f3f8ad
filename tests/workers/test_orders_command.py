"""`holdfast orders` and `holdfast sessions cancel`, as an operator uses them."""

import json
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from getpass import getuser
from uuid import uuid4

import pytest

from holdfast.bootstrap.holds import desk
from holdfast.bootstrap.settings import Settings
from holdfast.domain.ids import TicketId
from holdfast.domain.orders.order import Order, OrderStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from holdfast.entrypoints.cli.terminal import CommandFailed
from holdfast.ports.paging import Cursor
from holdfast.services.orders import clearing
from holdfast.services.orders.clearing import Clearing, Position
from tests.contract.asking import cancelled, converted, placed, refused, waiting
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows
from tests.support.patience import PATIENT
from tests.workers.operator import Operator

PLAN = Plan(
    {"floor": 5},
    {"Standing": ("floor",)},
    HoldPolicy(600, waitlist=True),
    Hall({"Parterre": {"A": 4}}, {"Adult": ()}),
)
BECAUSE = ("--reason", "Ann fell ill", "--yes")


@pytest.fixture
def engine(world: PostgresWorld) -> Iterator[Admission]:
    running = Admission(world.store, PATIENT)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def operator(world: PostgresWorld, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(world.url, capsys)


@pytest.fixture
def venue(world: PostgresWorld) -> Venue:
    return world.build(PLAN)


def bought(engine: Admission, venue: Venue, *asks: object, holder: Holder = BUYER) -> Order:
    hold = placed(engine, venue.place(*asks, holder=holder))  # type: ignore[arg-type]
    return converted(engine, venue.convert(hold.id)).order


def test_an_order_is_cancelled_by_reference_and_by_id(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue
) -> None:
    orders = [bought(engine, venue, ("Standing", 2)) for _ in range(2)]
    reference = world.hold(venue, orders[0].hold_ids[0]).reference
    for order, name in zip(orders, (reference.lower(), str(orders[1].id)), strict=True):
        said = operator.says("orders", "cancel", name, *BECAUSE, "--refund-reference", "re_1")
        assert f"Cancelled 2 ticket(s) of order {order.id}, which is now cancelled." in said
        assert "Refund 90.00 EUR to the buyer." in said
        after = world.orders(venue)[order.id]
        assert after.status is OrderStatus.CANCELLED
        assert {ticket.voided and ticket.voided.refund_reference for ticket in after.tickets} == {
            "re_1"
        }
    query = "SELECT DISTINCT actor, acting_user FROM audit WHERE action = 'order.cancelled'"
    assert rows(world.url, query) == [("operator", getuser())]
    assert_sound(world.url, grace_seconds=1)


def test_one_ticket_is_cancelled_and_json_is_what_the_api_shows(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue
) -> None:
    order = bought(engine, venue, ("Standing", 2))
    words = ("--ticket", str(order.tickets[0].id), *BECAUSE, "--json")
    shown = json.loads(operator.says("orders", "cancel", str(order.id), *words))
    assert (shown["status"], shown["version"]) == ("partly_cancelled", 2)
    assert [ticket["status"] for ticket in shown["tickets"]] == ["void", "valid"]


def test_refusals_and_unknown_orders_change_nothing(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue
) -> None:
    order = bought(engine, venue, ("Standing", 2))
    hold = placed(engine, venue.place(("Standing", 1)))
    for words, problem in (
        ((str(uuid4()),), "there is no such order"),
        (("NOSUCH",), "there is no such order"),
        ((hold.reference,), "there is no such order"),
        ((str(order.id), "--ticket", str(uuid4())), "invalid_ticket"),
        ((str(order.id), "--organization", str(uuid4())), "there is no such order"),
    ):
        with pytest.raises(CommandFailed, match=problem):
            operator.says("orders", "cancel", *words, *BECAUSE)
    assert world.orders(venue) == {order.id: order}
    operator.says("orders", "cancel", str(order.id), *BECAUSE)
    with pytest.raises(CommandFailed, match="order_already_cancelled"):
        operator.says("orders", "cancel", str(order.id), *BECAUSE)


def test_a_refund_is_recorded_for_one_ticket_and_then_the_rest(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue
) -> None:
    order = bought(engine, venue, ("Standing", 2))
    first, _ = (str(ticket.id) for ticket in order.tickets)
    refund = ("orders", "refund", str(order.id), *BECAUSE, "--refund-reference")
    with pytest.raises(CommandFailed, match="ticket_not_void"):
        operator.says(*refund, "re_1")
    operator.says("orders", "cancel", str(order.id), *BECAUSE)
    said = operator.says(*refund, "re_1", "--ticket", first)
    assert said.splitlines() == [f"Recorded refund re_1 for 1 ticket(s) of order {order.id}."]
    with pytest.raises(CommandFailed, match="already_refunded"):
        operator.says(*refund, "re_2", "--ticket", first)
    with pytest.raises(CommandFailed, match="1 to 255 characters"):
        operator.says(*refund, "")
    shown = json.loads(operator.says(*refund, "re_2", "--json"))
    assert [ticket["refund_reference"] for ticket in shown["tickets"]] == ["re_1", "re_2"]
    query = "SELECT DISTINCT actor, acting_user FROM audit WHERE action = 'order.refunded'"
    assert rows(world.url, query) == [("operator", getuser())]
    assert_sound(world.url, grace_seconds=1)


def test_a_cancelled_session_is_cleared_of_holds_waitlist_and_orders(
    world: PostgresWorld,
    engine: Admission,
    operator: Operator,
    venue: Venue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In steps of one, so that every kind takes several."""
    monkeypatch.setattr(clearing, "HOLDS_PER_STEP", 1)
    monkeypatch.setattr(clearing, "ORDERS_PER_STEP", 1)
    beside = world.build(PLAN, beside=venue)
    paid = [
        bought(engine, venue, ("Standing", 1)),
        bought(engine, venue, venue.these("Parterre A 1")),
    ]
    both = (
        placed(engine, venue.place(("Standing", 1))),
        placed(engine, beside.place(("Standing", 1))),
    )
    mixed = converted(engine, venue.convert(*(hold.id for hold in both))).order
    holds = [placed(engine, venue.place(("Standing", 3), holder=STRANGER))]
    holds.append(placed(engine, venue.seats("Parterre A 2")))
    parties = [
        waiting(engine, venue.place(("Standing", 1), holder=Holder(user_id=f"user-{n}")))
        for n in range(3)
    ]
    said = operator.says("sessions", "cancel", str(venue.session_id), *BECAUSE)
    assert said.splitlines()[-1] == "Released 2 hold(s), cancelled 3 order(s) with 3 ticket(s)."
    assert all(world.hold(venue, hold.id).is_cancelled() for hold in holds)
    # With the first place that returns, the waitlist of a sale that is over ends.
    assert not any(world.hold(venue, party.id).is_waiting(world.now()) for party in parties)
    orders = world.orders(venue)
    assert {orders[order.id].status for order in paid} == {OrderStatus.CANCELLED}
    assert orders[mixed.id].status is OrderStatus.PARTLY_CANCELLED
    valid = [each.session_id for each in orders[mixed.id].tickets if not each.is_void]
    assert valid == [beside.session_id]
    assert refused(engine, venue.place(("Standing", 1))).code is RefusalCode.EVENT_UNAVAILABLE
    assert_sound(world.url, grace_seconds=1)

    again = json.loads(
        operator.says("sessions", "cancel", str(venue.session_id), *BECAUSE, "--json")
    )
    assert again == {"holds": 0, "orders": 0, "tickets": 0, "failed": 0}


@pytest.mark.parametrize("is_changed_again", [False, True])
def test_tickets_that_stay_valid_are_cancelled_or_reported(
    world: PostgresWorld,
    engine: Admission,
    operator: Operator,
    venue: Venue,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_changed_again: bool,
) -> None:
    """Support cancels a ticket after the step has read the order, once or every time."""
    order = bought(engine, venue, ("Standing", 4))
    tickets_of, left = Clearing._tickets_of, list(order.tickets)

    def meanwhile(self: Clearing, seen: Order) -> tuple[TicketId, ...]:
        found = tickets_of(self, seen)
        if is_changed_again or len(left) == 4:
            cancelled(engine, venue.cancel(order.id, left.pop(0).id))
        return found

    monkeypatch.setattr(Clearing, "_tickets_of", meanwhile)
    words = ("sessions", "cancel", str(venue.session_id), *BECAUSE, "--json")
    if is_changed_again:
        done = json.loads(operator.says(*words, exit_code=1))
        assert done == {"holds": 0, "orders": 0, "tickets": 0, "failed": 1}
        assert world.orders(venue)[order.id].status is OrderStatus.PARTLY_CANCELLED
    else:
        done = json.loads(operator.says(*words))
        assert done == {"holds": 0, "orders": 1, "tickets": 3, "failed": 0}
        assert world.orders(venue)[order.id].status is OrderStatus.CANCELLED


def test_an_unknown_session_is_named(operator: Operator) -> None:
    with pytest.raises(CommandFailed, match="there is no such session"):
        operator.says("sessions", "cancel", str(uuid4()), *BECAUSE)


def test_a_session_is_found_in_one_of_several_organizations(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue
) -> None:
    """As after a copy of an organization, whose sessions have the same ids."""
    bought(engine, venue, ("Standing", 1))
    elsewhere = world.build(PLAN)
    with world.connected() as connection:
        connection.execute(
            "INSERT INTO session SELECT (jsonb_populate_record(s, jsonb_build_object("
            " 'organization_id', other.organization_id, 'event_id', other.event_id))).*"
            " FROM session s, session other WHERE s.id = %s AND other.id = %s",
            [venue.session_id, elsewhere.session_id],
        )
    words = ("sessions", "cancel", str(venue.session_id), *BECAUSE)
    with pytest.raises(CommandFailed, match=f"Pass --organization: .*{venue.organization_id}"):
        operator.says(*words)
    said = operator.says(*words, "--organization", str(venue.organization_id))
    assert said.splitlines()[-1] == "Released 0 hold(s), cancelled 1 order(s) with 1 ticket(s)."
    with pytest.raises(CommandFailed, match="there is no such session"):
        operator.says(*words, "--organization", str(uuid4()))


def test_a_command_without_an_answer_says_so(
    world: PostgresWorld,
    engine: Admission,
    operator: Operator,
    venue: Venue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = bought(engine, venue, ("Standing", 1))
    hold = placed(engine, venue.place(("Standing", 1)))
    monkeypatch.setattr(Admission, "submit", lambda *_: Future())
    monkeypatch.setattr(desk, "_GRACE_SECONDS", 0.1 - Settings().holdfast_deadline_seconds)
    for words in (("orders", "cancel", str(order.id)), ("holds", "release", str(hold.id))):
        with pytest.raises(CommandFailed, match="there was no answer in time"):
            operator.says(*words, *BECAUSE)


def test_a_position_survives_being_written_down() -> None:
    cursor = Cursor(datetime(2026, 1, 15, 10, 20, 0, 500, tzinfo=UTC), uuid4())
    for position in (Position(), Position(3), Position(1, cursor)):
        assert Position.read(str(position)) == position
    for text in ("", "x", "-3", "1 yesterday x", "1 2026-01-15 x"):
        with pytest.raises(ValueError, match=r".*"):
            Position.read(text)
