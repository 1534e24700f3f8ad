"""The tickets of a session, for the people at the door."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from uuid import UUID

from holdfast.adapters.postgres.models import Hold, Session, TicketType
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.orders.order import Order, Ticket
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.exports.csv_text import Cell
from holdfast.entrypoints.admin.exports.download import ExportAborted
from holdfast.ports.orders import OrderFilter, OrderReader
from holdfast.ports.paging import PAGE_SIZE_MAX, PageRequest
from holdfast.services.reads import query_of

_HEADERS = ("Block", "Row", "Seat", "Number", "Ticket type", "Booking reference", "Status")
_IN_CLEAR = ("Attendee", "Attendee e-mail", "Customer e-mail")
_CODES = ("Ticket code",)

_orders = query_of(OrderReader.orders)


class DoorList:
    def __init__(self, session: Session, *, in_clear: bool, has_codes: bool) -> None:
        self._session = session
        self._in_clear = in_clear
        self._has_codes = has_codes

    @property
    def headers(self) -> tuple[str, ...]:
        return _HEADERS + _IN_CLEAR * self._in_clear + _CODES * self._has_codes

    def pages(self) -> Iterator[list[list[Cell]]]:
        """Newest orders first. Each ticket has its number within its order."""
        own = OrganizationId(self._session.organization_id)
        only = OrderFilter(session_id=SessionId(self._session.id))
        page = PageRequest(PAGE_SIZE_MAX)
        while True:
            found = _orders(AdminConfig.services.orders, own, only, page)
            if isinstance(found, Refusal):
                raise ExportAborted(found.code.value)
            references = self._references(found.items)
            yield [
                self._cells(order, number, ticket, references)
                for order in found.items
                for number, ticket in enumerate(order.tickets, start=1)
                if ticket.session_id == self._session.id
            ]
            if found.next is None:
                return
            page = PageRequest(PAGE_SIZE_MAX, found.next)

    @cached_property
    def _type_names(self) -> Mapping[UUID, str]:
        own = {"organization_id": self._session.organization_id, "session_id": self._session.id}
        return dict(TicketType.objects.filter(**own).values_list("id", "name"))

    def _references(self, orders: tuple[Order, ...]) -> Mapping[UUID, str]:
        """What buyers know, by hold."""
        ids = {hold_id for order in orders for hold_id in order.hold_ids}
        own = {"organization_id": self._session.organization_id, "id__in": ids}
        return dict(Hold.objects.filter(**own).values_list("id", "reference"))

    def _cells(
        self, order: Order, number: int, ticket: Ticket, references: Mapping[UUID, str]
    ) -> list[Cell]:
        seat, attendee = ticket.seat, ticket.attendee
        place = (None, None, None) if seat is None else (seat.block_name, seat.row, seat.number)
        cells: list[Cell] = [
            *place,
            number,
            self._type_names.get(ticket.ticket_type_id),
            references.get(ticket.hold_id),
            "void" if ticket.is_void else "valid",
        ]
        if self._in_clear:
            name, email = (attendee.name, attendee.email) if attendee else (None, None)
            cells += [name, _address(email), _address(order.holder.email)]
        if self._has_codes:
            cells.append(ticket.code)
        return cells


def _address(email: EmailAddress | None) -> str | None:
    return email.value if email is not None and email.is_readable else None
