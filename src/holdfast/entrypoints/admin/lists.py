"""The base of all lists and pages."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.models import Session
from holdfast.entrypoints.admin.display import amount, redacted, row_link
from holdfast.entrypoints.admin.lookups import uuid_or_none

if TYPE_CHECKING:  # django-unfold has no types; what we use of it is what Django declares
    UnfoldAdmin = admin.ModelAdmin[Any]
    AutocompleteSelectFilter = admin.RelatedFieldListFilter
    AnyPaginator = Paginator[Any]
else:
    from unfold.admin import ModelAdmin as UnfoldAdmin
    from unfold.contrib.filters.admin import AutocompleteSelectFilter

    AnyPaginator = Paginator

ROWS_COUNTED_MAX = 10_000

BY_ORGANIZATION: tuple[Any, ...] = (("organization", AutocompleteSelectFilter),)


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
        """Joins the organization, so an id is found through the index that leads with it: one probe
        per organization instead of a scan."""
        return super().get_queryset(request).select_related(*self.related)

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
    """A table too large to sort: it is listed in the order of its index only."""

    sortable_by = ()


class AddressedList(ChangeList):
    """The URL of a row includes its organization."""

    def url_for_result(self, result: Any) -> str:
        return f"{super().url_for_result(result)}?organization={result.organization_id}"


class SharedIdAdmin(GrowingTableAdmin):
    """Clients choose hold ids, and other ids derive from them, so two organizations may share an
    id."""

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
    """A row with a holder and an amount."""

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
