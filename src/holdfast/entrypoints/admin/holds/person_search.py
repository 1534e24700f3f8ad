"""Lists that show the rows of one person. The search box leads to them, with a URL that has only
the keyed hash of the address: URLs end up in logs and browser histories."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.lookups import uuid_or_none

ORGANIZATION = "organization__id__exact"


class PersonSearchAdmin(ReadOnlyAdmin):
    """`hash_lookup` and `user_lookup` are the parameters of its URL."""

    list_before_template = "holdfast/person_search.html"
    hash_lookup: ClassVar[str] = "email_key__in"
    user_lookup: ClassVar[str] = "user_id__exact"

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        own = {self.hash_lookup, self.user_lookup}
        return lookup in own or super().lookup_allowed(lookup, value, request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Somebody who sees only one person's rows can go back to everybody's."""
        everybody = None
        if {self.hash_lookup, self.user_lookup} & request.GET.keys():
            chosen = uuid_or_none(request.GET.get(ORGANIZATION, ""))
            everybody = urlencode({ORGANIZATION: chosen} if chosen else {})
        return super().changelist_view(request, {**(extra_context or {}), "everybody": everybody})
