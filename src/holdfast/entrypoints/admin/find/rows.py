"""Matches of each kind, as rows of a table with a link."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from holdfast.adapters.postgres import models
from holdfast.domain.orders.order import OrderStatus
from holdfast.entrypoints.admin.display import (
    amount,
    badge,
    link,
    redacted,
    row_link,
    shown_time,
    table,
)
from holdfast.entrypoints.admin.find.people import Person
from holdfast.entrypoints.admin.holds.pages import hold_status_now, status_badge
from holdfast.entrypoints.admin.lookups import seat_name
from holdfast.entrypoints.admin.seats.hall import seat_status_now

ROWS_MAX = 20

HOLD_HEADERS = ("Hold", "Status", "Tickets", "Event", "Holder", "Created")
ORDER_HEADERS = ("Order", "Status", "Total", "Event", "Holder", "Created")
TICKET_HEADERS = ("Ticket", "Status", "Event", "Seat", "Price")
SEAT_HEADERS = ("Seat", "Status", "Event", "Hold")


NEWEST_FIRST = ("-created_at", "-id")


class Match(NamedTuple):
    """`url` is its page."""

    organization_id: UUID
    url: str
    cells: tuple[object, ...]


class Group(NamedTuple):
    """The matches of one kind; `is_cut_off` if there may be more."""

    title: str
    headers: tuple[str, ...]
    matches: Sequence[Match]
    is_cut_off: bool = False

    @classmethod
    def of(cls, title: str, headers: tuple[str, ...], matches: Iterable[Match]) -> "Group":
        found = list(matches)
        return cls(title, headers, found[:ROWS_MAX], len(found) > ROWS_MAX)

    @property
    def table(self) -> SafeString:
        return table(self.headers, [match.cells for match in self.matches])


def shown_person(person: Person, rows: Iterable[Any]) -> str:
    """As all pages show people: without the name in the address."""
    named = (text for row in rows for text in (row.email, row.user_id) if text)
    return redacted(next(named, None) or person.user_id or "This person")


def holds_matching(named: Q, *ordering: str) -> list[Match]:
    """Order only if there may be many matches: it can lead the planner away from the index."""
    holds: QuerySet[Any] = models.Hold.objects.filter(named).annotate(status_now=hold_status_now())
    holds = holds.select_related("session__event").order_by(*ordering)
    return [
        _match(
            models.Hold,
            hold,
            row_link(models.Hold, hold.id, hold.reference, hold.organization_id),
            status_badge(hold),
            hold.quantity,
            _event(hold.session),
            redacted(hold.email or hold.user_id or "-"),
            shown_time(hold.created_at),
        )
        for hold in holds[: ROWS_MAX + 1]
    ]


def orders_matching(named: Q, *ordering: str) -> list[Match]:
    """With the reference of the first hold, which buyers know."""
    orders = list(models.Order.objects.filter(named).order_by(*ordering)[: ROWS_MAX + 1])
    first = Q(pk__in=())
    for order in orders:
        first |= Q(organization_id=order.organization_id, id=order.hold_ids[0])
    holds = models.Hold.objects.filter(first).select_related("session__event")
    found = {(hold.organization_id, hold.id): hold for hold in holds}
    return [
        _order(order, found.get((order.organization_id, order.hold_ids[0]))) for order in orders
    ]


def _order(order: models.Order, hold: models.Hold | None) -> Match:
    more = f" and {len(order.hold_ids) - 1} more" if len(order.hold_ids) > 1 else ""
    name = order.id if hold is None else f"{hold.reference}{more}"
    return _match(
        models.Order,
        order,
        row_link(models.Order, order.id, name, order.organization_id),
        _order_state(order),
        amount(order.total_minor, order.currency),
        "-" if hold is None else _event(hold.session),
        redacted(order.email or order.user_id or "-"),
        shown_time(order.created_at),
    )


def _order_state(order: Any) -> SafeString:
    color = "success" if order.status == OrderStatus.CONFIRMED else "warning"
    return badge(order.status.replace("_", " "), color)


def tickets_matching(named: Q) -> list[Match]:
    """A ticket has no page of its own: it is on the page of its order."""
    rows: QuerySet[Any] = models.Ticket.objects.filter(named).annotate(seat_name=seat_name())
    rows = rows.select_related("ticket_type", "session__event")
    return [_ticket(ticket) for ticket in rows[: ROWS_MAX + 1]]


def _ticket(ticket: Any) -> Match:
    own = ticket.organization_id
    url = f"{reverse('admin:holdfast_order_change', args=[ticket.order_id])}?organization={own}"
    cells = (
        link(url, f"{ticket.ticket_type}, number {ticket.position + 1} of its order"),
        _ticket_state(ticket),
        _event(ticket.session),
        ticket.seat_name or "-",
        amount(ticket.unit_price_minor, ticket.session.event.currency),
    )
    return Match(own, url, cells)


def _ticket_state(ticket: Any) -> SafeString:
    return badge("valid", "success") if ticket.voided_at is None else badge("void", "danger")


def seats_matching(named: Q) -> list[Match]:
    seats: QuerySet[Any] = models.Seat.objects.filter(named).annotate(status_now=seat_status_now())
    return seats_shown(seats.select_related("block", "session__event")[: ROWS_MAX + 1])


def seats_shown(seats: Iterable[Any]) -> list[Match]:
    """Seats with their blocks and sessions. Those that are held or sold name their hold."""
    found = list(seats)
    of_seats = Q(pk__in=())
    for seat in found:
        if seat.hold_id is not None and seat.status_now != "available":
            of_seats |= Q(organization_id=seat.organization_id, id=seat.hold_id)
    holds = models.Hold.objects.filter(of_seats).only("organization_id", "id", "reference")
    names = {(hold.organization_id, hold.id): hold.reference for hold in holds}
    return [_seat(seat, names.get((seat.organization_id, seat.hold_id))) for seat in found]


def _seat(seat: Any, reference: str | None) -> Match:
    own = seat.organization_id
    return _match(
        models.Seat,
        seat,
        row_link(models.Seat, seat.id, f"{seat.block}, {seat}", own),
        badge(seat.status_now),
        _event(seat.session),
        "-" if reference is None else row_link(models.Hold, seat.hold_id, reference, own),
    )


def _match(model: type[Model], row: Any, *cells: object) -> Match:
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_change", args=[row.id])
    return Match(row.organization_id, f"{url}?organization={row.organization_id}", cells)


def _event(session: models.Session) -> SafeString:
    starts = "" if session.starts_at is None else f", {session.starts_at:%Y-%m-%d %H:%M}"
    return format_html("{}: {}{}", session.event, session, starts)
