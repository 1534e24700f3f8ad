"""Blocks and seats."""

import re
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Concat, Upper
from django.http import HttpRequest
from django.utils.safestring import SafeString

from holdfast.adapters.postgres import models
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.catalog.offers import CatalogAdmin
from holdfast.entrypoints.admin.catalog.tickets import OFFERS_OF_BLOCK
from holdfast.entrypoints.admin.display import amount, badge, in_a_row, list_link, row_link, table
from holdfast.entrypoints.admin.lists import (
    BY_ORGANIZATION,
    ChoiceFilter,
    GrowingTableAdmin,
    SessionRowAdmin,
    link_column,
)
from holdfast.entrypoints.admin.lookups import name_of, uuid_or_none
from holdfast.entrypoints.admin.people.rights import visible
from holdfast.entrypoints.admin.seats.hall import counted, seat_status_now

BLOCKS_OFFERED_MAX = 100

_COLOUR_OF_STATUS = {
    SeatStatus.AVAILABLE.value: "success",
    SeatStatus.HELD.value: "warning",
    SeatStatus.SOLD.value: "info",
    SeatStatus.BLOCKED.value: "",
}


@admin.register(models.Block)
class BlockAdmin(SessionRowAdmin, CatalogAdmin):
    """Seats are counted only on the page of a block; the list would count every seat of all
    sessions shown."""

    new_offer = "block"
    offers = OFFERS_OF_BLOCK

    related = ("organization", "session__event", "capacity_pool")
    list_display = ("name", "of_session", "rank", "capacity", "organization", "created_at")
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
    def capacity(self, block: models.Block) -> SafeString | str:
        pool = block.capacity_pool
        return "all seats" if pool is None else row_link(models.Pool, pool.id, pool.total)

    @admin.display(description="Prices")
    def prices(self, block: models.Block) -> SafeString | str:
        own = {"organization_id": block.organization_id, "block_id": block.id}
        prices = (
            models.BlockPrice.objects.filter(**own).select_related("ticket_type").order_by("rank")
        )
        currency = block.session.event.currency
        rows = [
            (
                row_link(models.TicketType, price.ticket_type_id, price.ticket_type),
                amount(price.price_minor, currency),
            )
            for price in prices
        ]
        if not rows:
            return "every seated ticket type at its own price"
        return table(("Ticket type", "Price"), rows)

    @admin.display(description="Seats")
    def seats(self, block: models.Block) -> str:
        counts = counted(_seats_of(block))
        parts = [f"{count} {status}" for status, count in counts.items()]
        return f"{sum(counts.values())}: {', '.join(parts)}"

    @admin.display(description="See also")
    def more(self, block: models.Block) -> SafeString:
        return list_link(
            models.Seat, "Seats", block, session_id=block.session_id, block_id=block.id
        )


def _seats_of(block: models.Block) -> QuerySet[models.Seat]:
    """Found by session, which has an index."""
    return models.Seat.objects.filter(
        organization_id=block.organization_id, session_id=block.session_id, block_id=block.id
    )


class SeatStatusFilter(ChoiceFilter):
    """A lapsed seat counts as available, whatever its row says."""

    title = parameter_name = "status"
    choices_offered = tuple(status.value for status in SeatStatus)
    column = "status_now"


class BlockFilter(admin.SimpleListFilter):
    """The blocks of the listed session. Those of all sessions would be too many."""

    title = "block"
    parameter_name = "block_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        session_id = uuid_or_none(request.GET.get("session_id", ""))
        if session_id is None:
            return []
        # Joins the organization, like every look-up by id alone.
        blocks = visible(request, models.Block.objects.filter(session_id=session_id))
        blocks = blocks.select_related("organization")
        return [
            (str(block.id), block.name)
            for block in blocks.order_by("rank", "id")[:BLOCKS_OFFERED_MAX]
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = self.value()
        return queryset.filter(block_id=uuid_or_none(wanted)) if wanted else queryset


@admin.register(models.Seat)
class SeatAdmin(GrowingTableAdmin):
    """The holder is on the page of the hold. Seats of one import have consecutive ids, so the order
    of the index is that of the rows."""

    in_block = link_column("Block", models.Block, "block_id", "block_name")
    of_session = link_column("Session", models.Session, "session_id", "session_name")
    hold = link_column("Hold", models.Hold, "hold_id", has_shared_id=True)
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

    def annotations(self) -> dict[str, Any]:
        return {
            "block_name": name_of(models.Block.objects.all(), "block_id"),
            "session_name": name_of(models.Session.objects.all(), "session_id"),
            "status_now": seat_status_now(),
        }

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        if seat_id := uuid_or_none(term):
            return rows.filter(pk=seat_id)
        words = re.sub(r"[\s,-]+", " ", term).strip().upper()
        if not words:
            return rows
        named: QuerySet[Any] = rows.annotate(
            spaced=Upper(Concat("row_name", Value(" "), "number", output_field=TextField())),
            printed=Upper(Concat("row_name", "number")),
        )
        row_or_number = Q(row_name__iexact=words) | Q(number__iexact=words)
        return named.filter(row_or_number | Q(spaced=words) | Q(printed=words))

    @admin.display(description="Status")
    def shown_status(self, seat: Any) -> SafeString:
        return badge(seat.status_now, _COLOUR_OF_STATUS.get(seat.status_now, ""))

    @admin.display(description="Special")
    def special(self, seat: models.Seat) -> str:
        marks = {
            "accessible": seat.is_accessible,
            "for a companion": seat.is_companion,
            "restricted view": seat.is_restricted_view,
        }
        return ", ".join(mark for mark, is_so in marks.items() if is_so) or "-"

    @admin.display(description="See also")
    def more(self, seat: models.Seat) -> SafeString:
        """Facts of its holds are listed with the holds: there is no index by seat."""
        return in_a_row(
            (
                list_link(models.AuditEntry, "Audit", seat, seat_id=seat.id),
                list_link(
                    models.Fact, "Facts about blocking", seat, hold_id__isnull=True, seat_id=seat.id
                ),
            )
        )
