"""The columns of the exported lists, and how their rows are read."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet

from holdfast.adapters.postgres.models import AuditEntry, Hold, Order
from holdfast.domain.amounts import written
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.immutable import immutable
from holdfast.domain.values import Money
from holdfast.entrypoints.admin.audit import reason
from holdfast.entrypoints.admin.display import redacted
from holdfast.entrypoints.admin.exports.csv_text import Cell
from holdfast.entrypoints.admin.exports.keyset import pages

Column = Callable[[Any, bool], Cell]


@immutable
class Table:
    """`columns` by their headers: what a cell has, given the row and whether addresses are shown in
    clear. `parts` are the conditions under which an index has the rows in the order of `key`."""

    name: str
    model: type[Model]
    columns: dict[str, Column]
    key: tuple[str, str]
    parts: tuple[dict[str, str], ...] = ({},)
    related: tuple[str, ...] = ()
    prepare: Callable[[Sequence[Any]], None] = lambda _: None

    def pages(self, rows: QuerySet[Any], organization_id: UUID) -> Iterator[list[Any]]:
        own = QuerySet[Any](self.model).filter(organization_id=organization_id)
        wanted = self.lean(rows)
        for part in self.parts:
            yield from pages(wanted.filter(**part), own.filter(**part), self.key)

    def lean(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Only with the related rows that a column shows."""
        alone = rows.select_related(None)
        return alone.select_related(*self.related) if self.related else alone

    def cells(self, rows: Sequence[Any], *, in_clear: bool) -> list[list[Cell]]:
        self.prepare(rows)
        return [[column(row, in_clear) for column in self.columns.values()] for row in rows]


def shown(text: str | None, *, in_clear: bool) -> str | None:
    return text if in_clear or text is None else redacted(text)


def price(row: Any) -> str:
    number, _, _ = written(Money(row.total_minor, row.currency)).partition(" ")
    return number


def named_holds(orders: Sequence[Any]) -> None:
    """Add the hold references, which buyers know, with one query for the page."""
    holds = Hold.objects.filter(
        organization_id__in={order.organization_id for order in orders},
        id__in={hold_id for order in orders for hold_id in order.hold_ids},
    )
    found = dict(holds.values_list("id", "reference"))
    for order in orders:
        order.references = [found[hold_id] for hold_id in order.hold_ids if hold_id in found]


_HOLDER: dict[str, Column] = {
    "E-mail": lambda row, in_clear: shown(row.email, in_clear=in_clear),
    "User id": lambda row, in_clear: shown(row.user_id, in_clear=in_clear),
}
_PRICE: dict[str, Column] = {
    "Total": lambda row, _: price(row),
    "Currency": lambda row, _: row.currency,
}

HOLDS = Table(
    name="holds",
    model=Hold,
    key=("created_at", "id"),
    related=("session",),
    # The index has the status before the time.
    parts=tuple({"status": status.value} for status in HoldStatus),
    columns={
        "Reference": lambda hold, _: hold.reference,
        "Status": lambda hold, _: hold.status_now,
        "Tickets": lambda hold, _: hold.quantity,
        **_PRICE,
        "Session": lambda hold, _: hold.session.name,
        **_HOLDER,
        "Source": lambda hold, _: hold.source,
        "Created": lambda hold, _: hold.created_at,
        "Held since": lambda hold, _: hold.held_at,
        "Expires": lambda hold, _: hold.expires_at,
        "Paid": lambda hold, _: hold.confirmed_at,
        "Cancelled": lambda hold, _: hold.cancelled_at,
        "Order id": lambda hold, _: hold.order_id and str(hold.order_id),
        "Hold id": lambda hold, _: str(hold.id),
    },
)

ORDERS = Table(
    name="orders",
    model=Order,
    key=("created_at", "id"),
    prepare=named_holds,
    columns={
        "Booking references": lambda order, _: ", ".join(order.references),
        "Status": lambda order, _: order.status,
        "Created": lambda order, _: order.created_at,
        **_PRICE,
        **_HOLDER,
        "Payment reference": lambda order, in_clear: shown(
            order.payment_reference, in_clear=in_clear
        ),
        "Order id": lambda order, _: str(order.id),
    },
)

AUDIT = Table(
    name="audit",
    model=AuditEntry,
    key=("at", "seq"),
    columns={
        "Number": lambda entry, _: entry.seq,
        "Time": lambda entry, _: entry.at,
        "Action": lambda entry, _: entry.action,
        "Refused because": lambda entry, _: None if "error" not in entry.new else reason(entry.new),
        "Hold": lambda entry, _: entry.hold_reference or (entry.hold_id and str(entry.hold_id)),
        "Seat": lambda entry, _: entry.seat_name,
        "Session id": lambda entry, _: entry.session_id and str(entry.session_id),
        "Actor": lambda entry, in_clear: shown(
            entry.acting_key_name or entry.actor, in_clear=in_clear
        ),
        "Acting user": lambda entry, in_clear: shown(entry.acting_user, in_clear=in_clear),
        "Reason given": lambda entry, in_clear: shown(entry.new.get("reason"), in_clear=in_clear),
        "IP address": lambda entry, _: entry.ip,
        "Request id": lambda entry, _: entry.request_id,
    },
)

TABLES = {table.name: table for table in (HOLDS, ORDERS, AUDIT)}
