"""The waitlist of a session: its queues, and its parties in order."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import Hold, WaitingLine, Waitlist
from holdfast.domain.access.scopes import Scope
from holdfast.domain.holds.hold import HoldStatus
from holdfast.entrypoints.admin.display import badge, list_link
from holdfast.entrypoints.admin.lists import SessionRowAdmin
from holdfast.entrypoints.admin.people.rights import may, origin_of
from holdfast.entrypoints.admin.waitlist import actions
from holdfast.entrypoints.admin.waitlist.parties import Place, parties_of, queues_of, reasons_of


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
class WaitlistAdmin(SessionRowAdmin):
    """With its parties, and what blocks them."""

    change_form_outer_after_template = "holdfast/waitlist.html"
    changelist = WaitingSessions
    sortable_by = ()
    list_display = ("name", "waiting", "served", "state", "organization")
    ordering = ("organization_id", "session_id")
    search_fields = ("session__name",)
    search_help_text = "Part of the session's name, or its id"
    fields = (("of_session", "organization"), ("waiting", "state"), "more")

    class Media:
        css = {"all": ("holdfast/waitlist.css",)}

    def annotations(self) -> dict[str, Any]:
        return {"all_waiting": _summed("waiting"), "all_served": _summed("served")}

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        own = (
            ("<uuid:session_id>/serve/", self.serve, "serve"),
            ("<uuid:session_id>/<uuid:hold_id>/promote/", self.promote, "promote"),
            ("<uuid:session_id>/<uuid:hold_id>/remove/", self.remove, "remove"),
        )
        guard = self.admin_site.admin_view
        urls = [
            path(route, never_cache(guard(view)), name=f"holdfast_waitlist_{name}")
            for route, view, name in own
        ]
        return [*urls, *super().get_urls()]

    def serve(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        return actions.serve(request, self._waitlist(request, session_id))

    def promote(self, request: HttpRequest, session_id: UUID, hold_id: UUID) -> HttpResponse:
        return actions.promote(request, self._waitlist(request, session_id), hold_id)

    def remove(self, request: HttpRequest, session_id: UUID, hold_id: UUID) -> HttpResponse:
        return actions.remove(request, self._waitlist(request, session_id), hold_id)

    def _waitlist(self, request: HttpRequest, session_id: UUID) -> Waitlist:
        """A waitlist that the person may see. A foreign id is not found, like an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found: Waitlist | None = self.get_queryset(request).filter(session_id=session_id).first()
        if found is None:
            raise Http404
        return found

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

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        context |= _parties(request, kwargs["obj"])
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="See also")
    def more(self, waitlist: Waitlist) -> SafeString:
        return list_link(
            Hold,
            "Waiting holds",
            waitlist,
            session_id=waitlist.session_id,
            status=HoldStatus.WAITING.value,
        )


def _parties(request: HttpRequest, waitlist: Any) -> dict[str, Any]:
    """The queues on the first page, and a page of parties. Only a waitlist with a party needs an
    explanation, which the engine gives."""
    if not waitlist.all_waiting:
        return {"waitlist": waitlist}
    after = Place.of(request.GET.get("after", ""))
    reasons = reasons_of(waitlist, origin_of(request))
    return {
        "waitlist": waitlist,
        "queues": [] if after.number else queues_of(waitlist, reasons),
        "parties": parties_of(waitlist, after, reasons),
        "after": after,
        "may_promote": may(request, Scope.HOLDS_OPERATE, waitlist.organization_id),
        "may_remove": may(request, Scope.HOLDS_WRITE, waitlist.organization_id),
    }
