"""What the lists and pages share: how rows are found, and how values are shown."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import F, Model, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.models import Hold, Seat, Session
from holdfast.domain.amounts import written
from holdfast.domain.values import Money

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

BY_ORGANIZATION: tuple[Any, ...] = (("organization", AutocompleteSelectFilter),)
_EMAIL = re.compile(r'([^\s@"<>(),;:\\])[^\s@"<>(),;:\\]*@')


def redacted(text: str) -> str:
    """The text, with every e-mail address in it as `u***@example.com`."""
    return _EMAIL.sub(r"\1***@", text)


def amount(minor: int, currency: str) -> str:
    """An amount as people write it: `12.50 EUR`, on one line."""
    return written(Money(minor, currency)).replace(" ", "\N{NO-BREAK SPACE}")


def shown_time(moment: datetime) -> str:
    """In UTC, as the lists write it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def badge(text: str, colour: str = "") -> SafeString:
    return render_to_string("unfold/helpers/label.html", {"text": text, "type": colour})


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> SafeString:
    context = {"table": {"headers": headers, "rows": list(rows)}}
    return render_to_string("unfold/components/table.html", context)


def wrapped(text: str) -> SafeString:
    """Text that others have chosen: it may be one long word."""
    return format_html('<span style="overflow-wrap: anywhere">{}</span>', redacted(text))


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


def row_link(
    model: type[Model], row_id: UUID, text: object, organization_id: UUID | None = None
) -> SafeString:
    """With an organization where the id alone may not tell."""
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_change", args=[row_id])
    return link(f"{url}?organization={organization_id}" if organization_id else url, text)


def name_of(rows: QuerySet[Any], column: str) -> Subquery:
    """The name of the row that a column points to. It is looked up for the rows that are shown; a
    join would be planned for all of them, and badly as long as the tables have no statistics."""
    own = {"organization_id": OuterRef("organization_id"), "id": OuterRef(column)}
    return Subquery(rows.filter(**own).values("name"))


def seat_name() -> Subquery:
    """Where the seat of a row is, as people say it."""
    own = {"organization_id": OuterRef("organization_id"), "id": OuterRef("seat_id")}
    parts = (F("block__name"), Value(", row "), "row_name", Value(", seat "), "number")
    named = Seat.objects.filter(**own).annotate(name=Concat(*parts, output_field=TextField()))
    return Subquery(named.values("name"))


def hold_reference() -> Subquery:
    """What people call the hold of a row."""
    own = {"organization_id": OuterRef("organization_id"), "id": OuterRef("hold_id")}
    return Subquery(Hold.objects.filter(**own).values("reference"))


def seat_link(row: Any) -> SafeString | str:
    return "-" if row.seat_id is None else row_link(Seat, row.seat_id, row.seat_name)


def in_a_row(links: Iterable[SafeString]) -> SafeString:
    return format_html_join(" \N{MIDDLE DOT} ", "{}", ((one,) for one in links))


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def holds_named(term: str) -> QuerySet[Hold]:
    """The holds that a person names by an id or a reference."""
    hold_id = uuid_or_none(term)
    name = Q(pk=hold_id) if hold_id else Q(reference=term.strip().upper())
    return Hold.objects.filter(name).select_related("organization")[:HOLDS_FOUND_MAX]


def of_hold_named(term: str, *, id_column: str) -> Q:
    """Rows of the hold that a person names. It is found first and then named with its organization,
    so that each table is asked through its index."""
    rows = Q(pk__in=())
    for hold in holds_named(term):
        rows |= Q(organization_id=hold.organization_id, **{id_column: hold.id})
    return rows


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
        {
            *("organization", "event_id", "session_id", "block_id", "seat_id", "hold_id"),
            *("status", "type"),
        }
    )

    class Media:
        css = {"all": ("holdfast/lists.css",)}

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


class GrowingTableAdmin(ReadOnlyAdmin):
    """A table too large to sort: only the order of its index is offered."""

    sortable_by = ()


class AddressedList(ChangeList):
    """The address of a row says whose it is."""

    def url_for_result(self, result: Any) -> str:
        return f"{super().url_for_result(result)}?organization={result.organization_id}"


class SharedIdAdmin(GrowingTableAdmin):
    """Ids of holds are chosen by clients, and others follow from them: two organizations may have
    the same one."""

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return AddressedList

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        organization_id = request.GET.get("organization")
        found = self.get_queryset(request).filter(id=uuid_or_none(object_id))
        if organization_id is not None:
            found = found.filter(organization_id=uuid_or_none(organization_id))
        return found.first()


class HolderRowAdmin(ReadOnlyAdmin):
    """A row that names its holder and what they pay."""

    @admin.display(description="Total")
    def total(self, row: Any) -> str:
        return amount(row.total_minor, row.currency)

    @admin.display(description="Holder")
    def holder(self, row: Any) -> SafeString:
        names = (redacted(name) for name in (row.customer_email, row.user_id) if name)
        return format_html_join(mark_safe("<br>"), "{}", ((name,) for name in names))

    @admin.display(description="Customer e-mail")
    def email(self, row: Any) -> str:
        return redacted(row.customer_email) if row.customer_email else "-"

    @admin.display(description="User id")
    def user(self, row: Any) -> str:
        return redacted(row.user_id) if row.user_id else "-"


class SessionRowAdmin(ReadOnlyAdmin):
    """A row that belongs to a session."""

    related: ClassVar[tuple[str, ...]] = ("organization", "session")

    @admin.display(description="Session")
    def of_session(self, row: Any) -> SafeString:
        return row_link(Session, row.session_id, row.session)
