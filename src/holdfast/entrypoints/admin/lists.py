"""The base of all lists and pages."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.models import Session
from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.admin.display import amount, redacted, row_link
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import (
    may,
    may_somewhere,
    organization_column,
    scope_of,
    visible,
)

if TYPE_CHECKING:  # django-unfold has no types; what we use of it is what Django declares
    UnfoldAdmin = admin.ModelAdmin[Any]
    AutocompleteSelectFilter = admin.RelatedFieldListFilter
    AnyPaginator = Paginator[Any]
else:
    from unfold.admin import ModelAdmin as UnfoldAdmin
    from unfold.contrib.filters.admin import AutocompleteSelectFilter

    AnyPaginator = Paginator

ROWS_COUNTED_MAX = 10_000
# Others, such as a regular expression, can take long or fail.
_LOOKUPS_ALLOWED = frozenset({"", "exact", "in", "id__exact", "id__in", "isnull", "gte", "lt"})


class OrganizationFilter(AutocompleteSelectFilter):
    """Unlike its base, does not show the name of an organization to somebody else's staff."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, *rest: Any, **more: Any
    ) -> None:
        super().__init__(field, request, params, *rest, **more)
        for chosen in map(uuid_or_none, self.lookup_val or ()):
            if chosen is not None and not may(request, Scope.SETTINGS_READ, chosen):
                raise IncorrectLookupParameters


BY_ORGANIZATION: tuple[Any, ...] = (("organization", OrganizationFilter),)


def link_column(
    title: str, model: type[Model], id_column: str, text: str = "", *, has_shared_id: bool = False
) -> Callable[[Any, Any], SafeString | str]:
    """A link to the row that a column names, shown as another attribute or as its id."""

    @admin.display(description=title)
    def linked(_admin: Any, row: Any) -> SafeString | str:
        row_id = getattr(row, id_column)
        if row_id is None:
            return "-"
        organization_id = row.organization_id if has_shared_id else None
        return row_link(model, row_id, getattr(row, text or id_column), organization_id)

    return linked


def text_column(title: str, column: str) -> Callable[[Any, Any], str]:
    """User text, without e-mail addresses."""

    @admin.display(description=title)
    def shown(_admin: Any, row: Any) -> str:
        return redacted(getattr(row, column) or "-")

    return shown


class ChoiceFilter(admin.SimpleListFilter):
    """Rows with one of these values in a column."""

    choices_offered: ClassVar[Iterable[str]]
    column: ClassVar[str]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(choice, choice) for choice in self.choices_offered]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = self.value()
        return queryset.filter(**{self.column: wanted}) if wanted else queryset


class BoundedPaginator(AnyPaginator):
    """Stops counting at a limit: an exact count of a million rows is slow and not worth it."""

    template_name = "holdfast/pagination.html"

    @cached_property
    def count(self) -> int:
        assert isinstance(self.object_list, QuerySet)
        return self.object_list.order_by()[:ROWS_COUNTED_MAX].count()

    @property
    def is_cut_off(self) -> bool:
        return self.count >= ROWS_COUNTED_MAX


class ReadOnlyAdmin(UnfoldAdmin):
    """Read-only lists and pages."""

    related: ClassVar[tuple[str, ...]] = ("organization",)
    changelist: ClassVar[type[ChangeList]] = ChangeList
    list_filter: ClassVar[tuple[Any, ...]] = BY_ORGANIZATION
    paginator = BoundedPaginator
    actions = None
    list_per_page = 25
    list_max_show_all = 0
    list_filter_submit = True
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering: ClassVar[tuple[str, ...]] = ("-created_at", "-id")
    # Fields that a URL may filter by. With others, people could guess what the pages redact, one
    # `?customer_email__startswith=` after another.
    filters_allowed: ClassVar[frozenset[str]] = frozenset(
        {
            *("organization", "event_id", "session_id", "block_id", "seat_id", "hold_id"),
            *("status", "type"),
        }
    )

    class Media:
        css = {"all": ("holdfast/lists.css",)}

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        scope = scope_of(self.model)
        if obj is None:
            return may_somewhere(request, scope)
        return may(request, scope, getattr(obj, organization_column(self.model)))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        field, _, kind = lookup.partition("__")
        return field in self.filters_allowed and kind in _LOOKUPS_ALLOWED

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return list(flatten_fieldsets(self.get_fieldsets(request, obj)))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Only what the person may see. Joins the organization, so an id is found through the index
        that leads with it: one probe per organization instead of a scan."""
        rows = visible(request, super().get_queryset(request)).select_related(*self.related)
        annotated: QuerySet[Any] = rows.annotate(**self.annotations())
        return annotated

    def annotations(self) -> dict[str, Any]:
        """Further columns, computed by the database."""
        return {}

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return self.changelist

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Mark an unfiltered list as complete; without a count, the admin would offer to show
        all."""
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
    """A table too large to sort or to search for parts: it is listed in the order of its index, and
    searched by whole values."""

    sortable_by = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        return self.found(queryset, term) if term else queryset, False

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        raise NotImplementedError


class AddressedList(ChangeList):
    """The URL of a row includes its organization."""

    def url_for_result(self, result: Any) -> str:
        return f"{super().url_for_result(result)}?organization={result.organization_id}"


class SharedIdAdmin(GrowingTableAdmin):
    """Clients choose hold ids, and other ids derive from them, so two organizations may share an
    id."""

    changelist = AddressedList

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        organization_id = request.GET.get("organization")
        found = self.get_queryset(request).filter(id=uuid_or_none(object_id))
        if organization_id is not None:
            found = found.filter(organization_id=uuid_or_none(organization_id))
        return found.first()


class HolderRowAdmin(ReadOnlyAdmin):
    """A row with a holder and an amount."""

    email = text_column("Customer e-mail", "email")
    user = text_column("User id", "user_id")

    @admin.display(description="Total")
    def total(self, row: Any) -> str:
        return amount(row.total_minor, row.currency)

    @admin.display(description="Holder")
    def holder(self, row: Any) -> SafeString:
        names = (redacted(name) for name in (row.email, row.user_id) if name)
        return format_html_join(mark_safe("<br>"), "{}", ((name,) for name in names))


class SessionRowAdmin(ReadOnlyAdmin):
    """A row that belongs to a session."""

    related: ClassVar[tuple[str, ...]] = ("organization", "session")
    search_fields: ClassVar[tuple[str, ...]] = ("name", "session__name")
    search_help_text = "Part of the name or the session's name, or an id"
    of_session = link_column("Session", Session, "session_id", "session")
