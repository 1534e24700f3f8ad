"""Facts and audit records: which fields they have, and which they leave out."""

from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain.facts import (
    TICKETS_IN_FACT_MAX,
    Fact,
    audit_of,
    facts_of,
    iso,
    order_fact,
)
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import CartItem, Hold, HoldStatus, LineSeat, Remarks, WaitingPlace
from holdfast.domain.ids import BlockId, EventId, HoldId, OrderId, SeatId, SessionKey
from holdfast.domain.orders.order import SEED_BYTES, Purchase, make_order
from holdfast.domain.values import EmailAddress, Holder, JsonValue, Metadata
from tests.domain.holds.test_hold import BEFORE_END, CHECKOUT, END, NOW, ORDER, SECOND, a_hold

EVENT = EventId(uuid4())


def event_of(_: SessionKey) -> EventId:
    return EVENT


ORIGIN = Origin("test", "request-1")
LATER = END + 60 * SECOND
SEATS = [
    LineSeat(SeatId(uuid4()), BlockId(uuid4()), "Stalls", "A", str(number), number)
    for number in range(2)
]


def seated(holder: Holder | None = None) -> Hold:
    hold = a_hold()
    lines = [
        replace(hold.lines[0], quantity=1, seat=seat, number=number)
        for number, seat in enumerate(SEATS)
    ]
    return replace(hold, lines=tuple(lines), holder=holder or hold.holder)


def single() -> Hold:
    """A hold of two tickets in one line."""
    hold = a_hold()
    return replace(hold, lines=hold.lines[:1])


def facts(before: Hold | None, after: Hold, *, by_operator: bool = False) -> list[Fact]:
    return list(facts_of(Transition(before, after, ORIGIN, is_by_operator=by_operator), event_of))


def payload(before: Hold | None, after: Hold) -> dict[str, JsonValue]:
    """The payload of the hold's fact, without the fields that every one has."""
    found = facts(before, after)[0].payload
    assert found["hold_id"] == str(after.id)
    assert found["session_id"] == str(after.session_id)
    return {name: value for name, value in found.items() if name not in {"hold_id", "session_id"}}


@pytest.mark.parametrize(
    ("holder", "named"),
    [
        (Holder(user_id="user-1"), {"user_id": "user-1"}),
        (Holder(EmailAddress("a@example.com"), "user-1"), {"user_id": "user-1"}),
        (Holder(EmailAddress("a@example.com")), {}),
    ],
)
def test_the_fact_of_a_held_seat_names_the_user_if_there_is_one(
    holder: Holder, named: dict[str, str]
) -> None:
    hold = seated(holder)
    of_hold, *of_seats = facts(None, hold)
    assert (of_hold.type, of_hold.hold_id, of_hold.seat_id) == ("hold.created", hold.id, None)
    assert [(fact.type, fact.hold_id, fact.seat_id, fact.version) for fact in of_seats] == [
        ("seat.held", hold.id, seat.id, 1) for seat in SEATS
    ]
    assert of_seats[0].payload == {
        "hold_id": str(hold.id),
        "seat_id": str(SEATS[0].id),
        "session_id": str(hold.session_id),
        "event_id": str(EVENT),
        "organization_id": str(hold.organization_id),
        "timestamp": "2030-01-15T10:20:00Z",
        "held_until": "2030-01-15T10:30:00Z",
        **named,
    }


@pytest.mark.parametrize(
    ("is_expired", "by_operator", "reason", "action"),
    [
        (True, False, "ttl_expired", "seat_hold_expired"),
        (True, True, "ttl_expired", "seat_hold_expired"),
        (False, False, "user_released", "seat_released"),
        (False, True, "operator", "seat_released"),
    ],
)
def test_a_released_seat_says_why(
    is_expired: bool, by_operator: bool, reason: str, action: str
) -> None:
    hold = seated(Holder(user_id="user-1"))
    after = hold.expired(END) if is_expired else hold.released(BEFORE_END)
    _, released, _ = facts(hold, after, by_operator=by_operator)
    assert released.type == "seat.released"
    assert released.payload["reason"] == reason
    assert released.payload["released_at"] == released.payload["timestamp"] == iso(after.updated_at)
    assert not {"held_until", "user_id"} & released.payload.keys()
    transition = Transition(hold, after, ORIGIN, is_by_operator=by_operator)
    of_hold, *of_seats = audit_of(transition, event_of)
    assert [(row.action, row.seat_id) for row in of_seats] == [(action, seat.id) for seat in SEATS]
    assert (of_seats[0].old, of_seats[0].new) == ({"status": "held"}, {"status": "available"})
    assert of_hold.new.get("as_operator", False) is by_operator
    assert "lines" not in of_hold.new
    assert of_hold.old is not None
    assert "lines" not in of_hold.old


def test_the_facts_of_a_hold_that_was_ended_early_name_the_operator() -> None:
    hold = seated(Holder(user_id="user-1"))
    of_hold, released, _ = facts(hold, hold.expired_early(BEFORE_END), by_operator=True)
    assert of_hold.type == "hold.expired"
    assert (of_hold.payload["reason"], of_hold.payload["freed_quantity"]) == ("operator", 2)
    assert released.payload["reason"] == "operator"
    for after, by_operator in ((hold.expired(END), True), (hold.released(BEFORE_END), False)):
        assert "reason" not in facts(hold, after, by_operator=by_operator)[0].payload


def test_the_fact_of_a_sold_seat_has_no_expiry_and_no_reason() -> None:
    hold = seated(Holder(user_id="user-1"))
    _, sold, _ = facts(hold, hold.converted(BEFORE_END, ORDER))
    assert sold.type == "seat.sold"
    assert not {"held_until", "user_id", "reason", "released_at"} & sold.payload.keys()


def test_an_extension_publishes_no_fact_about_its_seats() -> None:
    hold = seated()
    assert [fact.type for fact in facts(hold, hold.extended(NOW, LATER, 0))] == ["hold.extended"]


def test_only_a_new_hold_publishes_the_email_and_the_metadata() -> None:
    hold = replace(single(), remarks=Remarks(metadata=Metadata({"table": "4"})))
    type_id = str(hold.lines[0].ticket_type_id)
    common: dict[str, JsonValue] = {"ticket_type_id": type_id, "quantity": 2}
    assert payload(None, hold) == {
        **common,
        "customer_email": "user@example.com",
        "expires_at": iso(END),
        "metadata": {"table": "4"},
    }
    nameless = replace(hold, holder=Holder(user_id="user-1"), remarks=Remarks())
    assert payload(None, nameless) == {**common, "expires_at": iso(END)}
    assert payload(hold, hold.released(NOW)) == {**common, "freed_quantity": 2}
    assert payload(hold, hold.converted(NOW, ORDER)) == {**common, "order_id": str(ORDER)}
    assert payload(replace(hold, warn_at=NOW), replace(hold, warn_at=NOW).warned(NOW)) == {
        **common,
        "expires_at": iso(END),
    }


def test_an_extension_says_until_when_the_hold_lasted() -> None:
    hold = single()
    common: dict[str, JsonValue] = {
        "ticket_type_id": str(hold.lines[0].ticket_type_id),
        "quantity": 2,
        "previous_expires_at": iso(END),
    }
    assert payload(hold, hold.extended(NOW, LATER, 0)) == {**common, "expires_at": iso(LATER)}
    assert payload(hold, hold.checked_out(NOW, CHECKOUT, END, 0)) == {
        **common,
        "expires_at": iso(END),
        "checkout_id": str(CHECKOUT),
        "freed_quantity": 0,
        "added_quantity": 0,
    }


def test_a_change_says_how_many_tickets_there_were() -> None:
    hold = a_hold()
    after = hold.changed(NOW, hold.lines[:1], (), hold.holder, hold.remarks)
    found = payload(hold, after)
    assert (found["quantity"], found["previous_quantity"]) == (2, 3)
    assert (found["freed_quantity"], found["added_quantity"]) == (1, 0)
    assert found["ticket_type_id"] == str(hold.lines[0].ticket_type_id)


def test_a_promotion_says_since_when_the_party_waited() -> None:
    place = WaitingPlace(uuid4(), NOW - SECOND)
    waits = replace(single(), status=HoldStatus.WAITING, held_at=None, waiting=place)
    assert "customer_email" not in payload(None, waits)
    found = payload(waits, waits.promoted(NOW, LATER, 0, waits.lines))
    assert found["waiting_since"] == "2030-01-15T10:19:59Z"
    assert found["expires_at"] == iso(LATER)
    ended = payload(waits, waits.released(NOW))
    assert (ended["quantity"], ended["freed_quantity"]) == (0, 0)


def test_a_fact_lists_the_lines_of_carts_seats_and_several_tickets() -> None:
    several, plain, seats = a_hold(), single(), seated()
    item = CartItem("item-1", uuid4())
    in_cart = replace(plain, lines=(replace(plain.lines[0], item=item),))
    line = {"ticket_type_id": str(plain.lines[0].ticket_type_id), "quantity": 2}
    of_cart = {**line, "cart_item_id": "item-1", "group_id": str(item.group_id)}
    assert "lines" not in payload(None, plain)
    assert payload(None, in_cart)["lines"] == [of_cart]
    found = payload(None, several)
    assert "ticket_type_id" not in found
    assert found["lines"] == [
        {"ticket_type_id": str(each.ticket_type_id), "quantity": each.quantity}
        for each in several.lines
    ]
    seats = replace(seats, lines=seats.lines[:1])
    assert payload(None, seats)["lines"] == [
        {
            "ticket_type_id": str(seats.lines[0].ticket_type_id),
            "quantity": 1,
            "seat_id": str(SEATS[0].id),
        }
    ]


def test_the_audit_shows_lines_only_if_they_changed() -> None:
    hold = a_hold()
    (created,) = audit_of(Transition(None, hold, ORIGIN), event_of)
    assert (created.action, created.hold_id, created.seat_id) == ("hold.created", hold.id, None)
    values = {"status": "active", "version": 1, "quantity": 3, "expires_at": iso(END)}
    assert (created.old, created.new) == (None, values)
    after = hold.changed(NOW, hold.lines[:1], (), hold.holder, hold.remarks)
    (changed,) = audit_of(Transition(hold, after, ORIGIN), event_of)
    lines = [
        {"ticket_type_id": str(line.ticket_type_id), "quantity": line.quantity}
        for line in hold.lines
    ]
    assert changed.old == {**values, "lines": lines}
    assert changed.new == {**values, "version": 2, "quantity": 2, "lines": lines[:1]}


def test_the_audit_records_the_reason_that_a_person_gave() -> None:
    origin = replace(ORIGIN, reason="double booking")
    (created,) = audit_of(Transition(None, a_hold(), origin), event_of)
    assert created.new is not None
    assert created.new["reason"] == "double booking"


def test_the_audit_names_the_order_the_replaced_hold_and_the_seats() -> None:
    hold = replace(seated(), revives=HoldId(uuid4()))
    of_hold, reserved, _ = audit_of(Transition(None, hold, ORIGIN), event_of)
    assert of_hold.new["replaces_hold_id"] == str(hold.revives)
    assert (of_hold.new["source"], of_hold.new["seat_ids"]) == (
        "web",
        [str(seat.id) for seat in SEATS],
    )
    assert "order_id" not in of_hold.new
    assert (reserved.action, reserved.old) == ("seat_reserved", {"status": "available"})
    assert reserved.new == {
        "status": "held",
        "event_id": str(EVENT),
        "held_until": iso(END),
        "source": "web",
    }
    of_hold, sold, _ = audit_of(Transition(hold, hold.converted(NOW, ORDER), ORIGIN), event_of)
    assert of_hold.new["order_id"] == str(ORDER)
    assert (sold.action, sold.old, sold.new) == (
        "seat_sold",
        {"status": "held"},
        {"status": "sold"},
    )


def test_the_fact_of_an_order_leaves_out_what_it_does_not_have() -> None:
    holds = [a_hold(), a_hold()]
    seed = bytes(SEED_BYTES)
    bare = order_fact(make_order(holds, Purchase(OrderId(uuid4()), seed), NOW, None), 2)
    assert (bare.type, bare.hold_id, bare.seat_id) == ("order.confirmed", holds[0].id, None)
    assert not {"checkout_id", "payment_reference", "metadata"} & bare.payload.keys()
    paid = Purchase(OrderId(uuid4()), seed, "pay-1")
    full = order_fact(make_order(holds, paid, NOW, CHECKOUT), 2).payload
    assert (full["checkout_id"], full["payment_reference"]) == (str(CHECKOUT), "pay-1")
    assert full["hold_ids"] == [str(hold.id) for hold in holds]
    assert isinstance(full["tickets"], list)
    assert full["ticket_count"] == len(full["tickets"]) == 6


@pytest.mark.parametrize("count", [TICKETS_IN_FACT_MAX, TICKETS_IN_FACT_MAX + 1])
def test_the_fact_of_a_large_order_counts_its_tickets_and_does_not_list_them(count: int) -> None:
    hold = a_hold()
    hold = replace(hold, lines=(replace(hold.lines[0], quantity=count),))
    purchase = Purchase(OrderId(uuid4()), bytes(SEED_BYTES))
    payload = order_fact(make_order([hold], purchase, NOW, None), 2).payload
    assert payload["ticket_count"] == count
    assert ("tickets" in payload) is (count <= TICKETS_IN_FACT_MAX)
