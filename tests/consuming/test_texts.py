"""What buyers read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.amounts import written
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat
from holdfast.domain.ids import (
    BlockId,
    HoldId,
    OrderId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.orders.order import Attendee, Purchase, make_order
from holdfast.domain.values import EmailAddress, Holder, Money
from holdfast.services.facts.notice_texts import (
    Admissions,
    Occasion,
    confirmation,
    promotion,
    warning,
)

NOW = datetime(2026, 11, 16, 19, 0, 0, tzinfo=UTC)
OCCASION = Occasion("Hamlet", "Friday", datetime(2026, 12, 4, 19, 30, tzinfo=UTC))
STALLS, BALCONY = TicketTypeId(uuid4()), TicketTypeId(uuid4())


def a_hold(*lines: Line, seconds: int = 60) -> Hold:
    return Hold(
        organization_id=OrganizationId(uuid4()),
        id=HoldId(uuid4()),
        session_id=SessionId(uuid4()),
        reference="HF-7K2M",
        holder=Holder(EmailAddress("buyer@example.com")),
        lines=lines,
        currency="EUR",
        status=HoldStatus.ACTIVE,
        version=1,
        created_at=NOW,
        updated_at=NOW,
        held_at=NOW,
        expires_at=NOW + timedelta(seconds=seconds),
    )


def a_seat(number: str) -> Line:
    seat = LineSeat(SeatId(uuid4()), BlockId(uuid4()), "Stalls", "C", number, int(number))
    return Line(STALLS, 1, 4500, (PoolId(uuid4()),), seat)


SOME = Line(BALCONY, 2, 1250, ())


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (4500, "EUR", "45.00 EUR"),
        (5, "EUR", "0.05 EUR"),
        (0, "USD", "0.00 USD"),
        (800, "JPY", "800 JPY"),
        (450_000, "HUF", "4500.00 HUF"),
        (1234567, "BHD", "1234.567 BHD"),
    ],
)
def test_amounts_are_written_as_their_currency_is(minor: int, currency: str, text: str) -> None:
    assert written(Money(minor, currency)) == text


def test_a_confirmation_names_everything() -> None:
    hold = a_hold(a_seat("7"), a_seat("8"), SOME)
    purchase = Purchase(OrderId(uuid4()), b"s" * 32, attendees=(Attendee(name="Ada"),))
    order = make_order([hold], purchase, NOW, None)
    codes = [ticket.code for ticket in order.tickets]
    told = confirmation(
        order,
        [hold.reference],
        [Admissions(OCCASION, order.tickets)],
        {STALLS: "Seat", BALCONY: "Standing"},
    )
    assert told.subject == "Your tickets for Hamlet"
    assert told.body == (
        "Thank you, your order is confirmed.\n"
        "\n"
        "Booking reference: HF-7K2M\n"
        f"Order: {order.id}\n"
        "\n"
        "Hamlet, Friday, 04 December 2026, 19:30:00 UTC\n"
        "\n"
        f"- Seat, Stalls, row C, seat 7, for Ada, 45.00 EUR, code {codes[0]}\n"
        f"- Seat, Stalls, row C, seat 8, 45.00 EUR, code {codes[1]}\n"
        f"- Standing, 12.50 EUR, code {codes[2]}\n"
        f"- Standing, 12.50 EUR, code {codes[3]}\n"
        "\n"
        "Total: 115.00 EUR\n"
        "\n"
        "Keep these codes. Each admits one person.\n"
    )


def test_tickets_of_several_events_are_told_apart() -> None:
    hold = a_hold(SOME)
    order = make_order([hold], Purchase(OrderId(uuid4()), b"s" * 32), NOW, None)
    other = replace(OCCASION, event_name="Macbeth", starts_at=None)
    parts = [Admissions(OCCASION, order.tickets[:1]), Admissions(other, order.tickets[1:])]
    told = confirmation(order, ["HF-1", "HF-2"], parts, {})
    assert told.subject == "Your tickets for Hamlet, Macbeth"
    assert "Booking reference: HF-1, HF-2\n" in told.body
    assert f"Macbeth, Friday\n\n- Ticket, 12.50 EUR, code {order.tickets[1].code}\n" in told.body


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (300, "5 minutes"),
        (61, "1 minute and 1 second"),
        (60, "1 minute"),
        (59, "59 seconds"),
        (1, "1 second"),
        (0, "0 seconds"),
    ],
)
def test_a_warning_says_how_long_that_is(seconds: int, left: str) -> None:
    told = warning(a_hold(a_seat("7"), seconds=seconds), OCCASION, NOW)
    assert told.subject == f"{left} left to pay for your ticket for Hamlet"
    assert f"Please pay within {left}, by 16 November 2026, 19:" in told.body
    assert (
        "Booking reference: HF-7K2M\nSeat: Stalls, row C, seat 7\nTotal: 45.00 EUR\n" in told.body
    )


def test_a_promoted_buyer_reads_what_is_ready_and_until_when_to_pay() -> None:
    told = promotion(a_hold(a_seat("7"), a_seat("8"), seconds=599), OCCASION, NOW)
    assert told.subject == "Your tickets for Hamlet are ready. Please pay within 10 minutes"
    assert told.body == (
        "Your 2 tickets for Hamlet, Friday, 04 December 2026, 19:30:00 UTC, are ready.\n"
        "Please pay within 10 minutes, by 16 November 2026, 19:09:59 UTC.\n"
        "After that they go to the next person on the waitlist.\n"
        "\n"
        "Booking reference: HF-7K2M\n"
        "Seat: Stalls, row C, seat 7\n"
        "Seat: Stalls, row C, seat 8\n"
        "Total: 90.00 EUR\n"
    )
    alone = promotion(a_hold(a_seat("7"), seconds=59), OCCASION, NOW)
    assert alone.subject.endswith("Please pay within 59 seconds")
    assert alone.body.startswith("Your ticket for Hamlet, Friday, ")
    assert "After that it goes to the next person" in alone.body
