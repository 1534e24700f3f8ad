"""Blocks and seats."""

import re
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Concat, Upper
from django.http import HttpRequest
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import (
    AuditEntry,
    Block,
    BlockPrice,
    Fact,
    Hold,
    Pool,
    Seat,
    Session,
    TicketType,
)
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.display import amount, badge, in_a_row, list_link, row_link, table
from holdfast.entrypoints.admin.lists import BY_ORGANIZATION, GrowingTableAdmin, SessionRowAdmin
from holdfast.entrypoints.admin.lookups import name_of, uuid_or_none
from holdfast.entrypoints.admin.seats.hall import counted, seat_status_now

BLOCKS_OFFERED_MAX = 100

_COLOUR_OF_STATUS = {
    SeatStatus.AVAILABLE.value: "success",
    SeatStatus.HELD.value: "warning",
    SeatStatus.SOLD.value: "info",
    SeatStatus.BLOCKED.value: "",
}


@admin.register(Block)
class BlockAdmin(SessionRowAdmin):
    """Seats are counted on the page of one block; in the list it would be every seat of every
    session shown."""

    related = ("organization", "session__event", "capacity_pool")
    list_display = ("name", "of_session", "rank", "capacity", "organization", "created_at")
    list_filter = BY_ORGANIZATION
    search_fields = ("name", "session__name")
    search_help_text = "A part of the name or of the session's name, or an id"
    fields = (
        ("name", "rank"),
        "of_session",
        "organization",
        "id",
        "capacity",
        "prices",
        "seats",
        ("created_at", "updated_at"),
        "more",
    )

    @admin.display(description="Capacity")
    def capacity(self, block: Block) -> SafeString | str:
        pool = block.capacity_pool
        return "all of its seats" if pool is None else row_link(Pool, pool.id, pool.total)

    @admin.display(description="Prices")
    def prices(self, block: Block) -> SafeString | str:
        own = {"organization_id": block.organization_id, "block_id": block.id}
        prices = BlockPrice.objects.filter(**own).select_related("ticket_type").order_by("rank")
        currency = block.session.event.currency
        rows = [
            (
                row_link(TicketType, price.ticket_type_id, price.ticket_type),
                amount(price.price_minor, currency),
            )
            for price in prices
        ]
        if not rows:
            return "every seated ticket type at its own price"
        return table(("Ticket type", "Price"), rows)

    @admin.display(description="Seats")
    def seats(self, block: Block) -> str:
        counts = counted(_seats_of(block))
        parts = [f"{count} {status}" for status, count in counts.items()]
        return f"{sum(counts.values())}: {', '.join(parts)}"

    @admin.display(description="See also")
    def more(self, block: Block) -> SafeString:
        return list_link(Seat, "Seats", block, session_id=block.session_id, block_id=block.id)


def _seats_of(block: Block) -> QuerySet[Seat]:
    """Through the session, by which there is an index."""
    return Seat.objects.filter(
        organization_id=block.organization_id, session_id=block.session_id, block_id=block.id
    )


class SeatStatusFilter(admin.SimpleListFilter):
    """A held seat whose time is up is available, whatever its row still says."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, status.value) for status in SeatStatus]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = self.value()
        return queryset.filter(status_now=wanted) if wanted else queryset


class BlockFilter(admin.SimpleListFilter):
    """The blocks of the session whose seats are listed. Of all sessions there would be too many."""

    title = "block"
    parameter_name = "block_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        session_id = uuid_or_none(request.GET.get("session_id", ""))
        if session_id is None:
            return []
        # With the organization joined in, as for every row that is found by an id alone.
        blocks = Block.objects.filter(session_id=session_id).select_related("organization")
        return [
            (str(block.id), block.name)
            for block in blocks.order_by("rank", "id")[:BLOCKS_OFFERED_MAX]
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = self.value()
        return queryset.filter(block_id=uuid_or_none(wanted)) if wanted else queryset


@admin.register(Seat)
class SeatAdmin(GrowingTableAdmin):
    """The holder of a seat is on the page of its hold. Seats of one import have ids that count up,
    so the order of their index is the order of the rows."""

    list_display = (
        "row_name",
        "number",
        "in_block",
        "shown_status",
        "special",
        "held_until",
        "of_session",
        "organization",
    )
    list_filter = (*BY_ORGANIZATION, SeatStatusFilter, BlockFilter)
    ordering = ("organization_id", "id")
    search_fields = ("row_name", "number")
    search_help_text = "A row, a number, both (C 12 or C12), or an id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("in_block", "row_name", "number"),
                    ("shown_status", "blocked_reason"),
                    "id",
                    ("organization", "of_session"),
                    "hold",
                    ("held_until", "locked_at"),
                    "special",
                    "more",
                )
            },
        ),
        ("Place", {"fields": (("position", "row_rank"), ("x", "y"), ("version", "changed_xid"))}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        names = {
            "block_name": name_of(Block.objects.all(), "block_id"),
            "session_name": name_of(Session.objects.all(), "session_id"),
        }
        seats = super().get_queryset(request)
        named: QuerySet[Any] = seats.annotate(status_now=seat_status_now(), **names)
        return named

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if seat_id := uuid_or_none(search_term):
            return queryset.filter(pk=seat_id), False
        words = re.sub(r"[\s,-]+", " ", search_term).strip().upper()
        if not words:
            return queryset, False
        named = queryset.annotate(
            spaced=Upper(Concat("row_name", Value(" "), "number", output_field=TextField())),
            printed=Upper(Concat("row_name", "number")),
        )
        row_or_number = Q(row_name__iexact=words) | Q(number__iexact=words)
        return named.filter(row_or_number | Q(spaced=words) | Q(printed=words)), False

    @admin.display(description="Block")
    def in_block(self, seat: Any) -> SafeString:
        return row_link(Block, seat.block_id, seat.block_name)

    @admin.display(description="Session")
    def of_session(self, seat: Any) -> SafeString:
        return row_link(Session, seat.session_id, seat.session_name)

    @admin.display(description="Status")
    def shown_status(self, seat: Any) -> SafeString:
        return badge(seat.status_now, _COLOUR_OF_STATUS.get(seat.status_now, ""))

    @admin.display(description="Special")
    def special(self, seat: Seat) -> str:
        marks = {
            "accessible": seat.is_accessible,
            "for a companion": seat.is_companion,
            "restricted view": seat.is_restricted_view,
        }
        return ", ".join(mark for mark, is_so in marks.items() if is_so) or "-"

    @admin.display(description="Hold")
    def hold(self, seat: Seat) -> SafeString | str:
        if seat.hold_id is None:
            return "-"
        return row_link(Hold, seat.hold_id, seat.hold_id, seat.organization_id)

    @admin.display(description="See also")
    def more(self, seat: Seat) -> SafeString:
        """The facts of its holds are told with those: there is an index by hold, none by seat."""
        return in_a_row(
            (
                list_link(AuditEntry, "Audit", seat, seat_id=seat.id),
                list_link(Fact, "Facts of blocking", seat, hold_id__isnull=True, seat_id=seat.id),
            )
        )
