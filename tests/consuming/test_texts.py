"""The texts of mails to buyers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.access.scopes import Mode
from holdfast.domain.amounts import written
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat, Remarks
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
from holdfast.domain.organizations import SETTINGS, Organization, check_setting
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.values import EmailAddress, Holder, InvalidValue, Money
from holdfast.services.facts.notice_texts import (
    Admissions,
    Occasion,
    confirmation,
    promotion,
    warning,
)

NOW = datetime(2026, 11, 16, 19, 0, 0, tzinfo=UTC)
OCCASION = Occasion("Hamlet", "Friday", datetime(2026, 12, 4, 19, 30, tzinfo=UTC), "UTC")
PLAIN = Organization(
    id=OrganizationId(uuid4()),
    mode=Mode.LIVE,
    created_at=NOW,
    policy=PolicyOverride(),
    name="River Stage",
    time_zone="UTC",
)
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
def test_amounts_have_the_format_of_their_currency(minor: int, currency: str, text: str) -> None:
    assert written(Money(minor, currency)) == text


def test_a_confirmation_lists_everything() -> None:
    hold = a_hold(a_seat("7"), a_seat("8"), SOME)
    purchase = Purchase(OrderId(uuid4()), b"s" * 32, attendees=(Attendee(name="Ada"),))
    order = make_order([hold], purchase, NOW, None)
    codes = [ticket.code for ticket in order.tickets]
    mail = confirmation(
        PLAIN,
        order,
        [hold.reference],
        [Admissions(OCCASION, order.tickets)],
        {STALLS: "Seat", BALCONY: "Standing"},
    )
    assert mail.subject == "Your tickets for Hamlet"
    assert mail.body == (
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


def test_tickets_are_grouped_by_event() -> None:
    hold = a_hold(SOME)
    order = make_order([hold], Purchase(OrderId(uuid4()), b"s" * 32), NOW, None)
    other = replace(OCCASION, event_name="Macbeth", starts_at=None)
    parts = [Admissions(OCCASION, order.tickets[:1]), Admissions(other, order.tickets[1:])]
    mail = confirmation(PLAIN, order, ["HF-1", "HF-2"], parts, {})
    assert mail.subject == "Your tickets for Hamlet, Macbeth"
    assert "Booking reference: HF-1, HF-2\n" in mail.body
    assert f"Macbeth, Friday\n\n- Ticket, 12.50 EUR, code {order.tickets[1].code}\n" in mail.body


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
def test_a_warning_says_how_much_time_is_left(seconds: int, left: str) -> None:
    mail = warning(PLAIN, a_hold(a_seat("7"), seconds=seconds), OCCASION, NOW)
    assert mail.subject == f"{left} left to pay for your ticket for Hamlet"
    assert f"Please pay within {left}, by 16 November 2026, 19:" in mail.body
    assert (
        "Booking reference: HF-7K2M\nSeat: Stalls, row C, seat 7\nTotal: 45.00 EUR\n" in mail.body
    )


def test_a_promotion_lists_the_tickets_and_the_deadline() -> None:
    mail = promotion(PLAIN, a_hold(a_seat("7"), a_seat("8"), seconds=599), OCCASION, NOW)
    assert mail.subject == "Your tickets for Hamlet are ready. Please pay within 10 minutes"
    assert mail.body == (
        "Your 2 tickets for Hamlet, Friday, 04 December 2026, 19:30:00 UTC, are ready.\n"
        "Please pay within 10 minutes, by 16 November 2026, 19:09:59 UTC.\n"
        "After that they go to the next person on the waitlist.\n"
        "\n"
        "Booking reference: HF-7K2M\n"
        "Seat: Stalls, row C, seat 7\n"
        "Seat: Stalls, row C, seat 8\n"
        "Total: 90.00 EUR\n"
    )
    alone = promotion(PLAIN, a_hold(a_seat("7"), seconds=59), OCCASION, NOW)
    assert alone.subject.endswith("Please pay within 59 seconds")
    assert alone.body.startswith("Your ticket for Hamlet, Friday, ")
    assert "After that it goes to the next person" in alone.body


def test_a_mail_has_the_organizations_time_zone_link_and_footer() -> None:
    branded = replace(
        PLAIN,
        time_zone="Europe/Berlin",
        mail_footer="River Stage, 1 Harbour Street",
        pay_url="https://tickets.example.com/pay/{hold_id}?ref={reference}",
        cart_url="https://tickets.example.com/cart/{cart_token}",
    )
    occasion = replace(OCCASION, time_zone=branded.time_zone)
    hold = a_hold(a_seat("7"), seconds=599)
    mail = warning(branded, hold, occasion, NOW)
    assert "Hamlet, Friday, 04 December 2026, 20:30:00 CET" in mail.body
    assert "by 16 November 2026, 20:09:59 CET" in mail.body
    assert mail.body.endswith(
        f"Pay here: https://tickets.example.com/pay/{hold.id}?ref=HF-7K2M\n"
        "\n-- \nRiver Stage, 1 Harbour Street\n"
    )
    of_cart = replace(hold, remarks=Remarks(cart_token="a/b c"))
    assert "Pay here: https://tickets.example.com/cart/a%2Fb%20c\n" in (
        promotion(branded, of_cart, occasion, NOW).body
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("name", " "),
        ("name", None),
        ("name", "a\nb"),
        ("time_zone", "Mars/Olympus"),
        ("time_zone", "../../etc/passwd"),
        ("time_zone", ""),
        ("time_zone", None),
        ("mail_name", "Shop\r\nBcc: all@example.com"),
        ("mail_reply_to", "not an address"),
        ("mail_footer", "a\nb"),
        ("mail_footer", "x" * 1001),
        ("pay_url", "javascript:alert(1)"),
        ("pay_url", "https://"),
        ("pay_url", "https://a.example/{hold_id.__class__}"),
        ("pay_url", "https://a.example/{0}"),
        ("pay_url", "https://a.example/{"),
        ("pay_url", "https://a.example/{hold_id!r}"),
        ("pay_url", "https://a.example/ b"),
        ("cart_url", "https://a.example/" + "x" * 500),
        ("cart_url", "http://[::1"),
    ],
)
def test_an_invalid_setting_is_refused_with_its_rule(name: str, text: str | None) -> None:
    with pytest.raises(InvalidValue) as refused:
        check_setting(name, text)
    assert refused.value.message == f"{name} {SETTINGS[name].rule}"


@pytest.mark.parametrize("name", SETTINGS)
def test_the_example_of_a_setting_is_valid(name: str) -> None:
    check_setting(name, SETTINGS[name].example)
