"""Events, sessions, ticket types and pools."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce, Now
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres import models
from holdfast.domain.access.scopes import Scope
from holdfast.domain.catalog.model import EventStatus, SessionStatus
from holdfast.entrypoints.admin.catalog import (
    clearing,
    designer,
    events,
    hall_copies,
    seat_file,
    sessions,
    tickets,
)
from holdfast.entrypoints.admin.catalog.checklist import checklist_of
from holdfast.entrypoints.admin.catalog.fields import written_moment
from holdfast.entrypoints.admin.catalog.forms import zone_of
from holdfast.entrypoints.admin.catalog.offers import CatalogAdmin
from holdfast.entrypoints.admin.catalog.policies import policy_table
from holdfast.entrypoints.admin.display import amount, badge, in_a_row, link, list_link, row_link
from holdfast.entrypoints.admin.find.people import session_attempts_link
from holdfast.entrypoints.admin.holds import counter
from holdfast.entrypoints.admin.lists import (
    BY_ORGANIZATION,
    ChoiceFilter,
    SessionRowAdmin,
    link_column,
)
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import (
    may,
    may_somewhere,
    require,
    shows_links_to,
    visible,
)
from holdfast.entrypoints.admin.seats.hall import hall_of
from holdfast.entrypoints.admin.seats.hall_pages import HallPages

ORGANIZATIONS_OFFERED_MAX = 50

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


def _on_its_clocks(moment: datetime | None, event: models.Event) -> str:
    return written_moment(moment, zone_of(event.organization, event)) if moment else "-"


@admin.register(models.Event)
class EventAdmin(CatalogAdmin):
    offers = (*events.OFFERS[:1], *sessions.OFFERS_OF_EVENT, *events.OFFERS[1:])
    parent_parameter = "organization__id__exact"
    list_display = (
        "name",
        "shown_status",
        "on_sale_from",
        "on_sale_until",
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
        ("venue", "time_zone"),
        ("on_sale_from", "on_sale_until"),
        "currency",
        "policy",
        ("created_at", "updated_at"),
        "more",
    )

    def get_urls(self) -> list[URLPattern]:
        view = never_cache(self.admin_site.admin_view(self.create))
        own = path("new/<uuid:organization_id>/", view, name="holdfast_event_new")
        return [own, *super().get_urls()]

    def create(self, request: HttpRequest, organization_id: UUID) -> HttpResponse:
        rows = models.Organization.objects.filter(id=organization_id)
        organization = visible(request, rows).first()
        if organization is None:
            raise Http404
        require(request, Scope.CATALOG_WRITE, organization_id)
        return events.new_event(request, organization)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """On to the form, once the organization is clear."""
        if not may_somewhere(request, Scope.CATALOG_WRITE):
            raise PermissionDenied
        wanted = uuid_or_none(request.GET.get(self.parent_parameter, ""))
        rows = visible(request, models.Organization.objects.order_by("name", "mode", "id"))
        rows = rows.filter(id=wanted) if wanted else rows[:ORGANIZATIONS_OFFERED_MAX]
        own = [each for each in rows if may(request, Scope.CATALOG_WRITE, each.id)]
        urls = [reverse("admin:holdfast_event_new", args=[each.id]) for each in own]
        if len(own) == 1:
            return HttpResponseRedirect(urls[0])
        texts = [f"{each.name} ({each.mode})" for each in own]
        context = {
            **self.admin_site.each_context(request),
            "title": "New event",
            "text": "Whose event is it? If the organization is not listed, open its page and "
            "choose New event there.",
            "links": [{"url": url, "text": text} for url, text in zip(urls, texts, strict=True)],
        }
        return TemplateResponse(request, "holdfast/catalog/choose.html", context)

    def steps(self, row: Any) -> object:
        return checklist_of(row)

    @admin.display(description="Hold policy")
    def policy(self, event: models.Event) -> SafeString:
        return policy_table(event)

    @admin.display(description="Status", ordering="status")
    def shown_status(self, event: models.Event) -> SafeString:
        return badge(event.status, _COLOUR_OF_STATUS.get(event.status, ""))

    @admin.display(description="On sale from", ordering="sale_starts_at")
    def on_sale_from(self, event: models.Event) -> str:
        return _on_its_clocks(event.sale_starts_at, event)

    @admin.display(description="On sale until", ordering="sale_ends_at")
    def on_sale_until(self, event: models.Event) -> str:
        return _on_its_clocks(event.sale_ends_at, event)

    @admin.display(description="See also")
    def more(self, event: models.Event) -> SafeString:
        return in_a_row(
            list_link(model, text, event, event_id=event.id)
            for model, text in ((models.Session, "Sessions"), (models.Order, "Orders"))
        )


@admin.register(models.Session)
class SessionAdmin(CatalogAdmin, HallPages):
    """With a picture of its hall, if it has seats."""

    parent = models.Event
    parent_parameter = "event_id"
    new_offer = "session"
    offers = (
        counter.OFFER,
        *tickets.OFFERS_OF_SESSION,
        designer.OFFER,
        seat_file.OFFER,
        hall_copies.OFFER,
        sessions.EDIT_OFFER,
        clearing.CANCEL_SESSION_OFFER,
        clearing.CLEAR_OFFER,
    )

    of_event = link_column("Event", models.Event, "event_id", "event")
    change_form_outer_after_template = "holdfast/hall.html"
    related = ("organization", "event__organization")
    list_display = ("name", "shown_status", "of_event", "starts", "organization", "created_at")
    search_fields = ("name", "event__name")
    search_help_text = "Part of the name or the event's name, or an id"
    fields = (
        ("name", "shown_status"),
        "of_event",
        "organization",
        "id",
        ("starts", "version"),
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

    def steps(self, row: Any) -> object:
        return checklist_of(row.event, row)

    @admin.display(description="Starts at", ordering="starts_at")
    def starts(self, session: models.Session) -> str:
        return _on_its_clocks(session.starts_at, session.event)

    @admin.display(description="Status", ordering="status")
    def shown_status(self, session: models.Session) -> SafeString:
        is_cancelled = session.status == SessionStatus.CANCELLED
        return badge(session.status, "danger" if is_cancelled else "")

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
                (models.Order, "Orders"),
            )
        ]
        more = [row_link(models.Waitlist, session.id, "Waitlist")]
        if shows_links_to(models.Order, session.organization_id):
            url = reverse("export-door-list", args=[session.id])
            more.append(link(url, "Door list (CSV)"))
        more.append(session_attempts_link(session, "Refused attempts"))
        return in_a_row((*lists, *more))


@admin.register(models.TicketType)
class TicketTypeAdmin(SessionRowAdmin, CatalogAdmin):
    new_offer = "tickettype"
    offers = tickets.OFFERS_OF_TICKET_TYPE
    related = ("organization", "session__event")
    list_display = ("name", "price", "is_seated", "of_session", "organization", "created_at")
    fields = (
        ("name", "price"),
        "is_seated",
        "of_session",
        "organization",
        "id",
        "policy",
        ("created_at", "updated_at"),
        "pools",
    )

    @admin.display(description="Hold policy")
    def policy(self, ticket_type: models.TicketType) -> SafeString:
        return policy_table(ticket_type)

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
class PoolAdmin(SessionRowAdmin, CatalogAdmin):
    """Lapsed units are free, even before a command records that."""

    new_offer = "pool"
    offers = tickets.OFFERS_OF_POOL

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
