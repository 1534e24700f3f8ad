"""Orders are cancelled as a whole or by ticket, once, and their places return to sale. Runs on
every store."""

from contextlib import closing
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.footprint import Needs
from holdfast.domain.group.outcomes import OrderCancelled
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.ids import OrderId, TicketId
from holdfast.domain.orders.order import Order, OrderStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Holder, InvalidValue
from holdfast.engine import Admission
from tests.contract.asking import (
    answer,
    ask,
    cancelled,
    converted,
    in_one_group,
    placed,
    refused,
    waiting,
)
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 4})
POLICY = HoldPolicy(600, waitlist=True)


def theatre(world: World, policy: HoldPolicy = POLICY, floor: int = 10) -> Venue:
    pools = {"floor": floor, "house": 20}
    return world.build(Plan(pools, {"standing": ("floor", "house")}, policy, hall=HALL))


def club(world: World, total: int, policy: HoldPolicy = POLICY) -> Venue:
    return world.build(Plan({"floor": total}, {"standing": ("floor",)}, policy))


def bought(engine: Admission, venue: Venue, *asks: object, holder: Holder = BUYER) -> Order:
    hold = placed(engine, venue.place(*asks, holder=holder))  # type: ignore[arg-type]
    return converted(engine, venue.convert(hold.id)).order


def counters(world: World, venue: Venue, *pools: str) -> list[tuple[int, int]]:
    found = [world.pool(venue.pools[name]) for name in pools]
    return [(pool.held, pool.sold) for pool in found]


def a_person(number: int) -> Holder:
    return Holder(user_id=f"user-{number}")


def test_a_cancelled_order_returns_all_its_places(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, venue.these("Stalls A 1"), ("standing", 2))
    done = cancelled(engine, venue.cancel(order.id, refund_reference="re_1"))
    after = done.order
    assert (after.status, after.version, after.cancelled_at) == ("cancelled", 2, done.at)
    assert done.ticket_ids == tuple(ticket.id for ticket in order.tickets)
    assert (done.amount.minor, done.amount.currency) == (3 * 4500, "EUR")
    for ticket in after.tickets:
        assert ticket.voided is not None
        assert ticket.voided.refund_reference == "re_1"
        assert (ticket.voided.at, ticket.voided.reason) == (done.at, "Ann fell ill")
    assert world.orders(venue) == {order.id: after}
    assert counters(world, venue, "floor", "house", "Stalls capacity") == [(0, 0)] * 3
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("available", None, 4)
    placed(engine, venue.seats("Stalls A 1", holder=STRANGER))


def test_the_hold_of_a_cancelled_order_stays_converted(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 2))
    before = world.hold(venue, order.hold_ids[0])
    cancelled(engine, venue.cancel(order.id))
    assert world.hold(venue, before.id) == before


def test_single_tickets_can_be_cancelled_one_after_the_other(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    order = bought(engine, venue, venue.these("Stalls A 1", "Stalls A 2"), ("standing", 1))
    first, second, standing = order.tickets
    done = cancelled(engine, venue.cancel(order.id, first.id))
    assert (done.order.status, done.order.version) == (OrderStatus.PARTLY_CANCELLED, 2)
    assert done.order.cancelled_at is None
    assert (done.ticket_ids, done.amount.minor) == ((first.id,), 4500)
    assert [ticket.is_void for ticket in done.order.tickets] == [True, False, False]
    assert counters(world, venue, "floor", "house", "Stalls capacity") == [(0, 1), (0, 1), (0, 1)]
    seats = world.seats(venue)
    assert (seats["Stalls A 1"].status, seats["Stalls A 2"].status) == ("available", "sold")
    cancelled(engine, venue.cancel(order.id, standing.id))
    assert counters(world, venue, "floor", "house", "Stalls capacity") == [(0, 0), (0, 0), (0, 1)]
    rest = cancelled(engine, venue.cancel(order.id))
    assert (rest.order.status, rest.order.version) == (OrderStatus.CANCELLED, 4)
    assert rest.ticket_ids == (second.id,)
    assert world.orders(venue) == {order.id: rest.order}
    voided = [ticket.voided for ticket in rest.order.tickets]
    assert [each and each.version for each in voided] == [2, 4, 3]


def test_tickets_of_several_holds_return_to_their_own_pools(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    one = placed(engine, venue.place(("standing", 1)))
    other = placed(engine, venue.place(venue.these("Stalls A 5")))
    order = converted(engine, venue.convert(one.id, other.id)).order
    done = cancelled(engine, venue.cancel(order.id, order.tickets[1].id))
    assert done.order.hold_ids == (one.id, other.id)
    assert counters(world, venue, "floor", "Stalls capacity") == [(0, 1), (0, 0)]
    assert world.seats(venue)["Stalls A 5"].status == "available"


def test_a_place_goes_back_to_the_pools_it_was_sold_from(world: World, engine: Admission) -> None:
    """A cart may have two lines of a type; the tickets of both look alike."""
    venue = theatre(world)
    ask(engine, venue.fill("basket", {"a": ("standing", 1)}, holder=BUYER))
    ask(engine, venue.fill("basket", {"a": ("standing", 1), "b": ("standing", 2)}, holder=BUYER))
    (hold,) = world.all_holds(venue)
    order = converted(engine, venue.convert(hold.id)).order
    for ticket in order.tickets[:2]:
        cancelled(engine, venue.cancel(order.id, ticket.id))
    assert counters(world, venue, "floor", "house") == [(0, 1), (0, 1)]


def test_a_cancellation_publishes_the_order_then_seats_then_tickets(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    order = bought(engine, venue, venue.these("Stalls A 1"), ("standing", 1))
    hold = world.hold(venue, order.hold_ids[0])
    before = len(world.facts(venue))
    cancelled(engine, venue.cancel(order.id, refund_reference="re_1"))
    version = hold.version + 1
    assert world.facts(venue)[before:] == [
        ("order.cancelled", hold.id, version, None),
        ("seat.released", hold.id, version, hold.seats[0].id),
        ("ticket.voided", hold.id, version, None),
        ("ticket.voided", hold.id, version, None),
    ]
    payloads = world.payloads(venue)[before:]
    _, fact = payloads[0]
    seat_ticket, standing = order.tickets
    assert fact.pop("timestamp")
    assert fact == {
        "order_id": str(order.id),
        "organization_id": str(venue.organization_id),
        "hold_ids": [str(hold.id)],
        "status": "cancelled",
        "order_version": 2,
        "quantity": 2,
        "amount": 9000,
        "currency": "EUR",
        "ticket_ids": [str(seat_ticket.id), str(standing.id)],
        "refund_reference": "re_1",
        "reason": "Ann fell ill",
    }
    _, released = payloads[1]
    assert (released["reason"], released["seat_id"]) == ("order_cancelled", str(hold.seats[0].id))
    voided = [payload for _, payload in payloads[2:]]
    assert [each["ticket_id"] for each in voided] == [str(seat_ticket.id), str(standing.id)]
    assert "seat_id" in voided[0]
    assert "seat_id" not in voided[1]
    assert not any(ticket.code in str(payloads) for ticket in order.tickets)
    assert world.audit(venue)[-2:] == [
        ("order.cancelled", hold.id, "operator:ann", "confirmed", "cancelled", None),
        ("seat_released", hold.id, "operator:ann", "sold", "available", hold.seats[0].id),
    ]


def test_an_order_is_cancelled_only_once(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 2))
    first, second = (ticket.id for ticket in order.tickets)
    cancelled(engine, venue.cancel(order.id, first))
    before = (world.facts(venue), world.orders(venue), counters(world, venue, "floor"))
    refusal = refused(engine, venue.cancel(order.id, second, first))
    assert refusal.code is RefusalCode.TICKET_ALREADY_VOID
    assert refusal.details == {"order_id": str(order.id), "ticket_ids": [str(first)]}
    assert (world.facts(venue), world.orders(venue), counters(world, venue, "floor")) == before
    cancelled(engine, venue.cancel(order.id))
    for command in (venue.cancel(order.id), venue.cancel(order.id, first)):
        assert refused(engine, command).code is RefusalCode.ORDER_ALREADY_CANCELLED
    assert counters(world, venue, "floor") == [(0, 0)]


def test_an_unknown_order_or_ticket_is_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 1))
    other = bought(engine, venue, ("standing", 1))
    refusal = refused(engine, venue.cancel(OrderId(uuid4())))
    assert refusal.code is RefusalCode.ORDER_NOT_FOUND
    elsewhere = theatre(world)
    assert refused(engine, elsewhere.cancel(order.id)).code is RefusalCode.ORDER_NOT_FOUND
    refusal = refused(engine, venue.cancel(order.id, order.tickets[0].id, other.tickets[0].id))
    assert refusal.code is RefusalCode.INVALID_TICKET
    message = "Ticket not found in this order"
    error = {"field": "ticket_ids[1]", "code": "invalid_ticket", "message": message}
    assert refusal.details == {"order_id": str(order.id), "errors": [error]}
    assert {each.status for each in world.orders(venue).values()} == {OrderStatus.CONFIRMED}


def test_the_same_ticket_is_named_only_once(world: World) -> None:
    ticket_id = TicketId(uuid4())
    venue = club(world, 1)
    with pytest.raises(InvalidValue, match="only once"):
        venue.cancel(OrderId(uuid4()), ticket_id, ticket_id)
    with pytest.raises(InvalidValue, match="refund_reference"):
        venue.cancel(OrderId(uuid4()), refund_reference="x" * 256)


def test_a_changed_order_is_not_cancelled_by_an_old_version(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 2))
    cancelled(engine, venue.cancel(order.id, order.tickets[0].id, version=1))
    refusal = refused(engine, venue.cancel(order.id, version=1))
    assert refusal.code is RefusalCode.ORDER_CHANGED
    assert refusal.details == {"order_id": str(order.id), "version": 2}
    cancelled(engine, venue.cancel(order.id, version=2))


def test_a_large_order_is_read_only_by_a_patient_lane(world: World, engine: Admission) -> None:
    """However few of its tickets are cancelled, all are read, which takes most of a second."""
    venue = club(world, 1_000)
    orders = [bought(engine, venue, ("standing", units)) for units in (200, 300, 100, 50)]
    commands = [venue.cancel(order.id, order.tickets[0].id) for order in orders]
    keys = [order.key for order in orders]
    with closing(world.store.connect()) as connection:
        seen = connection.survey(Needs(orders=tuple(keys)))
        assert set(seen.orders) == {keys[0], keys[3]}, "the first that are not too many together"
        assert seen.unread_orders == {keys[1]: 300, keys[2]: 100}
        large, later = (GroupPlan(seen).footprint(each) for each in commands[1:3])
        assert (large.is_unread, large.weight) == (True, 301)
        assert (later.is_unread, later.weight) == (True, 101)
        seen = connection.survey(Needs(orders=(keys[1], keys[0])), is_patient=True)
        assert set(seen.orders) == {keys[1]}, "alone"
        assert GroupPlan(seen).footprint(commands[1]).weight == 301


def test_tickets_of_a_large_order_are_cancelled_beside_small_orders(world: World) -> None:
    venue = club(world, 2_000)
    engine = Admission(world.store)
    engine.start()
    orders = [bought(engine, venue, ("standing", units)) for units in (1_000, 2, 200, 200)]
    engine.stop()
    commands = [venue.cancel(order.id, order.tickets[-1].id) for order in orders]
    outcomes = in_one_group(world.store, *commands, venue.cancel(orders[0].id))
    assert all(isinstance(each, OrderCancelled) for each in outcomes), outcomes
    statuses = [each.status for each in world.orders(venue).values()]
    assert statuses.count(OrderStatus.CANCELLED) == 1
    assert statuses.count(OrderStatus.PARTLY_CANCELLED) == 3
    assert counters(world, venue, "floor") == [(0, 399)]


def test_a_repeated_request_gets_the_first_answer(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 2))
    key = venue.key()
    first = answer(engine, venue.cancel(order.id, key=key))
    again = answer(engine, venue.cancel(order.id, key=key))
    assert isinstance(first.outcome, OrderCancelled)
    assert (again.body, again.is_replay) == (first.body, True)
    assert sum(fact.type == "order.cancelled" for fact in world.facts(venue)) == 1


def test_two_parts_of_an_order_can_be_cancelled_in_one_group(world: World) -> None:
    venue = theatre(world)
    engine = Admission(world.store)
    engine.start()
    order = bought(engine, venue, ("standing", 3))
    engine.stop()
    first, second, third = (ticket.id for ticket in order.tickets)
    commands = [venue.cancel(order.id, first), venue.cancel(order.id, second, third)]
    one, other = in_one_group(world.store, *commands)
    assert isinstance(one, OrderCancelled)
    assert isinstance(other, OrderCancelled)
    assert (one.order.version, other.order.version) == (2, 3)
    assert world.orders(venue) == {order.id: other.order}
    assert counters(world, venue, "floor") == [(0, 0)]
    told = [(fact.type, fact.version) for fact in world.facts(venue)][-5:]
    assert told == [
        ("order.cancelled", 3),
        ("ticket.voided", 3),
        ("order.cancelled", 4),
        *[("ticket.voided", 4)] * 2,
    ]


def test_the_same_ticket_is_cancelled_once_in_one_group(world: World) -> None:
    venue = theatre(world)
    engine = Admission(world.store)
    engine.start()
    order = bought(engine, venue, ("standing", 2))
    engine.stop()
    commands = [venue.cancel(order.id), venue.cancel(order.id, order.tickets[0].id)]
    one, other = in_one_group(world.store, *commands)
    assert isinstance(one, OrderCancelled)
    assert isinstance(other, Refusal)
    assert other.code is RefusalCode.ORDER_ALREADY_CANCELLED


def test_a_blocked_seat_stays_blocked_and_is_free_after_that(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    order = bought(engine, venue, venue.these("Stalls A 1"))
    ask(engine, venue.block("Stalls A 1"))
    before = len(world.facts(venue))
    cancelled(engine, venue.cancel(order.id))
    seat = world.seats(venue)["Stalls A 1"]
    assert (seat.status, seat.hold_id, seat.blocked_reason) == ("blocked", None, "broken")
    types = [fact.type for fact in world.facts(venue)[before:]]
    assert types == ["order.cancelled", "ticket.voided"], "the seat is not on sale"
    refused(engine, venue.seats("Stalls A 1", holder=STRANGER))
    ask(engine, venue.unblock("Stalls A 1"))
    assert world.seats(venue)["Stalls A 1"].status == "available"
    placed(engine, venue.seats("Stalls A 1", holder=STRANGER))


def test_facts_and_audit_keep_the_order_of_the_decisions_in_a_group(world: World) -> None:
    """Otherwise the last that consumers hear of a seat may not be its status."""
    venue = theatre(world)
    engine = Admission(world.store)
    engine.start()
    order = bought(engine, venue, venue.these("Stalls A 1"))
    ask(engine, venue.block("Stalls A 1", "Stalls A 2"))
    engine.stop()
    before, entries_before = len(world.payloads(venue)), len(world.audit(venue))
    commands = [
        venue.unblock("Stalls A 1"),
        venue.cancel(order.id),
        venue.unblock("Stalls A 2"),
        venue.seats("Stalls A 2", holder=STRANGER),
    ]
    outcomes = in_one_group(world.store, *commands)
    assert not any(isinstance(each, Refusal) for each in outcomes)
    told = [(type_, each.get("status")) for type_, each in world.payloads(venue)[before:]]
    assert told == [
        ("seat.unblocked", "sold"),
        ("order.cancelled", "cancelled"),
        ("seat.released", None),
        ("ticket.voided", None),
        ("seat.unblocked", "available"),
        ("hold.created", None),
        ("seat.held", None),
    ]
    entries = [each.action for each in world.audit(venue)[entries_before:]]
    assert entries == [
        "seat.unblocked",
        "order.cancelled",
        "seat_released",
        "seat.unblocked",
        "hold.created",
        "seat_reserved",
    ]
    seats = world.seats(venue)
    assert [seats[f"Stalls A {n}"].status for n in (1, 2)] == ["available", "held"]


def test_a_cancelled_place_reaches_the_first_on_the_waitlist(
    world: World, engine: Admission
) -> None:
    venue = club(world, 2)
    order = bought(engine, venue, ("standing", 2))
    first, second = (
        waiting(engine, venue.place(("standing", 1), holder=a_person(n))) for n in range(2)
    )
    cancelled(engine, venue.cancel(order.id, order.tickets[0].id))
    holds = world.holds(venue)
    assert (holds[first.id].status, holds[second.id].status) == ("active", "waiting")
    assert counters(world, venue, "floor") == [(1, 1)]
    assert world.is_settled(venue)
    types = [fact.type for fact in world.facts(venue)[-3:]]
    assert sorted(types) == ["hold.promoted", "order.cancelled", "ticket.voided"]
    newcomer = waiting(engine, venue.place(("standing", 1), holder=a_person(9)))
    assert world.position(newcomer) == 2, "nobody overtakes the waitlist"


def test_a_cancelled_seat_goes_to_the_party_that_waits_for_it(
    world: World, engine: Admission
) -> None:
    hall = Hall({"Stalls": {"A": 2}}, {"seat": ()})
    venue = world.build(Plan({}, {}, POLICY, hall=hall))
    order = bought(engine, venue, venue.these("Stalls A 1", "Stalls A 2"))
    couple = waiting(engine, venue.place(venue.some("seat", 2, together=True)))
    cancelled(engine, venue.cancel(order.id, order.tickets[0].id))
    assert world.holds(venue)[couple.id].status == "waiting", "one seat is not enough"
    cancelled(engine, venue.cancel(order.id))
    promoted = world.hold(venue, couple.id)
    assert promoted.status.value == "active"
    assert sorted(venue.names_of(promoted)) == ["Stalls A 1", "Stalls A 2"]
    assert {seat.status for seat in world.seats(venue).values()} == {"held"}


def test_cancelling_puts_nobody_on_the_waitlist(world: World, engine: Admission) -> None:
    """The person who cancelled is served only if they joined the waitlist themselves, in turn."""
    venue = club(world, 1)
    order = bought(engine, venue, ("standing", 1), holder=a_person(0))
    other = waiting(engine, venue.place(("standing", 1), holder=a_person(1)))
    own = waiting(engine, venue.place(("standing", 1), holder=a_person(0)))
    cancelled(engine, venue.cancel(order.id))
    holds = world.holds(venue)
    assert (holds[other.id].status, holds[own.id].status) == ("active", "waiting")
    assert len(holds) == 3, "no hold was made for the person who cancelled"
    ask(engine, venue.release(other.id))
    assert world.holds(venue)[own.id].status == "active"


def test_nobody_is_served_by_a_cancellation_after_the_sale(world: World, engine: Admission) -> None:
    venue = club(world, 1)
    order = bought(engine, venue, ("standing", 1))
    party = waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    world.end_sale(venue)
    cancelled(engine, venue.cancel(order.id))
    assert world.holds(venue)[party.id].status == "cancelled"
    assert counters(world, venue, "floor") == [(0, 0)]


def test_nobody_is_served_by_a_cancellation_after_the_session_has_started(
    world: World, engine: Admission
) -> None:
    venue = club(world, 1)
    order = bought(engine, venue, ("standing", 1))
    party = waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    world.start_session(venue)
    cancelled(engine, venue.cancel(order.id))
    assert world.holds(venue)[party.id].status == "cancelled"
    assert counters(world, venue, "floor") == [(0, 0)]


def test_nobody_joins_the_waitlist_of_a_session_that_has_started(
    world: World, engine: Admission
) -> None:
    venue = club(world, 1)
    bought(engine, venue, ("standing", 1))
    world.start_session(venue)
    refusal = refused(engine, venue.place(("standing", 1), holder=STRANGER))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY


@pytest.mark.parametrize("status", [EventStatus.CANCELLED, EventStatus.ARCHIVED])
def test_the_order_of_an_event_that_is_over_can_be_cancelled(
    world: World, engine: Admission, status: EventStatus
) -> None:
    venue = club(world, 1)
    order = bought(engine, venue, ("standing", 1))
    party = waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    world.set_status(venue, status)
    cancelled(engine, venue.cancel(order.id))
    assert world.holds(venue)[party.id].status == "cancelled"
    assert world.orders(venue)[order.id].status is OrderStatus.CANCELLED


def test_cancelled_tickets_do_not_count_towards_the_limit(world: World, engine: Admission) -> None:
    venue = club(world, 20, replace(POLICY, waitlist=False, holder_units_max=3))
    order = bought(engine, venue, ("standing", 3))
    refused(engine, venue.place(("standing", 1)))
    cancelled(engine, venue.cancel(order.id, order.tickets[0].id))
    refusal = refused(engine, venue.place(("standing", 2)))
    assert (refusal.details["limit"], refusal.details["current"]) == (3, 2)
    placed(engine, venue.place(("standing", 1)))
    cancelled(engine, venue.cancel(order.id))
    placed(engine, venue.place(("standing", 2)))


def test_a_limit_counts_what_was_cancelled_earlier_in_the_group(world: World) -> None:
    venue = club(world, 20, replace(POLICY, waitlist=False, holder_units_max=3))
    engine = Admission(world.store)
    engine.start()
    order = bought(engine, venue, ("standing", 3))
    engine.stop()
    outcomes = in_one_group(world.store, venue.cancel(order.id), venue.place(("standing", 3)))
    assert [type(each).__name__ for each in outcomes] == ["OrderCancelled", "Placed"]


def test_a_cancelled_seat_can_be_sold_again(world: World, engine: Admission) -> None:
    venue = theatre(world)
    for number in range(3):
        order = bought(engine, venue, venue.these("Stalls A 1"), holder=a_person(number))
        if number < 2:
            cancelled(engine, venue.cancel(order.id))
    statuses = sorted(each.status for each in world.orders(venue).values())
    assert statuses == ["cancelled", "cancelled", "confirmed"]
    assert world.seats(venue)["Stalls A 1"].hold_id == order.hold_ids[0]
