"""The admin pages: operators look at every organization and change nothing here.

Everything that changes a row is a command to the engine, so there is no add, no change and no
delete. The database stands behind that: the role of these pages may only read.

The tables of holds, facts and audit entries grow without end. Their lists are read in the order of
an index, counted only up to a limit, and searched by whole values.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.core.paginator import Paginator
from django.db.models import (
    Case,
    F,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.models import (
    ApiKey,
    AuditEntry,
    Event,
    Fact,
    Hold,
    HoldLine,
    Organization,
    Pool,
    PoolLapse,
    Session,
    TicketType,
    TicketTypePool,
)
from holdfast.domain.hold import HoldStatus
from holdfast.domain.transitions import FactType

if TYPE_CHECKING:  # django-unfold has no types; what we use of it is what Django declares
    UnfoldAdmin = admin.ModelAdmin[Any]
    AutocompleteSelectFilter = admin.RelatedFieldListFilter
    AnyPaginator = Paginator[Any]
else:
    from unfold.admin import ModelAdmin as UnfoldAdmin
    from unfold.contrib.filters.admin import AutocompleteSelectFilter

    AnyPaginator = Paginator

ROWS_COUNTED_MAX = 10_000
HOLDS_FOUND_MAX = 20

_BY_ORGANIZATION: tuple[Any, ...] = (("organization", AutocompleteSelectFilter),)
_COLOUR_OF_STATUS = {
    HoldStatus.ACTIVE.value: "info",
    HoldStatus.CONVERTED.value: "success",
    HoldStatus.EXPIRED.value: "warning",
    HoldStatus.CANCELLED.value: "",
}
_EXPIRED = Value(HoldStatus.EXPIRED.value, output_field=TextField())
_EMAIL = re.compile(r'([^\s@"<>(),;:\\])[^\s@"<>(),;:\\]*@')
# ISO 4217 currencies whose minor unit is not a hundredth.
_NO_DECIMALS = {
    *("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND"),
    *("VUV", "XAF", "XOF", "XPF"),
}
_THREE_DECIMALS = {"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}


def redacted(text: str) -> str:
    """The text, with every e-mail address in it as `u***@example.com`."""
    return _EMAIL.sub(r"\1***@", text)


def amount(minor: int, currency: str) -> str:
    """An amount as people write it: `12.50 EUR`, on one line."""
    decimals = 0 if currency in _NO_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    whole, part = divmod(minor, 10**decimals)
    number = f"{whole}.{part:0{decimals}}" if decimals else str(whole)
    return f"{number}\N{NO-BREAK SPACE}{currency}"


def badge(text: str, colour: str = "") -> SafeString:
    return render_to_string("unfold/helpers/label.html", {"text": text, "type": colour})


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> SafeString:
    context = {"table": {"headers": headers, "rows": list(rows)}}
    return render_to_string("unfold/components/table.html", context)


def pretty_json(value: object) -> str | SafeString:
    """JSON for people, without e-mail addresses."""
    if value is None:
        return "-"
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    style = "white-space: pre-wrap; overflow-wrap: anywhere"
    return format_html('<pre style="{}">{}</pre>', style, redacted(text))


def link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def list_link(model: type[Model], text: str, row: Any, **columns: object) -> SafeString:
    """A link to the rows of `model` in the row's organization that have these values."""
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_changelist")
    lookups = {"organization__id__exact": row.organization_id, **columns}
    return link(f"{url}?{urlencode(lookups)}", text)


def row_link(model: type[Model], row_id: UUID, text: object) -> SafeString:
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_change", args=[row_id])
    return link(url, text)


def in_a_row(links: Iterable[SafeString]) -> SafeString:
    return format_html_join(" \N{MIDDLE DOT} ", "{}", ((one,) for one in links))


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


class BoundedPaginator(AnyPaginator):
    """Stops counting at a limit: the exact number of a million rows costs more than it says."""

    template_name = "holdfast/pagination.html"

    @cached_property
    def count(self) -> int:
        assert isinstance(self.object_list, QuerySet)
        return self.object_list.order_by()[:ROWS_COUNTED_MAX].count()

    @property
    def is_cut_off(self) -> bool:
        return self.count >= ROWS_COUNTED_MAX


class ReadOnlyAdmin(UnfoldAdmin):
    """Lists and pages for looking, and nothing else."""

    related: ClassVar[tuple[str, ...]] = ("organization",)
    paginator = BoundedPaginator
    actions = None
    list_per_page = 25
    list_max_show_all = 0
    list_filter_submit = True
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering: ClassVar[tuple[str, ...]] = ("-created_at", "-id")
    # What an address may filter by. Anything else would let people guess their way to what the
    # pages redact, one `?customer_email__startswith=` after the other.
    filters_allowed: ClassVar[frozenset[str]] = frozenset(
        {"organization", "event_id", "session_id", "hold_id", "status", "type"}
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup.partition("__")[0] in self.filters_allowed

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return list(flatten_fieldsets(self.get_fieldsets(request, obj)))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the organization joined in, a row is found by its id through the index that leads
        with the organization: one probe for each organization instead of the whole table."""
        return super().get_queryset(request).select_related(*self.related)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Says that a list is whole when nothing narrows it; the admin, not having counted, would
        offer to show all."""
        rows: Any = super().get_changelist_instance(request)
        if not rows.params and not rows.query:
            rows.full_result_count = rows.result_count
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if row_id := uuid_or_none(search_term):
            return queryset.filter(pk=row_id), False
        return super().get_search_results(request, queryset, search_term)


@admin.register(Organization)
class OrganizationAdmin(ReadOnlyAdmin):
    related = ()
    list_display = ("name", "id", "ttl_seconds", "quantity_max", "created_at")
    search_fields = ("name",)
    search_help_text = "A part of the name, or an id"
    fields = ("name", "id", "ttl_seconds", "quantity_max", "created_at", "more")

    @admin.display(description="See also")
    def more(self, row: Organization) -> SafeString:
        lookups = urlencode({"organization__id__exact": row.id})
        return in_a_row(
            link(f"{reverse(f'admin:holdfast_{name}_changelist')}?{lookups}", text)
            for name, text in (("event", "Events"), ("hold", "Holds"), ("apikey", "API keys"))
        )


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "beginning", "scope_list", "state", "organization", "created_at")
    list_filter = _BY_ORGANIZATION
    search_fields = ("name", "prefix")
    search_help_text = "A part of the name, the beginning of the key, or an id"
    fields = (
        ("name", "beginning"),
        "organization",
        "id",
        "scope_list",
        "state",
        ("created_at", "revoked_at"),
    )

    @admin.display(description="Begins with", ordering="prefix")
    def beginning(self, key: ApiKey) -> str:
        return f"{key.prefix}\N{HORIZONTAL ELLIPSIS}"

    @admin.display(description="Scopes")
    def scope_list(self, key: ApiKey) -> str:
        return ", ".join(key.scopes) or "-"

    @admin.display(description="State", ordering="revoked_at")
    def state(self, key: ApiKey) -> SafeString:
        return badge("revoked", "danger") if key.revoked_at else badge("valid", "success")


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "currency",
        "ttl_seconds",
        "quantity_max",
        "organization",
        "created_at",
    )
    list_filter = _BY_ORGANIZATION
    search_fields = ("name",)
    search_help_text = "A part of the name, or an id"
    fields = (
        "name",
        "organization",
        "id",
        "currency",
        ("ttl_seconds", "quantity_max"),
        ("created_at", "updated_at"),
        "more",
    )

    @admin.display(description="See also")
    def more(self, event: Event) -> SafeString:
        return list_link(Session, "Sessions", event, event_id=event.id)


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    related = ("organization", "event")
    list_display = ("name", "of_event", "starts_at", "version", "organization", "created_at")
    list_filter = _BY_ORGANIZATION
    search_fields = ("name", "event__name")
    search_help_text = "A part of the name or of the event's name, or an id"
    fields = (
        "name",
        "of_event",
        "organization",
        "id",
        ("starts_at", "version"),
        ("created_at", "updated_at"),
        "more",
    )

    @admin.display(description="Event")
    def of_event(self, session: Session) -> SafeString:
        return row_link(Event, session.event_id, session.event)

    @admin.display(description="See also")
    def more(self, session: Session) -> SafeString:
        return in_a_row(
            list_link(model, text, session, session_id=session.id)
            for model, text in ((TicketType, "Ticket types"), (Pool, "Pools"), (Hold, "Holds"))
        )


class SessionRowAdmin(ReadOnlyAdmin):
    """A row that belongs to a session."""

    related = ("organization", "session")

    @admin.display(description="Session")
    def of_session(self, row: Any) -> SafeString:
        return row_link(Session, row.session_id, row.session)


@admin.register(TicketType)
class TicketTypeAdmin(SessionRowAdmin):
    related = ("organization", "session__event")
    list_display = (
        "name",
        "price",
        "of_session",
        "ttl_seconds",
        "quantity_max",
        "organization",
        "created_at",
    )
    list_filter = _BY_ORGANIZATION
    search_fields = ("name", "session__name")
    search_help_text = "A part of the name or of the session's name, or an id"
    fields = (
        ("name", "price"),
        "of_session",
        "organization",
        "id",
        ("ttl_seconds", "quantity_max"),
        ("created_at", "updated_at"),
        "pools",
    )

    @admin.display(description="Price", ordering="price_minor")
    def price(self, ticket_type: TicketType) -> str:
        return amount(ticket_type.price_minor, ticket_type.session.event.currency)

    @admin.display(description="Draws from")
    def pools(self, ticket_type: TicketType) -> SafeString:
        rows = TicketTypePool.objects.filter(
            organization_id=ticket_type.organization_id, ticket_type_id=ticket_type.id
        ).select_related("pool")
        return in_a_row(row_link(Pool, row.pool_id, row.pool) for row in rows)


@admin.register(Pool)
class PoolAdmin(SessionRowAdmin):
    """Held units whose time is up are free, whether or not a command has written that down."""

    list_display = (
        "name",
        "of_session",
        "total",
        "held",
        "lapsed",
        "sold",
        "free",
        "organization",
    )
    list_filter = _BY_ORGANIZATION
    search_fields = ("name", "session__name")
    search_help_text = "A part of the name or of the session's name, or an id"
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        units = PoolLapse.objects.filter(
            organization_id=OuterRef("organization_id"),
            pool_id=OuterRef("id"),
            lapses_at__lte=Now(),
        )
        # Grouped, so that the subquery gives one row.
        summed = units.values("pool_id").annotate(sum=Sum("units")).values("sum")
        lapsed_units = Coalesce(Subquery(summed), 0)
        pools: QuerySet[Any] = super().get_queryset(request).annotate(lapsed_units=lapsed_units)
        return pools

    @admin.display(description="Of it lapsed")
    def lapsed(self, pool: Any) -> int:
        return int(pool.lapsed_units)

    @admin.display(description="Free")
    def free(self, pool: Any) -> int:
        return int(pool.total - pool.held - pool.sold + pool.lapsed_units)


class HoldStatusFilter(admin.SimpleListFilter):
    """A lapsed hold is expired, whatever its row still says."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, status.value) for status in HoldStatus]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Hold]) -> QuerySet[Hold]:
        wanted = self.value()
        active = Q(status=HoldStatus.ACTIVE.value)
        if wanted == HoldStatus.ACTIVE:
            return queryset.filter(active, expires_at__gt=Now())
        if wanted == HoldStatus.EXPIRED:
            return queryset.filter(Q(status=wanted) | (active & Q(expires_at__lte=Now())))
        return queryset.filter(status=wanted) if wanted else queryset


class GrowingTableAdmin(ReadOnlyAdmin):
    """A table too large to sort: only the order of its index is offered."""

    sortable_by = ()


@admin.register(Hold)
class HoldAdmin(SessionRowAdmin, GrowingTableAdmin):
    list_display = (
        "reference",
        "shown_status",
        "quantity",
        "total",
        "holder",
        "of_session",
        "organization",
        "created_at",
        "expires_at",
    )
    list_filter = (*_BY_ORGANIZATION, HoldStatusFilter)
    ordering = ("-organization_id", "-created_at", "-id")
    search_fields = ("reference",)
    search_help_text = "A whole reference or hold id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("reference", "shown_status"),
                    "id",
                    ("organization", "of_session"),
                    ("email", "user"),
                    ("quantity", "total"),
                    "lines",
                    "more",
                )
            },
        ),
        (
            "Times (UTC)",
            {
                "fields": (
                    ("created_at", "held_at"),
                    ("expires_at", "expired_at"),
                    ("confirmed_at", "cancelled_at"),
                    ("updated_at", "version"),
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        lapsed = When(status=HoldStatus.ACTIVE.value, expires_at__lte=Now(), then=_EXPIRED)
        status_now = Case(lapsed, default=F("status"))
        holds: QuerySet[Any] = super().get_queryset(request).annotate(status_now=status_now)
        return holds

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(_named(search_term, id_column="id")), False

    @admin.display(description="Status")
    def shown_status(self, hold: Any) -> SafeString:
        return badge(hold.status_now, _COLOUR_OF_STATUS.get(hold.status_now, ""))

    @admin.display(description="Total")
    def total(self, hold: Hold) -> str:
        return amount(hold.total_minor, hold.currency)

    @admin.display(description="Holder")
    def holder(self, hold: Hold) -> SafeString:
        names = (redacted(name) for name in (hold.customer_email, hold.user_id) if name)
        return format_html_join(mark_safe("<br>"), "{}", ((name,) for name in names))

    @admin.display(description="Customer e-mail")
    def email(self, hold: Hold) -> str:
        return redacted(hold.customer_email) if hold.customer_email else "-"

    @admin.display(description="User id")
    def user(self, hold: Hold) -> str:
        return redacted(hold.user_id) if hold.user_id else "-"

    @admin.display(description="Lines")
    def lines(self, hold: Hold) -> SafeString:
        lines = HoldLine.objects.filter(organization_id=hold.organization_id, hold_id=hold.id)
        return table(
            ("Ticket type", "Quantity", "Unit price", "Total"),
            (
                (
                    line.ticket_type.name,
                    line.quantity,
                    amount(line.unit_price_minor, hold.currency),
                    amount(line.quantity * line.unit_price_minor, hold.currency),
                )
                for line in lines.select_related("ticket_type").order_by("position")
            ),
        )

    @admin.display(description="See also")
    def more(self, hold: Hold) -> SafeString:
        return in_a_row(
            list_link(model, text, hold, hold_id=hold.id)
            for model, text in ((Fact, "Facts"), (AuditEntry, "Audit"))
        )


def _named(term: str, *, id_column: str) -> Q:
    """Rows of the hold that a person names by its id or its reference. Found first and then named
    with its organization, so that each table is asked through its index."""
    hold_id = uuid_or_none(term)
    name = Q(pk=hold_id) if hold_id else Q(reference=term.strip().upper())
    found = Hold.objects.filter(name).select_related("organization")[:HOLDS_FOUND_MAX]
    rows = Q(pk__in=())
    for hold in found:
        rows |= Q(organization_id=hold.organization_id, **{id_column: hold.id})
    return rows


class HoldHistoryAdmin(GrowingTableAdmin):
    """What happened to holds, newest first within each organization."""

    list_filter = _BY_ORGANIZATION
    ordering = ("-organization_id", "-seq")
    search_fields = ("hold_id",)
    search_help_text = "The whole reference or id of a hold"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(_named(search_term, id_column="hold_id")), False

    @admin.display(description="Hold")
    def hold(self, row: Fact | AuditEntry) -> SafeString:
        return row_link(Hold, row.hold_id, row.hold_id)


class FactTypeFilter(admin.SimpleListFilter):
    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.value, kind.value) for kind in FactType]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Fact]) -> QuerySet[Fact]:
        wanted = self.value()
        return queryset.filter(type=wanted) if wanted else queryset


@admin.register(Fact)
class FactAdmin(HoldHistoryAdmin):
    list_display = ("seq", "type", "hold", "version", "organization", "occurred_at")
    list_filter = (*_BY_ORGANIZATION, FactTypeFilter)
    fields = (
        ("type", "occurred_at"),
        ("hold", "version"),
        "organization",
        "event_id",
        ("seq", "xid"),
        "content",
    )

    @admin.display(description="Payload")
    def content(self, fact: Fact) -> str | SafeString:
        return pretty_json(fact.payload)


@admin.register(AuditEntry)
class AuditEntryAdmin(HoldHistoryAdmin):
    list_display = ("seq", "action", "hold", "who", "request_id", "ip", "organization", "at")
    fields = (
        ("action", "at"),
        "hold",
        "organization",
        ("who", "request_id"),
        "ip",
        "agent",
        "seq",
        "before",
        "after",
    )

    @admin.display(description="Actor")
    def who(self, entry: AuditEntry) -> str:
        return redacted(entry.actor)

    @admin.display(description="User agent")
    def agent(self, entry: AuditEntry) -> str:
        return redacted(entry.user_agent) if entry.user_agent else "-"

    @admin.display(description="Before")
    def before(self, entry: AuditEntry) -> str | SafeString:
        return pretty_json(entry.old)

    @admin.display(description="After")
    def after(self, entry: AuditEntry) -> str | SafeString:
        return pretty_json(entry.new)
