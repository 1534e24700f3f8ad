"""Paid holds become one order, as a whole or not at all. Runs on every store."""

from collections import Counter
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.outcomes import AlreadyConverted, Converted
from holdfast.domain.ids import HoldId
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX, Attendee
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import EmailAddress
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, converted, placed, refused, started
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue, a_purchase

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 4})


def theatre(world: World, beside: Venue | None = None, currency: str = "EUR") -> Venue:
    plan = Plan(
        {"floor": 10, "house": 20},
        {"standing": ("floor", "house")},
        HoldPolicy(600),
        hall=HALL,
        currency=currency,
    )
    return world.build(plan, beside)


def test_a_paid_hold_becomes_an_order_with_a_ticket_for_each_unit(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1"), ("standing", 2)))
    done = converted(engine, venue.convert(hold.id, purchase=a_purchase(payment_reference="pay-1")))
    order = done.order
    assert (order.holder, order.hold_ids, order.payment_reference) == (BUYER, (hold.id,), "pay-1")
    assert (order.total.minor, order.total.currency) == (3 * 4500, "EUR")
    assert world.orders(venue) == {order.id: order}
    seat, *standing = order.tickets
    assert seat.seat == hold.seats[0]
    assert [ticket.seat for ticket in standing] == [None, None]
    assert {ticket.unit_price_minor for ticket in order.tickets} == {4500}
    assert {ticket.hold_id for ticket in order.tickets} == {hold.id}
    after = world.hold(venue, hold.id)
    assert (after,) == done.holds
    assert (after.status.value, after.order_id, after.confirmed_at) == (
        "converted",
        order.id,
        order.created_at,
    )


def test_a_converted_hold_is_sold_and_never_expires(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(venue.these("Stalls A 1"), ("standing", 2)))
    converted(engine, venue.convert(hold.id))
    for name, units in (("floor", 2), ("house", 2), ("Stalls capacity", 1)):
        pool = world.pool(venue.pools[name])
        assert (pool.held, pool.sold) == (0, units)
        assert world.lapse_units(pool.id) == 0
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("sold", hold.id, 3)
    world.let_pass(venue, 5000)
    ask(engine, venue.expire(hold.id))
    assert world.holds(venue)[hold.id].status == "converted"
    refusal = refused(engine, venue.place(("standing", 9)))
    assert refusal.details == {"available_quantity": 8}
    for number in (2, 3, 4):
        placed(engine, venue.seats(f"Stalls A {number}"))
    refusal = refused(engine, venue.seats("Stalls A 5"))
    assert refusal.code is RefusalCode.BLOCK_AT_CAPACITY


def test_a_conversion_publishes_the_hold_then_its_seats_then_the_order(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    first = placed(engine, venue.seats("Stalls A 1"))
    second = placed(engine, venue.place(("standing", 2)))
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    converted(engine, venue.convert(first.id, second.id))
    (a1,) = venue.seat_ids("Stalls A 1")
    assert world.facts(venue)[facts:] == [
        ("hold.converted", first.id, 2, None),
        ("seat.sold", first.id, 2, a1),
        ("hold.converted", second.id, 2, None),
        ("order.confirmed", first.id, 2, None),
    ]
    assert world.audit(venue)[audit:] == [
        ("hold.converted", first.id, "test", "active", "converted", None),
        ("seat_sold", first.id, "test", "held", "sold", a1),
        ("hold.converted", second.id, "test", "active", "converted", None),
    ]


def test_several_holds_of_several_sessions_become_one_order(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    evening = theatre(world, beside=venue)
    holds = [
        placed(engine, venue.seats("Stalls A 1", "Stalls A 2")),
        placed(engine, evening.place(("standing", 3))),
    ]
    checkout = started(engine, venue.check_out(*(hold.id for hold in holds)))
    order = converted(
        engine,
        venue.convert(*(hold.id for hold in holds), checkout_id=checkout.checkout_id),
    ).order
    assert order.checkout_id == checkout.checkout_id
    assert order.total.minor == 5 * 4500
    assert Counter((ticket.hold_id, ticket.session_id) for ticket in order.tickets) == {
        (holds[0].id, venue.session_id): 2,
        (holds[1].id, evening.session_id): 3,
    }
    assert world.orders(venue) == {order.id: order}


def test_ticket_codes_are_long_distinct_and_not_derivable_from_public_data(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    holds = [placed(engine, venue.place(("standing", 5))) for _ in range(2)]
    purchases = [a_purchase(), a_purchase()]
    # The same order id with another secret gives other codes: the id does not reveal them.
    other = replace(purchases[1], order_id=purchases[0].order_id)
    orders = [
        converted(engine, venue.convert(hold.id, purchase=purchase)).order
        for hold, purchase in zip(holds, purchases, strict=True)
    ]
    codes = [ticket.code for order in orders for ticket in order.tickets]
    assert len(set(codes)) == 10
    assert all(len(code) == 26 and code.isalnum() and code == code.upper() for code in codes)
    shown = str(world.facts(venue)) + str(world.audit(venue))
    assert not any(code in shown for code in codes)
    elsewhere = theatre(world)
    hold = placed(engine, elsewhere.place(("standing", 5)))
    again = converted(engine, elsewhere.convert(hold.id, purchase=other)).order
    assert not {ticket.code for ticket in again.tickets} & {t.code for t in orders[0].tickets}


def test_attendees_are_assigned_to_tickets_in_order(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 3)))
    ada = Attendee("Ada", EmailAddress("ada@example.com"))
    grace = Attendee(name="Grace")
    order = converted(engine, venue.convert(hold.id, purchase=a_purchase(ada, None, grace))).order
    assert [ticket.attendee for ticket in order.tickets] == [ada, None, grace]
    assert world.orders(venue) == {order.id: order}


def test_an_order_accepts_fewer_attendees_than_tickets_but_not_more(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 2)))
    ada = Attendee("Ada")
    refusal = refused(engine, venue.convert(hold.id, purchase=a_purchase(ada, ada, ada)))
    assert refusal.code is RefusalCode.TOO_MANY_ATTENDEES
    assert refusal.details == {"tickets": 2}
    order = converted(engine, venue.convert(hold.id, purchase=a_purchase(ada))).order
    assert [ticket.attendee for ticket in order.tickets] == [ada, None]


def test_one_expired_hold_prevents_the_whole_conversion(world: World, engine: Admission) -> None:
    venue = theatre(world)
    lapsed = placed(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 300)
    live = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 301)
    for _ in range(2):
        refusal = refused(engine, venue.convert(live.id, lapsed.id))
        assert refusal.code is RefusalCode.HOLD_EXPIRED
        assert refusal.details == {"lapsed_hold_ids": [str(lapsed.id)]}
        ask(engine, venue.expire(lapsed.id))
    assert world.holds(venue)[live.id].version == 1
    assert world.orders(venue) == {}
    assert world.pool(venue.pools["floor"]).sold == 0


def test_paying_twice_returns_the_first_order(world: World, engine: Admission) -> None:
    venue = theatre(world)
    holds = [placed(engine, venue.place(("standing", 1))) for _ in range(2)]
    ids = [hold.id for hold in holds]
    order = converted(engine, venue.convert(*ids)).order
    facts = world.facts(venue)
    for again in (ids, ids[::-1], ids[:1]):
        outcome = ask(engine, venue.convert(*again))
        assert isinstance(outcome, AlreadyConverted)
        assert outcome.order_id == order.id
    assert world.facts(venue) == facts
    assert list(world.orders(venue)) == [order.id]


def test_two_payments_in_one_group_make_one_order(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    futures = [engine.submit(venue.convert(hold.id)) for _ in range(10)]
    outcomes = [future.result(60).outcome for future in futures]
    (made,) = [outcome.order.id for outcome in outcomes if isinstance(outcome, Converted)]
    repeated = [outcome.order_id for outcome in outcomes if isinstance(outcome, AlreadyConverted)]
    assert repeated == [made] * 9
    assert list(world.orders(venue)) == [made]


def test_a_hold_of_another_order_cannot_be_converted_again(world: World, engine: Admission) -> None:
    venue = theatre(world)
    holds = [placed(engine, venue.place(("standing", 1))) for _ in range(3)]
    for hold in holds[:2]:
        converted(engine, venue.convert(hold.id))
    for ids in ((holds[0].id, holds[1].id), (holds[0].id, holds[2].id)):
        refusal = refused(engine, venue.convert(*ids))
        assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    assert world.holds(venue)[holds[2].id].status == "active"


def test_one_key_makes_one_order_and_repeats_its_answer(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 1)))
    key = venue.key()
    first = answer(engine, venue.convert(hold.id, key=key))
    again = answer(engine, venue.convert(hold.id, key=key))
    assert again.is_replay
    assert again.body == first.body
    assert len(world.orders(venue)) == 1


def test_a_released_hold_cannot_be_converted(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(hold.id))
    refusal = refused(engine, venue.convert(hold.id))
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    assert refusal.details == {"current_status": "cancelled"}


def test_a_converted_hold_cannot_be_released(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 1)))
    converted(engine, venue.convert(hold.id))
    refusal = refused(engine, venue.release(hold.id))
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    assert world.pool(venue.pools["floor"]).sold == 1


def test_holds_of_other_people_and_organizations_are_not_found(
    world: World, engine: Admission
) -> None:
    venue, other = theatre(world), theatre(world)
    hold = placed(engine, venue.place(("standing", 1)))
    for command in (
        venue.convert(hold.id, holder=STRANGER),
        venue.convert(hold.id, HoldId(uuid4())),
        other.convert(hold.id),
    ):
        assert refused(engine, command).code is RefusalCode.HOLD_NOT_FOUND
    converted(engine, venue.convert(hold.id, holder=BUYER))
    refusal = refused(engine, venue.convert(hold.id, holder=STRANGER))
    assert refusal.code is RefusalCode.HOLD_NOT_FOUND, "another person does not learn of the order"


@pytest.mark.parametrize("mixed", ["holders", "currencies"])
def test_one_order_has_one_holder_and_one_currency(
    world: World, engine: Admission, mixed: str
) -> None:
    venue = theatre(world)
    mine = placed(engine, venue.place(("standing", 1)))
    if mixed == "holders":
        other = placed(engine, venue.place(("standing", 1), holder=STRANGER))
    else:
        abroad = theatre(world, venue, "CHF")
        other = placed(engine, abroad.place(("standing", 1)))
    refusal = refused(engine, venue.convert(mine.id, other.id))
    assert refusal.code.value == f"different_{mixed}"
    assert world.orders(venue) == {}


def test_an_order_has_a_maximum_number_of_tickets(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 30_000}, {"adult": ("floor",), "child": ("floor",)})
    half = TICKETS_PER_ORDER_MAX // 2
    refusal = refused(engine, venue.place(("adult", half), ("child", half + 1)))
    assert refusal.code is RefusalCode.TOO_MANY_TICKETS, "a hold that nobody could pay for"
    holds = [placed(engine, venue.place(("adult", count))) for count in (half, half, 1)]
    ids = [hold.id for hold in holds]
    for command in (venue.check_out(*ids), venue.convert(*ids)):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.TOO_MANY_TICKETS
        assert refusal.details == {"maximum": TICKETS_PER_ORDER_MAX}
    assert {hold.version for hold in world.holds(venue).values()} == {1}
    order = converted(engine, venue.convert(*ids[:2])).order
    assert len({ticket.code for ticket in order.tickets}) == TICKETS_PER_ORDER_MAX


def test_holds_of_a_cancelled_event_cannot_be_converted(world: World, engine: Admission) -> None:
    venue = theatre(world)
    paid, unpaid = (placed(engine, venue.place(("standing", 1))) for _ in range(2))
    order = converted(engine, venue.convert(paid.id)).order
    world.set_status(venue, EventStatus.CANCELLED)
    assert refused(engine, venue.convert(unpaid.id)).code is RefusalCode.EVENT_UNAVAILABLE
    outcome = ask(engine, venue.convert(paid.id))
    assert isinstance(outcome, AlreadyConverted)
    assert outcome.order_id == order.id
