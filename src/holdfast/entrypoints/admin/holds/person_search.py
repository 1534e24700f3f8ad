"""The form that finds a person by e-mail address or user id. It is posted, and leads to a URL that
has only the keyed hash of the address: URLs end up in logs and browser histories."""

from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from holdfast.adapters.postgres.models import Organization
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress, Holder, InvalidValue
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import is_operator, may, roles_of, scope_of

ORGANIZATION = "organization__id__exact"
ORGANIZATIONS_OFFERED_MAX = 100


class PersonSearchAdmin(ReadOnlyAdmin):
    """A list with the form. `hash_lookup` and `user_lookup` are the parameters of its URL."""

    list_before_template = "holdfast/person_search.html"
    hash_lookup: ClassVar[str] = "email_key__in"
    user_lookup: ClassVar[str] = "user_id__exact"
    # The list that the form leads to.
    model_found: ClassVar[str] = ""
    lookups_found: ClassVar[dict[str, str]] = {}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        own = {self.hash_lookup, self.user_lookup}
        return lookup in own or super().lookup_allowed(lookup, value, request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            return HttpResponseRedirect(self._url_of_person(request))
        chosen = uuid_or_none(request.GET.get(ORGANIZATION, ""))
        search = {
            "organizations": self._organizations(request, chosen),
            "is_found": bool({self.hash_lookup, self.user_lookup} & request.GET.keys()),
            "everybody": urlencode({ORGANIZATION: chosen}),
        }
        return super().changelist_view(request, {**(extra_context or {}), "person_search": search})

    def _organizations(self, request: HttpRequest, chosen: UUID | None) -> list[Organization]:
        """Those in which the person may open this list, or the chosen one of them."""
        rows = Organization.objects.order_by("name", "mode")
        if not is_operator(request):
            scope = scope_of(self.model)
            rows = rows.filter(
                id__in=[id_ for id_ in roles_of(request) if may(request, scope, id_)]
            )
        return list((rows.filter(id=chosen) if chosen else rows)[:ORGANIZATIONS_OFFERED_MAX])

    def _url_of_person(self, request: HttpRequest) -> str:
        organization_id = uuid_or_none(request.POST.get("organization", ""))
        if organization_id is None:
            messages.warning(request, "Choose an organization to find a person in it.")
            return request.get_full_path()
        if not may(request, scope_of(self.model), organization_id):
            raise PermissionDenied
        text = request.POST.get("person", "").strip()
        try:
            holder = Holder(EmailAddress(text)) if "@" in text else Holder(user_id=text)
        except InvalidValue:
            messages.warning(request, "Enter a whole e-mail address or user id.")
            return request.get_full_path()
        name = self.model_found or self.model.__name__.lower()
        lookups = {
            ORGANIZATION: organization_id,
            **self._lookup(OrganizationId(organization_id), holder),
            **self.lookups_found,
        }
        return f"{reverse(f'admin:holdfast_{name}_changelist')}?{urlencode(lookups)}"

    def _lookup(self, organization_id: OrganizationId, holder: Holder) -> dict[str, object]:
        """The hash of the address with each secret. A hash without a key, which a list of addresses
        would reverse, is left out if there is any other."""
        if holder.email is None:
            return {self.user_lookup: holder.user_id}
        hashes: HolderHashes = settings.HOLDFAST_ADDRESSES.hashes
        keyed = hashes.all_of(organization_id, holder)
        every = keyed or hashes.address_keys(organization_id, holder.email)
        return {self.hash_lookup: ",".join(every)}
