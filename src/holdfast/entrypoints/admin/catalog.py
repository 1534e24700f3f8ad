"""Events, sessions, ticket types and pools."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.utils.safestring import SafeString

from holdfast.adapters.postgres import models
from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.policy import POLICY_FIELDS
from holdfast.entrypoints.admin.display import amount, badge, in_a_row, list_link, row_link
from holdfast.entrypoints.admin.lists import (
    BY_ORGANIZATION,
    ChoiceFilter,
    ReadOnlyAdmin,
    SessionRowAdmin,
    link_column,
)
from holdfast.entrypoints.admin.seats.hall import hall_of

_NAMES = tuple(POLICY_FIELDS)
POLICY = tuple(_NAMES[number : number + 2] for number in range(0, len(_NAMES), 2))  # two in a row

_COLOUR_OF_STATUS = {
    EventStatus.DRAFT.value: "",
    EventStatus.PUBLISHED.value: "success",
    EventStatus.LIVE.value: "info",
    EventStatus.CANCELLED.value: "danger",
    EventStatus.ARCHIVED.value: "",
}


class EventStatusFilter(ChoiceFilter):
    title = parameter_name = column = "status"
    choices_offered = tuple(status.value for status in EventStatus)


@admin.register(models.Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "shown_status",
        "sale_starts_at",
        "sale_ends_at",
        "currency",
        "organization",
        "created_at",
    )
    list_filter = (*BY_ORGANIZATION, EventStatusFilter)
    search_fields = ("name",)
    search_help_text = "Part of the name, or an id"
    fields = (
        ("name", "shown_status"),
        "organization",
        "id",
        ("sale_starts_at", "sale_ends_at"),
        "currency",
        *POLICY,
        ("created_at", "updated_at"),
        "more",
    )

    @admin.display(description="Status", ordering="status")
    def shown_status(self, event: models.Event) -> SafeString:
        return badge(event.status, _COLOUR_OF_STATUS.get(event.status, ""))

    @admin.display(description="See also")
    def more(self, event: models.Event) -> SafeString:
        return list_link(models.Session, "Sessions", event, event_id=event.id)


@admin.register(models.Session)
class SessionAdmin(ReadOnlyAdmin):
    """With a picture of its hall, if it has seats."""

    of_event = link_column("Event", models.Event, "event_id", "event")
    change_form_outer_after_template = "holdfast/hall.html"
    related = ("organization", "event")
    list_display = ("name", "of_event", "starts_at", "version", "organization", "created_at")
    search_fields = ("name", "event__name")
    search_help_text = "Part of the name or the event's name, or an id"
    fields = (
        "name",
        "of_event",
        "organization",
        "id",
        ("starts_at", "version"),
        ("created_at", "updated_at"),
        "more",
    )

    class Media:
        css = {"all": ("holdfast/hall.css",)}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        context["hall"] = hall_of(kwargs["obj"])
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="See also")
    def more(self, session: models.Session) -> SafeString:
        lists = [
            list_link(model, text, session, session_id=session.id)
            for model, text in (
                (models.TicketType, "Ticket types"),
                (models.Pool, "Pools"),
                (models.Block, "Blocks"),
                (models.Seat, "Seats"),
                (models.Hold, "Holds"),
            )
        ]
        return in_a_row((*lists, row_link(models.Waitlist, session.id, "Waitlist")))


@admin.register(models.TicketType)
class TicketTypeAdmin(SessionRowAdmin):
    related = ("organization", "session__event")
    list_display = ("name", "price", "is_seated", "of_session", "organization", "created_at")
    fields = (
        ("name", "price"),
        "is_seated",
        "of_session",
        "organization",
        "id",
        *POLICY,
        ("created_at", "updated_at"),
        "pools",
    )

    @admin.display(description="Price", ordering="price_minor")
    def price(self, ticket_type: models.TicketType) -> str:
        return amount(ticket_type.price_minor, ticket_type.session.event.currency)

    @admin.display(description="Draws from")
    def pools(self, ticket_type: models.TicketType) -> SafeString:
        rows = models.TicketTypePool.objects.filter(
            organization_id=ticket_type.organization_id, ticket_type_id=ticket_type.id
        ).select_related("pool")
        return in_a_row(row_link(models.Pool, row.pool_id, row.pool) for row in rows)


@admin.register(models.Pool)
class PoolAdmin(SessionRowAdmin):
    """Lapsed units are free, even before a command records that."""

    list_display = ("name", "of_session", "total", "held", "lapsed", "sold", "free", "organization")
    fields = (
        "name",
        "of_session",
        "organization",
        "id",
        ("total", "sold"),
        ("held", "lapsed"),
        "free",
        "created_at",
    )

    def annotations(self) -> dict[str, Any]:
        units = models.PoolLapse.objects.filter(
            organization_id=OuterRef("organization_id"),
            pool_id=OuterRef("id"),
            lapses_at__lte=Now(),
        )
        # Grouped, so the subquery returns one row.
        summed = units.values("pool_id").annotate(sum=Sum("units")).values("sum")
        return {"lapsed_units": Coalesce(Subquery(summed), 0)}

    @admin.display(description="Lapsed")
    def lapsed(self, pool: Any) -> int:
        return int(pool.lapsed_units)

    @admin.display(description="Free")
    def free(self, pool: Any) -> int:
        return int(pool.total - pool.held - pool.sold + pool.lapsed_units)
