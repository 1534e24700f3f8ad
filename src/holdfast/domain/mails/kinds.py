"""The kinds of e-mails to buyers, with their built-in texts.

A new kind is an entry of MAILS and of MailKind: its page in the admin, its preview, its API and the
organization's own text for it follow from these.
"""

from collections.abc import Mapping
from enum import StrEnum

from holdfast.domain.mails.templates import MailDesign, MailTemplate, Placeholder, Placeholders


class MailKind(StrEnum):
    CONFIRMATION = "confirmation"
    CANCELLATION = "cancellation"
    WARNING = "warning"
    EXPIRED = "expired"
    PROMOTION = "promotion"
    RELEASE = "release"
    REMOVAL = "removal"


_EVENT: Placeholders = {
    "organization": Placeholder("the sender name in the settings, or your name", "River Stage"),
    "event": Placeholder("name of the event", "Winter Gala"),
}
_SESSION: Placeholders = {
    **_EVENT,
    "session": Placeholder("name of the session", "Friday night"),
    "starts_at": Placeholder(
        "when the session starts, in the event's time zone", "Friday, 4 December 2026, 20:30 CET"
    ),
    "venue": Placeholder("where the event takes place", "Harbour Hall, 1 Harbour Street"),
}
_ENDED: Placeholders = {
    "cancelled": Placeholder(
        "that the event or session is cancelled; no value otherwise", "The event is cancelled."
    ),
}
_BOOKING: Placeholders = {
    "booking_reference": Placeholder("reference of the hold", "HF-7K2M"),
    "tickets": Placeholder("number of tickets", "2 tickets"),
    "total": Placeholder("price of all tickets", "90.00 EUR"),
}
_SEATS: Placeholders = {
    "seats": Placeholder(
        "the seats, one in each line",
        "Stalls, row C, seat 7\nStalls, row C, seat 8",
        has_lines=True,
    )
}
_PAYMENT: Placeholders = {
    "time_left": Placeholder("time left to pay, in whole minutes", "5 minutes"),
    "pay_by": Placeholder(
        "when the hold expires, in the event's time zone", "Friday, 20 November 2026, 19:09:59 CET"
    ),
    "pay_link": Placeholder(
        "the payment page or the cart page in the settings", "https://tickets.example.com/pay/7K2M"
    ),
}
_ORDER: Placeholders = {
    "order_id": Placeholder("id of the order", "0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d"),
    "ticket_list": Placeholder(
        "the tickets with their codes, by session",
        "Winter Gala, Friday night\n"
        "Friday, 4 December 2026, 20:30 CET\n"
        "Harbour Hall, 1 Harbour Street\n"
        "\n"
        "- Seat, Stalls, row C, seat 7, 45.00 EUR, code SAMPLE7CODE\n"
        "- Seat, Stalls, row C, seat 8, 45.00 EUR, code SAMPLE8CODE",
        has_lines=True,
        is_required=True,
    ),
}
_CANCELLED: Placeholders = {
    "order_id": _ORDER["order_id"],
    "ticket_list": Placeholder(
        "the cancelled tickets, by session",
        "Winter Gala, Friday night\n"
        "Friday, 4 December 2026, 20:30 CET\n"
        "Harbour Hall, 1 Harbour Street\n"
        "\n"
        "- Seat, Stalls, row C, seat 7, 45.00 EUR\n"
        "- Seat, Stalls, row C, seat 8, 45.00 EUR",
        has_lines=True,
        is_required=True,
    ),
}

_WHAT_AND_WHERE = "{{ event }}, {{ session }}\n{{ starts_at }}\n{{ venue }}\n"
_BOOKED = "Booking reference: {{ booking_reference }}\n{{ seats }}\nTotal: {{ total }}\n"

MAILS: Mapping[MailKind, MailDesign] = {
    MailKind.CONFIRMATION: MailDesign(
        "Order confirmed",
        "Sent when an order is confirmed, with the ticket codes.",
        {**_EVENT, **_BOOKING, **_ORDER},
        MailTemplate(
            "Your tickets for {{ event }}",
            "Thank you, your order is confirmed.\n"
            "\n"
            "Booking reference: {{ booking_reference }}\n"
            "Order: {{ order_id }}\n"
            "\n"
            "{{ ticket_list }}\n"
            "\n"
            "Total: {{ total }}\n"
            "\n"
            "Keep these codes. Each admits one person.",
        ),
    ),
    MailKind.CANCELLATION: MailDesign(
        "Tickets cancelled",
        "Sent when an order, or some of its tickets, is cancelled. It does not give the reason.",
        {**_EVENT, **_BOOKING, **_CANCELLED},
        MailTemplate(
            "Cancelled: {{ tickets }} for {{ event }}",
            "We have cancelled {{ tickets }} in your order. The codes are no longer valid.\n"
            "\n"
            "Booking reference: {{ booking_reference }}\n"
            "Order: {{ order_id }}\n"
            "\n"
            "{{ ticket_list }}\n"
            "\n"
            "Total of the cancelled tickets: {{ total }}",
        ),
    ),
    MailKind.WARNING: MailDesign(
        "Hold about to expire",
        "Sent before a hold expires, unless less than two minutes are left.",
        {**_SESSION, **_BOOKING, **_SEATS, **_PAYMENT},
        MailTemplate(
            "{{ time_left }} left to pay for {{ tickets }} for {{ event }}",
            "We are holding {{ tickets }} for you until {{ pay_by }}.\n"
            "Please pay within {{ time_left }}. After that, the hold expires, and other buyers can "
            "book.\n"
            f"\n{_WHAT_AND_WHERE}\n{_BOOKED}\nPay here: {{{{ pay_link }}}}",
        ),
    ),
    MailKind.EXPIRED: MailDesign(
        "Hold expired",
        "Sent when a hold expires without payment, if mail_when_expired is on in the settings.",
        {**_SESSION, **_BOOKING, **_SEATS},
        MailTemplate(
            "Your hold for {{ event }} has expired",
            "Your hold for {{ tickets }} has expired, and other buyers can book now.\n"
            "If you still want to come, please book again.\n"
            f"\n{_WHAT_AND_WHERE}\n{_BOOKED}".rstrip("\n"),
        ),
    ),
    MailKind.PROMOTION: MailDesign(
        "Promoted from the waitlist",
        "Sent when places become free for a party on the waitlist.",
        {**_SESSION, **_BOOKING, **_SEATS, **_PAYMENT},
        MailTemplate(
            "We have {{ tickets }} for you: {{ event }}. Please pay within {{ time_left }}",
            "Good news: we are now holding {{ tickets }} for you, until {{ pay_by }}.\n"
            "Please pay within {{ time_left }}. After that, the next person on the waitlist gets "
            "the offer.\n"
            f"\n{_WHAT_AND_WHERE}\n{_BOOKED}\nPay here: {{{{ pay_link }}}}",
        ),
    ),
    MailKind.RELEASE: MailDesign(
        "Hold released by staff",
        "Sent when staff release a hold, block one of its seats, or cancel its event or session.",
        {**_ENDED, **_SESSION, **_BOOKING, **_SEATS},
        MailTemplate(
            "We are no longer holding {{ tickets }} for {{ event }}",
            "{{ cancelled }}\n"
            "We are no longer holding {{ tickets }} for you. If you have already paid, please "
            "contact us.\n"
            f"\n{_WHAT_AND_WHERE}\n{_BOOKED}".rstrip("\n"),
        ),
    ),
    MailKind.REMOVAL: MailDesign(
        "Removed from the waitlist",
        "Sent when staff remove a party from the waitlist, or cancel its event or session.",
        {**_ENDED, **_SESSION, **_BOOKING, **_SEATS},
        MailTemplate(
            "You are no longer on the waitlist for {{ event }}",
            "{{ cancelled }}\n"
            "You are no longer on the waitlist. You were waiting for {{ tickets }}.\n"
            f"\n{_WHAT_AND_WHERE}\nBooking reference: {{{{ booking_reference }}}}",
        ),
    ),
}
assert set(MAILS) == set(MailKind), "every kind of mail has a design"
