"""The refund of void tickets is recorded once, after they were cancelled. Runs on every store."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from holdfast.domain.group.outcomes import OrderCancelled, RefundRecorded
from holdfast.domain.ids import OrderId, TicketId
from holdfast.domain.orders.order import Order, OrderStatus
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.engine import Admission
from tests.contract.asking import answer, cancelled, in_one_group, recorded, refused
from tests.contract.orders.test_cancellation import bought, counters, theatre
from tests.contract.seen import World
from tests.contract.venues import Venue


def references(order: Order) -> list[str | None]:
    return [ticket.refund_reference for ticket in order.tickets]


def sold_before(world: World) -> tuple[Venue, Order]:
    """An order of three tickets, sold by another engine."""
    venue = theatre(world)
    engine = Admission(world.store)
    engine.start()
    order = bought(engine, venue, ("standing", 3))
    engine.stop()
    return venue, order


def test_a_refund_is_recorded_for_all_void_tickets(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, venue.these("Stalls A 1"), ("standing", 2))
    seat, standing, valid = order.tickets
    void = cancelled(engine, venue.cancel(order.id, seat.id, standing.id)).order
    facts = world.facts(venue)
    done = recorded(engine, venue.refund(order.id))
    assert done.ticket_ids == (seat.id, standing.id)
    assert references(done.order) == ["re_1", "re_1", None]
    assert (done.order.status, done.order.version) == (OrderStatus.PARTLY_CANCELLED, 3)
    assert done.order.tickets[2] == valid
    for before, after in zip(void.tickets[:2], done.order.tickets[:2], strict=True):
        assert before.voided is not None
        assert after.voided is not None
        assert after.voided.at == before.voided.at
        assert (after.voided.version, after.voided.reason) == (2, "Ann fell ill")
    assert world.orders(venue) == {order.id: done.order}
    assert counters(world, venue, "floor", "Stalls capacity") == [(0, 1), (0, 0)]
    assert world.facts(venue) == facts, "who made the refund knows of it"
    assert world.audit(venue)[-1] == (
        *("order.refunded", order.hold_ids[0], "operator:ann"),
        *("partly_cancelled", "partly_cancelled", None),
    )


def test_tickets_that_were_cancelled_since_get_no_reference(
    world: World, engine: Admission
) -> None:
    """The person has refunded those that were void before."""
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 2))
    seen = cancelled(engine, venue.cancel(order.id, order.tickets[0].id)).order
    cancelled(engine, venue.cancel(order.id))
    refusal = refused(engine, venue.refund(order.id, version=seen.version))
    assert refusal.code is RefusalCode.ORDER_CHANGED
    now = world.orders(venue)[order.id]
    assert references(now) == [None, None]
    assert len(recorded(engine, venue.refund(order.id, version=now.version)).ticket_ids) == 2


def test_each_part_of_an_order_has_its_own_refund(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 4))
    first, second, third, _ = (ticket.id for ticket in order.tickets)
    cancelled(engine, venue.cancel(order.id, first, refund_reference="re_0"))
    cancelled(engine, venue.cancel(order.id, second, third))
    done = recorded(engine, venue.refund(order.id, third, reference="re_3"))
    assert done.ticket_ids == (third,)
    rest = recorded(engine, venue.refund(order.id, reference="re_2"))
    assert (rest.ticket_ids, rest.order.version) == ((second,), 5)
    assert references(rest.order) == ["re_0", "re_2", "re_3", None]
    last = cancelled(engine, venue.cancel(order.id, version=5)).order
    assert (last.status, last.version) == (OrderStatus.CANCELLED, 6)
    assert references(last) == ["re_0", "re_2", "re_3", None]
    assert world.orders(venue) == {order.id: last}


@pytest.mark.parametrize("names_tickets", [True, False])
def test_the_same_refund_is_recorded_once(
    world: World, engine: Admission, *, names_tickets: bool
) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 2))
    cancelled(engine, venue.cancel(order.id))
    first = recorded(engine, venue.refund(order.id)).order
    audit = world.audit(venue)
    named = [ticket.id for ticket in order.tickets] if names_tickets else []
    again = recorded(engine, venue.refund(order.id, *named))
    assert (again.order, again.ticket_ids) == (first, ())
    assert world.audit(venue) == audit


@pytest.mark.parametrize(
    ("named", "code", "told"),
    [
        (lambda void, other, valid: [void, valid], RefusalCode.TICKET_NOT_VOID, [2]),
        (lambda void, other, valid: [void, other], RefusalCode.ALREADY_REFUNDED, [1]),
        (lambda void, other, valid: [void, TicketId(uuid4())], RefusalCode.INVALID_TICKET, None),
    ],
)
def test_all_named_tickets_get_the_reference_or_none(
    world: World,
    engine: Admission,
    named: Callable[..., list[TicketId]],
    code: RefusalCode,
    told: list[int] | None,
) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 3))
    void, other, valid = (ticket.id for ticket in order.tickets)
    cancelled(engine, venue.cancel(order.id, void))
    cancelled(engine, venue.cancel(order.id, other, refund_reference="re_0"))
    before = (world.orders(venue), world.audit(venue))
    refusal = refused(engine, venue.refund(order.id, *named(void, other, valid)))
    assert refusal.code is code
    if told is not None:
        ticket_ids = [str(order.tickets[number].id) for number in told]
        assert refusal.details == {"order_id": str(order.id), "ticket_ids": ticket_ids}
    assert (world.orders(venue), world.audit(venue)) == before


def test_there_is_nothing_to_refund(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 1))
    assert refused(engine, venue.refund(order.id)).code is RefusalCode.TICKET_NOT_VOID
    cancelled(engine, venue.cancel(order.id, refund_reference="re_0"))
    assert refused(engine, venue.refund(order.id)).code is RefusalCode.ALREADY_REFUNDED
    assert refused(engine, venue.refund(OrderId(uuid4()))).code is RefusalCode.ORDER_NOT_FOUND
    elsewhere = theatre(world)
    assert refused(engine, elsewhere.refund(order.id)).code is RefusalCode.ORDER_NOT_FOUND
    assert references(world.orders(venue)[order.id]) == ["re_0"]


def test_a_wrong_reference_or_a_doubled_ticket_is_no_command(world: World) -> None:
    venue, order = sold_before(world)
    ticket_id = order.tickets[0].id
    with pytest.raises(InvalidValue, match="only once"):
        venue.refund(order.id, ticket_id, ticket_id)
    for wrong in ("", "x" * 256):
        with pytest.raises(InvalidValue, match="refund_reference"):
            venue.refund(order.id, reference=wrong)


def test_a_repeated_request_gets_the_first_answer(world: World, engine: Admission) -> None:
    venue = theatre(world)
    order = bought(engine, venue, ("standing", 1))
    cancelled(engine, venue.cancel(order.id))
    key = venue.key()
    first = answer(engine, venue.refund(order.id, key=key))
    again = answer(engine, venue.refund(order.id, key=key))
    assert isinstance(first.outcome, RefundRecorded)
    assert (again.body, again.is_replay) == (first.body, True)


def test_of_two_refunds_in_one_group_the_first_counts(world: World) -> None:
    venue, order = sold_before(world)
    commands = [
        venue.cancel(order.id),
        venue.refund(order.id, reference="re_1"),
        venue.refund(order.id, reference="re_2"),
    ]
    _, done, other = in_one_group(world.store, *commands)
    assert isinstance(done, RefundRecorded)
    assert isinstance(other, Refusal)
    assert other.code is RefusalCode.ALREADY_REFUNDED
    assert references(world.orders(venue)[order.id]) == ["re_1"] * 3


def test_cancellations_and_refunds_of_one_group_are_kept_in_their_order(world: World) -> None:
    venue, order = sold_before(world)
    first, second, third = (ticket.id for ticket in order.tickets)
    commands = [
        venue.cancel(order.id, first),
        venue.refund(order.id, reference="re_1"),
        venue.cancel(order.id, second, third),
    ]
    *_, last = in_one_group(world.store, *commands)
    assert isinstance(last, OrderCancelled)
    assert (last.order.version, references(last.order)) == (4, ["re_1", None, None])
    assert world.orders(venue) == {order.id: last.order}
