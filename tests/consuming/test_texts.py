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
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import Mail, MailTemplate
from holdfast.domain.orders.order import Attendee, Purchase, Voiding, make_order
from holdfast.domain.organizations import SETTINGS, Organization, check_setting
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.values import EmailAddress, Holder, InvalidValue, Money
from holdfast.services.facts.notice_texts import (
    Admissions,
    Occasion,
    hold_values,
    mail_of,
    order_values,
)

NOW = datetime(2026, 11, 16, 19, 0, 0, tzinfo=UTC)
STARTS_AT = datetime(2026, 12, 4, 19, 30, tzinfo=UTC)
OCCASION = Occasion("Hamlet", "Friday", STARTS_AT, "UTC", "Harbour Hall, 1 Harbour Street")
PLAIN = Organization(
    id=OrganizationId(uuid4()),
    mode=Mode.LIVE,
    created_at=NOW,
    policy=PolicyOverride(),
    name="River Stage",
    time_zone="UTC",
)
OF_ORDERS = {MailKind.CONFIRMATION, MailKind.CANCELLATION}
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


def mail_about(
    kind: MailKind, hold: Hold, organization: Organization = PLAIN, occasion: Occasion = OCCASION
) -> Mail:
    values = hold_values(organization, hold, occasion, NOW)
    return mail_of(organization, MAILS[kind].built_in, values)


def test_a_confirmation_lists_everything() -> None:
    hold = a_hold(a_seat("7"), a_seat("8"), SOME)
    purchase = Purchase(OrderId(uuid4()), b"s" * 32, attendees=(Attendee(name="Ada"),))
    order = make_order([hold], purchase, NOW, None)
    codes = [ticket.code for ticket in order.tickets]
    names = {STALLS: "Seat", BALCONY: "Standing"}
    parts = [Admissions(OCCASION, order.tickets)]
    values = order_values(PLAIN, order, parts, names)
    mail = mail_of(PLAIN, MAILS[MailKind.CONFIRMATION].built_in, values)
    assert mail.subject == "Your tickets for Hamlet"
    assert mail.body == (
        "Thank you, your order is confirmed.\n"
        "\n"
        "Booking reference: HF-7K2M\n"
        f"Order: {order.id}\n"
        "\n"
        "Hamlet, Friday\n"
        "Friday, 4 December 2026, 19:30 UTC\n"
        "Harbour Hall, 1 Harbour Street\n"
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
    other = Occasion("Macbeth", "Friday", None, "UTC")
    parts = [Admissions(OCCASION, order.tickets[:1]), Admissions(other, order.tickets[1:])]
    values = order_values(PLAIN, replace(order, references=("HF-1", "HF-2")), parts, {})
    mail = mail_of(PLAIN, MAILS[MailKind.CONFIRMATION].built_in, values)
    assert mail.subject == "Your tickets for Hamlet, Macbeth"
    assert "Booking reference: HF-1, HF-2\n" in mail.body
    assert f"Macbeth, Friday\n\n- Ticket, 12.50 EUR, code {order.tickets[1].code}\n" in mail.body


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (300, "5 minutes"),
        (299, "5 minutes"),
        (120, "2 minutes"),
        (61, "2 minutes"),
        (60, "1 minute"),
        (59, "59 seconds"),
        (1, "1 second"),
    ],
)
def test_a_warning_says_how_much_time_is_left(seconds: int, left: str) -> None:
    mail = mail_about(MailKind.WARNING, a_hold(a_seat("7"), seconds=seconds))
    assert mail.subject == f"{left} left to pay for 1 ticket for Hamlet"
    assert "We are holding 1 ticket for you until Monday, 16 November 2026, 19:" in mail.body
    assert f"Please pay within {left}. " in mail.body
    assert "Booking reference: HF-7K2M\nStalls, row C, seat 7\nTotal: 45.00 EUR\n" in mail.body


def test_a_removal_names_the_session_and_the_reference() -> None:
    mail = mail_about(MailKind.REMOVAL, a_hold(a_seat("7"), a_seat("8")))
    assert mail.subject == "You are no longer on the waitlist for Hamlet"
    assert "You were waiting for 2 tickets." in mail.body
    assert "Hamlet, Friday\nFriday, 4 December 2026, 19:30 UTC\n" in mail.body
    assert mail.body.endswith("Booking reference: HF-7K2M\n")


def test_a_release_says_what_to_do_if_it_was_paid_for() -> None:
    mail = mail_about(MailKind.RELEASE, a_hold(a_seat("7")))
    assert mail.subject == "We are no longer holding 1 ticket for Hamlet"
    assert "If you have already paid, please contact us." in mail.body


@pytest.mark.parametrize(
    ("kind", "then"),
    [
        (MailKind.REMOVAL, "You are no longer on the waitlist."),
        (MailKind.RELEASE, "We are no longer holding 1 ticket for you."),
    ],
)
def test_a_mail_says_that_the_event_is_cancelled(kind: MailKind, then: str) -> None:
    cancelled = replace(OCCASION, cancelled="The event is cancelled.")
    mail = mail_about(kind, a_hold(a_seat("7")), occasion=cancelled)
    assert mail.body.startswith(f"The event is cancelled.\n{then}")
    assert mail_about(kind, a_hold(a_seat("7"))).body.startswith(then)


def test_a_promotion_lists_the_tickets_and_the_deadline() -> None:
    mail = mail_about(MailKind.PROMOTION, a_hold(a_seat("7"), a_seat("8"), seconds=599))
    assert mail.subject == "We have 2 tickets for you: Hamlet. Please pay within 10 minutes"
    assert mail.body == (
        "Good news: we are now holding 2 tickets for you, until "
        "Monday, 16 November 2026, 19:09:59 UTC.\n"
        "Please pay within 10 minutes. After that, the next person on the waitlist gets the offer."
        "\n\n"
        "Hamlet, Friday\n"
        "Friday, 4 December 2026, 19:30 UTC\n"
        "Harbour Hall, 1 Harbour Street\n"
        "\n"
        "Booking reference: HF-7K2M\n"
        "Stalls, row C, seat 7\n"
        "Stalls, row C, seat 8\n"
        "Total: 90.00 EUR\n"
    )


def test_an_expired_hold_is_explained() -> None:
    mail = mail_about(MailKind.EXPIRED, a_hold(SOME, seconds=-1))
    assert mail.subject == "Your hold for Hamlet has expired"
    assert mail.body.startswith("Your hold for 2 tickets has expired, and other buyers can book")
    assert mail.body.endswith("Booking reference: HF-7K2M\nTotal: 25.00 EUR\n")


def test_lines_without_a_value_are_left_out() -> None:
    nowhere = Occasion("Hamlet", "Friday", None, "UTC")
    mail = mail_about(MailKind.WARNING, a_hold(SOME, seconds=300), occasion=nowhere)
    assert "\n\nHamlet, Friday\n\nBooking reference: HF-7K2M\nTotal: 25.00 EUR\n" in mail.body
    assert "Pay here" not in mail.body
    assert "\n\n\n" not in mail.body


def test_a_mail_has_the_time_zone_link_and_footer() -> None:
    branded = replace(
        PLAIN,
        mail_footer="River Stage, 1 Harbour Street",
        pay_url="https://tickets.example.com/pay/{hold_id}?ref={reference}",
        cart_url="https://tickets.example.com/cart/{cart_token}",
    )
    occasion = replace(OCCASION, time_zone="Europe/Berlin")
    hold = a_hold(a_seat("7"), seconds=599)
    mail = mail_about(MailKind.WARNING, hold, branded, occasion)
    assert "Friday, 4 December 2026, 20:30 CET\n" in mail.body
    assert "until Monday, 16 November 2026, 20:09:59 CET.\n" in mail.body
    assert mail.body.endswith(
        f"Pay here: https://tickets.example.com/pay/{hold.id}?ref=HF-7K2M\n"
        "\n-- \nRiver Stage, 1 Harbour Street\n"
    )
    of_cart = replace(hold, remarks=Remarks(cart_token="a/b c"))
    assert "Pay here: https://tickets.example.com/cart/a%2Fb%20c\n" in (
        mail_about(MailKind.PROMOTION, of_cart, branded, occasion).body
    )


def test_an_organization_has_its_own_words() -> None:
    own = MailTemplate("{{ organization }}: {{ event }}", "Hi,\n\n{{ tickets }} at {{ venue }}!")
    values = hold_values(replace(PLAIN, mail_name="Desk"), a_hold(SOME), OCCASION, NOW)
    assert mail_of(PLAIN, own, values) == Mail(
        "Desk: Hamlet", "Hi,\n\n2 tickets at Harbour Hall, 1 Harbour Street!\n"
    )


@pytest.mark.parametrize("kind", sorted(set(MailKind) - OF_ORDERS))
def test_every_placeholder_of_a_hold_has_a_value(kind: MailKind) -> None:
    values = hold_values(PLAIN, a_hold(SOME), OCCASION, NOW)
    assert set(MAILS[kind].placeholders) <= set(values)


@pytest.mark.parametrize("kind", sorted(OF_ORDERS))
def test_every_placeholder_of_an_order_has_a_value(kind: MailKind) -> None:
    order = make_order([a_hold(SOME)], Purchase(OrderId(uuid4()), b"s" * 32), NOW, None)
    values = order_values(PLAIN, order, [Admissions(OCCASION, order.tickets)], {})
    assert set(MAILS[kind].placeholders) == set(values)


def test_a_cancellation_lists_the_void_tickets_without_their_codes() -> None:
    order = make_order([a_hold(SOME)], Purchase(OrderId(uuid4()), b"s" * 32), NOW, None)
    first, second = order.tickets
    after = order.cancelled({first.id}, Voiding(NOW, 2, "a secret reason", None))
    void = [ticket for ticket in after.tickets if ticket.is_void]
    values = order_values(PLAIN, after, [Admissions(OCCASION, void)], {})
    mail = mail_of(PLAIN, MAILS[MailKind.CANCELLATION].built_in, values)
    assert mail.subject == "Cancelled: 1 ticket for Hamlet"
    assert "We have cancelled 1 ticket in your order. The codes are no longer valid." in mail.body
    price = written(Money(first.unit_price_minor, "EUR"))
    assert f"Total of the cancelled tickets: {price}" in mail.body
    for hidden in (first.code, second.code, "secret"):
        assert hidden not in mail.body


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
