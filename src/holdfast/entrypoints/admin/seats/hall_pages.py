"""The hall of a session as a page to work with, and the requests that its script sends."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import Session
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.block_seats import SEATS_PER_BLOCKING_MAX
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.holds.counter import is_on_sale
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.people.rights import may, require
from holdfast.entrypoints.admin.seats.blocking import change_blocking
from holdfast.entrypoints.admin.seats.drawing import draw
from holdfast.entrypoints.admin.seats.hall import placed, seat_status_now
from holdfast.entrypoints.admin.seats.hall_data import (
    hall_data,
    prices_of,
    seat_changes,
    seat_states,
    version_now,
)
from holdfast.entrypoints.admin.seats.hall_parts import Part, parts_of, seats_of
from holdfast.entrypoints.admin.seats.seat_details import seat_details
from holdfast.services import reads

VERSION_LENGTH_MAX = 19
PART_LENGTH_MAX = 6


class HallPages(ReadOnlyAdmin):
    """The pages of a session's hall."""

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        own = (
            ("", self.hall_page, "hall"),
            ("changes/", self.hall_changes, "hall_changes"),
            ("seats/<uuid:seat_id>/", self.hall_seat, "hall_seat"),
            ("block/", self.block_seats, "hall_block"),
            ("unblock/", self.unblock_seats, "hall_unblock"),
        )
        guard = self.admin_site.admin_view
        urls = [
            path(
                f"<uuid:session_id>/hall/{route}",
                never_cache(guard(view)),
                name=f"holdfast_session_{name}",
            )
            for route, view, name in own
        ]
        return [*urls, *super().get_urls()]

    def hall_page(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        session = self._session(request, session_id)
        parts = parts_of(session)
        context: dict[str, Any] = {
            **admin.site.each_context(request),
            "title": f"Hall: {session.name}",
            "session": session,
            "parts": parts,
            "statuses": [status.value for status in SeatStatus],
            "may_block": may(request, Scope.SEATS_BLOCK, session.organization_id),
            "may_sell": may(request, Scope.HOLDS_WRITE, session.organization_id)
            and is_on_sale(session),
        }
        if parts:
            number, part = _chosen(request, parts)
            # Read before the seats, so that the first refresh includes changes made meanwhile.
            version = version_now(session)
            drawing = draw(placed(session, part.among(seats_of(session))))
            data = hall_data(drawing, prices_of(session), version)
            query = "" if part.is_whole else f"?part={number}"
            context |= {
                "part": part,
                "query": query,
                "drawing": drawing,
                "data": data | _for_script(session, query, part),
            }
        return TemplateResponse(request, "holdfast/hall_page.html", context)

    def hall_changes(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        """What has changed since a version, or all states if that is too much. An unchanged hall
        costs two probes of an index."""
        session = self._session(request, session_id)
        since = request.GET.get("since", "")
        if not since.isdecimal() or len(since) > VERSION_LENGTH_MAX:
            return JsonResponse({"message": "since must be a version"}, status=400)
        own = OrganizationId(session.organization_id), SessionId(session.id)
        changes = reads.seat_changes(AdminConfig.services.seats, *own, int(since))
        if isinstance(changes, Refusal):
            return JsonResponse({"message": changes.message}, status=503)
        if changes.too_many or int(since) > changes.version:
            _, part = _chosen(request, parts_of(session))
            seats = placed(session, part.among(seats_of(session)))
            return JsonResponse(seat_states(seats, changes.version))
        if not changes.seats and int(since) == changes.version:
            return HttpResponse(status=204)
        return JsonResponse(seat_changes(changes.seats, changes.version))

    def hall_seat(self, request: HttpRequest, session_id: UUID, seat_id: UUID) -> HttpResponse:
        session = self._session(request, session_id)
        seats = seats_of(session).filter(id=seat_id).select_related("block")
        seat = seats.annotate(status_now=seat_status_now()).first()
        if seat is None:
            raise Http404
        return seat_details(request, seat, prices_of(session).get(seat.block.name, ""))

    def block_seats(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        return self._change_blocking(request, session_id, is_lifted=False)

    def unblock_seats(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        return self._change_blocking(request, session_id, is_lifted=True)

    def _change_blocking(
        self, request: HttpRequest, session_id: UUID, *, is_lifted: bool
    ) -> HttpResponse:
        session = self._session(request, session_id)
        require(request, Scope.SEATS_BLOCK, session.organization_id)
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:holdfast_session_hall", args=[session_id]))
        return change_blocking(request, session, is_lifted=is_lifted)

    def _session(self, request: HttpRequest, session_id: UUID) -> Session:
        session: Session | None = self.get_queryset(request).filter(id=session_id).first()
        if session is None:
            raise Http404
        return session


def _chosen(request: HttpRequest, parts: Sequence[Part]) -> tuple[int, Part]:
    asked = request.GET.get("part", "0")
    if not asked.isdecimal() or len(asked) > PART_LENGTH_MAX or int(asked) >= len(parts):
        raise Http404
    return int(asked), parts[int(asked)]


def _for_script(session: Session, query: str, part: Part) -> dict[str, Any]:
    """Where the script asks, and what it has to know besides the seats."""
    changes = reverse("admin:holdfast_session_hall_changes", args=[session.id])
    return {
        "changesUrl": f"{changes}{query}&since=" if query else f"{changes}?since=",
        "seatsUrl": reverse("admin:holdfast_session_hall", args=[session.id]) + "seats/",
        "isWhole": part.is_whole,
        "selectedMax": SEATS_PER_BLOCKING_MAX,
    }
