"""Orders and tickets: derived ids, and codes nobody can guess."""

from dataclasses import replace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from holdfast.domain.facts import order_fact
from holdfast.domain.holds.hold import LineSeat
from holdfast.domain.ids import BlockId, HoldId, OrderId, SeatId
from holdfast.domain.orders.order import (
    SEED_BYTES,
    Attendee,
    Purchase,
    checkout_id_of,
    make_order,
    revival_id,
    ticket_code,
)
from holdfast.domain.values import EmailAddress, InvalidValue
from tests.domain.holds.test_hold import NOW, a_hold

SEED = bytes(range(SEED_BYTES))


def test_the_checkout_id_does_not_depend_on_the_order_of_holds() -> None:
    one, other = HoldId(uuid4()), HoldId(uuid4())
    assert checkout_id_of([one, other]) == checkout_id_of([other, one])
    assert len({checkout_id_of(ids) for ids in ([one], [other], [one, other])}) == 3


def test_the_id_of_a_revived_hold_is_deterministic_and_distinct() -> None:
    hold_ids = [HoldId(uuid4()) for _ in range(100)]
    stand_ins = {revival_id(hold_id) for hold_id in hold_ids}
    assert len(stand_ins) == 100
    assert stand_ins.isdisjoint(hold_ids)
    assert {revival_id(hold_id) for hold_id in hold_ids} == stand_ins


def test_derived_ids_and_codes_are_the_same_in_every_version() -> None:
    """A click or a payment repeated during an upgrade finds what the old version made."""
    one, other = HoldId(UUID(int=1)), HoldId(UUID(int=2))
    assert str(checkout_id_of([one, other])) == "22f4356d-2211-58e3-8744-e248f8b2617b"
    assert str(revival_id(one)) == "f8ca1994-c01a-5a3c-805a-234f2f3fc185"
    assert ticket_code(SEED, 0) == "M46YK6SHRRRMSVF55V1643TJNN"
    assert ticket_code(SEED, 70_000) == "BHWZZ09NXMJ2R6JRH3H13G9PJ2"
    order_id = OrderId(UUID("0198f1c3-1d20-7e41-8a77-91c4f05e000d"))
    tickets = make_order([a_hold()], Purchase(order_id, SEED), NOW, None).tickets
    assert [str(ticket.id) for ticket in tickets] == [
        "0198f1c3-1d20-897f-b966-b1fc2e949e32",
        "0198f1c3-1d20-8902-a8a1-23ea372c2e33",
        "0198f1c3-1d20-82f9-9aa1-28b1d4df711a",
    ]
    assert tickets[0].code == ticket_code(SEED, 0)


def test_the_tickets_of_an_order_are_neighbours_in_the_index() -> None:
    one, other = (OrderId(uuid7()) for _ in range(2))
    orders = [make_order([a_hold()], Purchase(id_, SEED), NOW, None) for id_ in (one, other)]
    for order in orders:
        assert {ticket.id.bytes[:6] for ticket in order.tickets} == {order.id.bytes[:6]}
        assert {ticket.id.version for ticket in order.tickets} == {8}
    assert len({ticket.id for order in orders for ticket in order.tickets}) == 6


def test_ticket_codes_are_distinct_and_depend_on_every_bit_of_the_seed() -> None:
    codes = {ticket_code(SEED, number) for number in range(10_000)}
    assert len(codes) == 10_000
    assert {len(code) for code in codes} == {26}
    assert set("".join(codes)) == set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    for bit in range(8 * SEED_BYTES):
        other = bytearray(SEED)
        other[bit // 8] ^= 1 << bit % 8
        assert ticket_code(bytes(other), 0) != ticket_code(SEED, 0)


def test_a_short_seed_is_rejected() -> None:
    with pytest.raises(AssertionError):
        Purchase(OrderId(uuid4()), SEED[:-1])


def test_an_order_sums_its_holds_and_has_a_ticket_for_each_unit() -> None:
    holds = [a_hold(), replace(a_hold(), currency="EUR")]
    purchase = Purchase(OrderId(uuid4()), SEED, "pay-1", (None, Attendee("Ada")))
    order = make_order(holds, purchase, NOW, None)
    assert (order.total.minor, len(order.tickets)) == (20_000, 6)
    assert sum(ticket.unit_price_minor for ticket in order.tickets) == order.total.minor
    assert len({ticket.id for ticket in order.tickets}) == 6
    assert [ticket.hold_id for ticket in order.tickets] == [holds[0].id] * 3 + [holds[1].id] * 3
    names = [ticket.attendee and ticket.attendee.name for ticket in order.tickets]
    assert names == [None, "Ada", None, None, None, None]


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\x00b"])
def test_an_attendee_name_must_be_short_and_printable(name: str) -> None:
    with pytest.raises(InvalidValue):
        Attendee(name)


def test_an_attendee_needs_a_name_or_an_email() -> None:
    with pytest.raises(InvalidValue):
        Attendee()
    Attendee(email=EmailAddress("ada@example.com"))
    Attendee("x")
    Attendee("x" * 200)


def test_the_fact_of_an_order_names_the_seat_of_each_ticket() -> None:
    hold = a_hold()
    seat = LineSeat(SeatId(uuid4()), BlockId(uuid4()), "Stalls", "A", "1", 1)
    seated = replace(hold.lines[1], seat=seat)
    hold = replace(hold, lines=(hold.lines[0], seated))
    order = make_order([hold], Purchase(OrderId(uuid4()), SEED), NOW, None)
    payload = order_fact(order, 3).payload
    assert order_fact(order, 3).version == 3
    tickets = payload["tickets"]
    assert isinstance(tickets, list)
    assert [cast("Any", ticket).get("seat_id") for ticket in tickets] == [None, None, str(seat.id)]
    assert [cast("Any", ticket)["ticket_type_id"] for ticket in tickets] == [
        str(line.ticket_type_id) for line in hold.lines for _ in range(line.quantity)
    ]
