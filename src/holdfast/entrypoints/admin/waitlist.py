"""The waitlist of a session: its queues, and the parties of each in order."""

from collections.abc import Iterable
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Exists, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Block, Hold, Pool, WaitingLine, WaitingPlace, Waitlist
from holdfast.domain.holds.hold import HoldStatus
from holdfast.entrypoints.admin.display import (
    badge,
    list_link,
    redacted,
    row_link,
    shown_time,
    table,
)
from holdfast.entrypoints.admin.holds.person_search import PersonSearchAdmin
from holdfast.entrypoints.admin.lists import SessionRowAdmin

QUEUES_SHOWN_MAX = 20
PARTIES_SHOWN_MAX = 50
POSITION_COUNTED_MAX = 1_000

# Counts all earlier parties that want any of the same, up to a limit.
_POSITION = """
(SELECT 1 + count(*) FROM (
    SELECT FROM waiting_place p
    JOIN waiting_line own ON own.organization_id = p.organization_id
        AND own.session_id = p.session_id AND own.id = p.line_id
    JOIN waiting_line l ON l.organization_id = p.organization_id
        AND l.session_id = p.session_id AND l.wants && own.wants
    JOIN waiting_place e ON e.organization_id = p.organization_id
        AND e.session_id = p.session_id AND e.line_id = l.id
        AND (e.since, e.hold_id) < (p.since, p.hold_id)
    WHERE p.organization_id = hold.organization_id AND p.hold_id = hold.id
    LIMIT %s) AS earlier)
"""


def shown_positions(holds: Iterable[Hold]) -> dict[tuple[UUID, UUID], str]:
    """The queue positions of waiting holds, by organization and id; 1 is next. A separate query: as
    a column of a list, it would also be counted for every row that the list skips."""
    keys = {(hold.organization_id, hold.id) for hold in holds}
    if not keys:
        return {}
    position = RawSQL(  # noqa: S611 -- nothing of a request is in it
        _POSITION, [POSITION_COUNTED_MAX], output_field=IntegerField()
    )
    rows = Hold.objects.filter(
        organization_id__in={organization_id for organization_id, _ in keys},
        id__in={id_ for _, id_ in keys},
    )
    counted = rows.annotate(position=position).values_list("organization_id", "id", "position")
    return {
        (organization_id, id_): _shown(position)
        for organization_id, id_, position in counted
        if (organization_id, id_) in keys
    }


def _shown(counted: int) -> str:
    return f"{counted:,}" if counted <= POSITION_COUNTED_MAX else f"beyond {POSITION_COUNTED_MAX:,}"


class WaitingSessions(ChangeList):
    """Every session has a waitlist; only those with a party are listed."""

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request, *args, **kwargs)
        return rows.filter(Exists(_queues_of_row()))


def _queues_of_row() -> QuerySet[WaitingLine]:
    return WaitingLine.objects.filter(
        organization_id=OuterRef("organization_id"), session_id=OuterRef("session_id")
    )


def _summed(name: str) -> Coalesce:
    """Grouped, so the subquery returns one row."""
    queues = _queues_of_row().values("session_id").annotate(sum=Sum(name))
    return Coalesce(Subquery(queues.values("sum")), 0)


@admin.register(Waitlist)
class WaitlistAdmin(PersonSearchAdmin, SessionRowAdmin):
    changelist = WaitingSessions
    model_found = "hold"
    lookups_found: ClassVar[dict[str, str]] = {"status": HoldStatus.WAITING.value}
    sortable_by = ()
    list_display = ("name", "waiting", "served", "state", "organization")
    ordering = ("organization_id", "session_id")
    search_fields = ("session__name",)
    search_help_text = "Part of the session's name, or its id"
    fields = (("of_session", "organization"), ("waiting", "state"), "queues", "more")

    def annotations(self) -> dict[str, Any]:
        return {"all_waiting": _summed("waiting"), "all_served": _summed("served")}

    @admin.display(description="Session")
    def name(self, waitlist: Waitlist) -> str:
        return str(waitlist.session)

    @admin.display(description="Waiting")
    def waiting(self, waitlist: Any) -> str:
        return f"{waitlist.all_waiting:,}"

    @admin.display(description="Served")
    def served(self, waitlist: Any) -> str:
        return f"{waitlist.all_served:,}"

    @admin.display(description="State")
    def state(self, waitlist: Waitlist) -> SafeString:
        """Unsettled means that the promoter has work to do."""
        return badge("settled") if waitlist.is_settled else badge("unsettled", "warning")

    @admin.display(description="Queues")
    def queues(self, waitlist: Waitlist) -> SafeString | str:
        own = {"organization_id": waitlist.organization_id, "session_id": waitlist.session_id}
        queues = list(WaitingLine.objects.filter(**own).order_by("opened_at")[:QUEUES_SHOWN_MAX])
        if not queues:
            return "The waitlist is empty."
        names = _names_of(waitlist, {each for queue in queues for each in queue.wants})
        return format_html_join(
            "", "{}{}", ((_heading(queue, names), _parties(queue)) for queue in queues)
        )

    @admin.display(description="See also")
    def more(self, waitlist: Waitlist) -> SafeString:
        return list_link(
            Hold,
            "Waiting holds",
            waitlist,
            session_id=waitlist.session_id,
            status=HoldStatus.WAITING.value,
        )


def _names_of(waitlist: Waitlist, ids: set[UUID]) -> dict[UUID, str]:
    """The names of the wanted pools and blocks."""
    own = {"organization_id": waitlist.organization_id, "id__in": ids}
    return {
        id_: name
        for rows in (Pool.objects.all(), Block.objects.all())
        for id_, name in rows.filter(**own).values_list("id", "name")
    }


def _heading(queue: WaitingLine, names: dict[UUID, str]) -> SafeString:
    wanted = ", ".join(sorted(names.get(each, "?") for each in queue.wants))
    cut = f", the first {PARTIES_SHOWN_MAX} shown" if queue.waiting > PARTIES_SHOWN_MAX else ""
    said = f"{queue.waiting:,} waiting{cut}; {queue.served:,} served since it opened at"
    style = "margin: 1rem 0 .5rem"
    return format_html(
        '<p style="{}"><strong>For {}</strong><br>{} {}</p>',
        style,
        wanted,
        said,
        shown_time(queue.opened_at),
    )


def _parties(queue: WaitingLine) -> SafeString:
    own = {"organization_id": queue.organization_id, "session_id": queue.session_id}
    places = WaitingPlace.objects.filter(**own, line_id=queue.id).select_related("hold")
    return table(
        ("Place", "Hold", "Tickets", "Holder", "Waiting since", "Until", "Overtaken"),
        (
            (
                number,
                row_link(Hold, place.hold_id, place.hold, queue.organization_id),
                place.hold.quantity,
                redacted(place.hold.email or place.hold.user_id or "-"),
                shown_time(place.since),
                shown_time(place.hold.expires_at),
                queue.passes - place.passes_seen if number == 1 else "",
            )
            for number, place in enumerate(
                places.order_by("since", "hold_id")[:PARTIES_SHOWN_MAX], start=1
            )
        ),
    )
