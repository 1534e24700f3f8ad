"""Facts, and the progress of the relay."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db import connection
from django.db.models import Exists, Max, OuterRef, Q
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Fact, RelayCursor
from holdfast.domain.group.transitions import FactType
from holdfast.entrypoints.admin.display import badge, pretty_json
from holdfast.entrypoints.admin.history import HistoryAdmin
from holdfast.entrypoints.admin.lists import BY_ORGANIZATION, ChoiceFilter
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import is_operator
from holdfast.ports.facts.log import PARTITIONS

WAITING_COUNTED_MAX = 10_000


def is_relayed() -> Exists:
    """Whether the cursor of its partition has reached the fact."""
    reached = Q(xid__gt=OuterRef("xid")) | Q(xid=OuterRef("xid"), seq__gte=OuterRef("seq"))
    return Exists(RelayCursor.objects.filter(reached, partition=OuterRef("partition")))


def relay_state(counted_max: int = WAITING_COUNTED_MAX) -> dict[str, Any]:
    """How many facts are not relayed yet, the age of the oldest, and when the relay last moved."""
    with connection.cursor() as cursor:
        lag = "SELECT waiting, oldest_seconds FROM holdfast_relay_lag(%s, %s)"
        cursor.execute(lag, [PARTITIONS, counted_max])
        waiting, oldest_seconds = cursor.fetchone()
    return {
        "waiting": waiting,
        "is_cut_off": waiting >= counted_max,
        "oldest_seconds": round(oldest_seconds),
        "moved_at": RelayCursor.objects.aggregate(last=Max("moved_at"))["last"],
    }


class FactTypeFilter(ChoiceFilter):
    title = parameter_name = column = "type"
    choices_offered = tuple(kind.value for kind in FactType)


class FactList(ChangeList):
    """The URL of a fact has its whole cursor: there is no index on its number alone."""

    def url_for_result(self, result: Any) -> str:
        place = f"organization={result.organization_id}&transaction={result.xid}"
        return f"{super().url_for_result(result)}?{place}"


@admin.register(Fact)
class FactAdmin(HistoryAdmin):
    changelist = FactList
    list_before_template = "holdfast/relay.html"
    list_display = (
        "seq",
        "type",
        "hold",
        "of_seat",
        "version",
        "relayed",
        "organization",
        "occurred_at",
    )
    list_filter = (*BY_ORGANIZATION, FactTypeFilter)
    # The order of the log.
    ordering = ("-organization_id", "-xid", "-seq")
    fields = (
        ("type", "occurred_at"),
        ("hold", "version"),
        ("of_seat", "catalog_id"),
        "organization",
        "event_id",
        ("seq", "xid"),
        ("partition", "relayed"),
        "content",
    )

    def annotations(self) -> dict[str, Any]:
        return {**super().annotations(), "is_relayed": is_relayed()}

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        number, transaction = object_id, request.GET.get("transaction", "")
        if not number.isdecimal():
            return None
        found = self.get_queryset(request).filter(seq=int(number))
        if organization_id := uuid_or_none(request.GET.get("organization", "")):
            found = found.filter(organization_id=organization_id)
        if transaction.isdecimal():
            found = found.filter(xid=int(transaction))
        return found.first()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The relay works for all organizations, so only operators see its progress."""
        relay = relay_state() if is_operator(request) else None
        return super().changelist_view(request, {**(extra_context or {}), "relay": relay})

    @admin.display(description="Relayed")
    def relayed(self, fact: Any) -> SafeString:
        return badge("relayed", "success") if fact.is_relayed else badge("waiting", "warning")

    @admin.display(description="Payload")
    def content(self, fact: Fact) -> str | SafeString:
        return pretty_json(fact.payload)
