"""The values of the placeholders in buyers' e-mails."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from holdfast.domain.amounts import written
from holdfast.domain.holds.hold import Hold, LineSeat
from holdfast.domain.ids import TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.mails.templates import Mail, MailTemplate, rendered
from holdfast.domain.orders.order import Order, Ticket
from holdfast.domain.organizations import Organization
from holdfast.domain.values import Money

Values = dict[str, str]


@immutable
class Occasion:
    """The event and session that the tickets are for, as advertised. `cancelled` says that one of
    them is cancelled, and is empty otherwise."""

    event_name: str
    session_name: str
    starts_at: datetime | None
    time_zone: str
    venue: str | None = None
    cancelled: str = ""

    @property
    def begins(self) -> str:
        """Empty without a start."""
        return "" if self.starts_at is None else _moment(self.starts_at, self.time_zone, "%H:%M")

    def lines(self) -> list[str]:
        named = f"{self.event_name}, {self.session_name}"
        return [line for line in (named, self.begins, self.venue) if line]


@immutable
class Admissions:
    """The tickets of an order for one session."""

    occasion: Occasion
    tickets: Sequence[Ticket]


def mail_of(organization: Organization, template: MailTemplate, values: Values) -> Mail:
    mail = rendered(template, values)
    footer = organization.mail_footer
    return mail if footer is None else Mail(mail.subject, f"{mail.body}\n-- \n{footer}\n")


def hold_values(
    organization: Organization, hold: Hold, occasion: Occasion, now: datetime
) -> Values:
    link = organization.link_to(hold.id, hold.reference, hold.remarks.cart_token)
    return {
        "organization": _sender(organization),
        "event": occasion.event_name,
        "session": occasion.session_name,
        "starts_at": occasion.begins,
        "venue": occasion.venue or "",
        "cancelled": occasion.cancelled,
        "booking_reference": hold.reference,
        "tickets": _counted(hold.quantity, "ticket"),
        "total": written(hold.total),
        "seats": "\n".join(map(_place, hold.seats)),
        "time_left": _left(hold.remaining_seconds(now)),
        "pay_by": _moment(hold.expires_at, occasion.time_zone, "%H:%M:%S"),
        "pay_link": link or "",
    }


def order_values(
    organization: Organization,
    order: Order,
    admissions: Sequence[Admissions],
    type_names: Mapping[TicketTypeId, str],
) -> Values:
    """About the admitted tickets, which may be only some of the order."""
    currency = order.total.currency
    tickets = [ticket for part in admissions for ticket in part.tickets]
    parts = [
        "\n".join(
            (
                *part.occasion.lines(),
                "",
                *(_ticket(ticket, currency, type_names) for ticket in part.tickets),
            )
        )
        for part in admissions
    ]
    return {
        "organization": _sender(organization),
        "event": _event_names(admissions),
        "booking_reference": ", ".join(order.references),
        "order_id": str(order.id),
        "tickets": _counted(len(tickets), "ticket"),
        "total": written(Money(sum(each.unit_price_minor for each in tickets), currency)),
        "ticket_list": "\n\n".join(parts),
    }


def _sender(organization: Organization) -> str:
    return organization.mail_name or organization.name


def _ticket(ticket: Ticket, currency: str, type_names: Mapping[TicketTypeId, str]) -> str:
    name = type_names.get(ticket.ticket_type_id, "Ticket")
    parts = [name if ticket.seat is None else f"{name}, {_place(ticket.seat)}"]
    if ticket.attendee is not None and ticket.attendee.name is not None:
        parts.append(f"for {ticket.attendee.name}")
    parts.append(written(Money(ticket.unit_price_minor, currency)))
    if not ticket.is_void:  # the code of a void ticket is of no use
        parts.append(f"code {ticket.code}")
    return "- " + ", ".join(parts)


def _place(seat: LineSeat) -> str:
    return f"{seat.block_name}, row {seat.row}, seat {seat.number}"


def _event_names(admissions: Iterable[Admissions]) -> str:
    return ", ".join(dict.fromkeys(part.occasion.event_name for part in admissions))


def _moment(moment: datetime, time_zone: str, clock: str) -> str:
    try:
        local = moment.astimezone(ZoneInfo(time_zone))
    except OverflowError:  # at the edge of the calendar
        local = moment
    return f"{local:%A}, {local.day} {local:%B %Y}, {local.strftime(clock)} {local:%Z}"


def _left(seconds: int) -> str:
    """Rounded up: `2 minutes` for 1:59. The texts give the exact deadline as well."""
    return _counted(-(-seconds // 60), "minute") if seconds >= 60 else _counted(seconds, "second")


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
