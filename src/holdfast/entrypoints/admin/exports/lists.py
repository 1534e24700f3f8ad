"""The link to the export of a list."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from holdfast.entrypoints.admin.lists import ReadOnlyAdmin


class ExportedAdmin(ReadOnlyAdmin):
    """A list that can be exported as it is filtered. `export` is the name in the URL."""

    export: str

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        query = request.GET.copy()
        query.pop("p", None)
        url = reverse("export-list", args=[self.export])
        offered = {"export_url": f"{url}?{query.urlencode()}" if query else url}
        return super().changelist_view(request, {**(extra_context or {}), **offered})
