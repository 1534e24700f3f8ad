"""The texts of the buyers' e-mails."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from holdfast.domain.amounts import written
from holdfast.domain.holds.hold import Hold, LineSeat
from holdfast.domain.ids import TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Order, Ticket
from holdfast.domain.organizations import Organization
from holdfast.domain.values import Money


@immutable
class Occasion:
    """The event and session that the tickets are for, as advertised."""

    event_name: str
    session_name: str
    starts_at: datetime | None
    time_zone: str

    def __str__(self) -> str:
        when = "" if self.starts_at is None else f", {_moment(self.starts_at, self.time_zone)}"
        return f"{self.event_name}, {self.session_name}{when}"


@immutable
class Admissions:
    """The tickets of an order for one session."""

    occasion: Occasion
    tickets: Sequence[Ticket]


@immutable
class Text:
    subject: str
    body: str


def confirmation(
    organization: Organization,
    order: Order,
    references: Sequence[str],
    admissions: Sequence[Admissions],
    type_names: dict[TicketTypeId, str],
) -> Text:
    lines = [
        "Thank you, your order is confirmed.",
        "",
        f"Booking reference: {', '.join(references)}",
        f"Order: {order.id}",
    ]
    for part in admissions:
        lines += ["", str(part.occasion), ""]
        lines += (_ticket(ticket, order.total.currency, type_names) for ticket in part.tickets)
    lines += ["", f"Total: {written(order.total)}", "", "Keep these codes. Each admits one person."]
    return Text(f"Your tickets for {_event_names(admissions)}", _joined(lines, organization))


def warning(organization: Organization, hold: Hold, occasion: Occasion, now: datetime) -> Text:
    left = _duration(hold.remaining_seconds(now))
    them = "it" if hold.quantity == 1 else "them"
    lines = [
        f"We are holding your {_tickets(hold.quantity)} for {occasion}.",
        f"Please pay within {left}, by {_moment(hold.expires_at, organization.time_zone)}.",
        f"After that other buyers can have {them}.",
        "",
        f"Booking reference: {hold.reference}",
        *(f"Seat: {_place(seat)}" for seat in hold.seats),
        f"Total: {written(hold.total)}",
        *_link(organization, hold),
    ]
    noun = "ticket" if hold.quantity == 1 else "tickets"
    return Text(
        f"{left} left to pay for your {noun} for {occasion.event_name}",
        _joined(lines, organization),
    )


def promotion(organization: Organization, hold: Hold, occasion: Occasion, now: datetime) -> Text:
    within = _rounded_up(hold.remaining_seconds(now))
    are, go = ("is", "it goes") if hold.quantity == 1 else ("are", "they go")
    lines = [
        f"Your {_tickets(hold.quantity)} for {occasion}, {are} ready.",
        f"Please pay within {within}, by {_moment(hold.expires_at, organization.time_zone)}.",
        f"After that {go} to the next person on the waitlist.",
        "",
        f"Booking reference: {hold.reference}",
        *(f"Seat: {_place(seat)}" for seat in hold.seats),
        f"Total: {written(hold.total)}",
        *_link(organization, hold),
    ]
    noun = "ticket" if hold.quantity == 1 else "tickets"
    subject = f"Your {noun} for {occasion.event_name} {are} ready. Please pay within {within}"
    return Text(subject, _joined(lines, organization))


def _ticket(ticket: Ticket, currency: str, type_names: dict[TicketTypeId, str]) -> str:
    name = type_names.get(ticket.ticket_type_id, "Ticket")
    parts = [name if ticket.seat is None else f"{name}, {_place(ticket.seat)}"]
    if ticket.attendee is not None and ticket.attendee.name is not None:
        parts.append(f"for {ticket.attendee.name}")
    parts += [written(Money(ticket.unit_price_minor, currency)), f"code {ticket.code}"]
    return "- " + ", ".join(parts)


def _place(seat: LineSeat) -> str:
    return f"{seat.block_name}, row {seat.row}, seat {seat.number}"


def _event_names(admissions: Iterable[Admissions]) -> str:
    return ", ".join(dict.fromkeys(part.occasion.event_name for part in admissions))


def _tickets(quantity: int) -> str:
    return "ticket" if quantity == 1 else f"{quantity} tickets"


def _moment(moment: datetime, time_zone: str) -> str:
    try:
        local = moment.astimezone(ZoneInfo(time_zone))
    except OverflowError:  # at the edge of the calendar
        local = moment
    return f"{local:%d %B %Y, %H:%M:%S %Z}"


def _link(organization: Organization, hold: Hold) -> list[str]:
    link = organization.link_to(hold.id, hold.reference, hold.remarks.cart_token)
    return [] if link is None else ["", f"Pay here: {link}"]


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    parts = [_counted(minutes, "minute")] if minutes else []
    if rest or not minutes:
        parts.append(_counted(rest, "second"))
    return " and ".join(parts)


def _rounded_up(seconds: int) -> str:
    """`2 minutes` for 1:59 too; the text gives the exact deadline as well."""
    return _counted(-(-seconds // 60), "minute") if seconds >= 60 else _duration(seconds)


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _joined(lines: Iterable[str], organization: Organization) -> str:
    footer = organization.mail_footer
    return "\n".join((*lines, *([] if footer is None else ["", "-- ", footer]))) + "\n"
