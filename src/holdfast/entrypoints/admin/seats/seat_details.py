"""Who has a seat: its state, hold, order and last changes, as a part of the hall's page."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import ApiKey, Hold, HoldLine, Order, Seat
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import OrganizationId, SeatId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import amount, redacted, row_link, shown_time
from holdfast.entrypoints.admin.people.rights import may
from holdfast.ports.audit.reader import AuditEntry, AuditFilter
from holdfast.services.audit import trail

CHANGES_SHOWN_MAX = 8

_WORDS = {
    "seat_reserved": "Held",
    "seat_released": "Released",
    "seat_hold_expired": "Hold expired",
    "seat_sold": "Sold",
    "seat.blocked": "Blocked",
    "seat.unblocked": "Unblocked",
}


def seat_details(request: HttpRequest, seat: Any, price: str) -> HttpResponse:
    """`seat` has `status_now`; `price` is that of its block."""
    own = seat.organization_id
    is_held = seat.status_now == SeatStatus.HELD
    # A lapsed hold no longer has the seat; a blocked seat that was sold still has its hold.
    has_hold = seat.hold_id is not None and seat.status_now != SeatStatus.AVAILABLE
    context: dict[str, Any] = {
        "seat": seat,
        "name": f"{seat.block.name}, row {seat.row_name}, seat {seat.number}",
        "price": price,
        "is_sold_and_blocked": seat.status_now == SeatStatus.BLOCKED and has_hold,
        "since": shown_time(seat.locked_at) if has_hold and seat.locked_at else None,
        "until": shown_time(seat.held_until) if is_held and seat.held_until else None,
        "page": row_link(Seat, seat.id, "Page of the seat"),
    }
    if has_hold and may(request, Scope.HOLDS_READ, own):
        context |= _hold(request, seat)
    if may(request, Scope.AUDIT_READ, own):
        context |= _changes(seat)
    context = {**admin.site.each_context(request), **context}
    return TemplateResponse(request, "holdfast/hall_seat.html", context)


def _hold(request: HttpRequest, seat: Any) -> dict[str, Any]:
    own = {"organization_id": seat.organization_id}
    hold = Hold.objects.filter(**own, id=seat.hold_id).first()
    if hold is None:
        return {}
    lines = HoldLine.objects.filter(**own, hold_id=hold.id, seat_id=seat.id)
    line = lines.select_related("ticket_type").order_by("-position").first()
    found: dict[str, Any] = {
        "hold": row_link(Hold, hold.id, hold.reference, hold.organization_id),
        "holder": ", ".join(redacted(name) for name in (hold.email, hold.user_id) if name),
        "order": _order(request, hold),
    }
    if line is not None:
        found["ticket_type"] = line.ticket_type.name
        found["price"] = amount(line.unit_price_minor, hold.currency)
    return found


def _order(request: HttpRequest, hold: Hold) -> SafeString | None:
    if hold.order_id is None or not may(request, Scope.ORDERS_READ, hold.organization_id):
        return None
    return row_link(Order, hold.order_id, hold.order_id, hold.organization_id)


def _changes(seat: Seat) -> dict[str, Any]:
    """The last changes, newest first, and who blocked it if it is blocked."""
    found = trail.entries(
        AdminConfig.services.audit,
        OrganizationId(seat.organization_id),
        AuditFilter(seat_id=SeatId(seat.id)),
        CHANGES_SHOWN_MAX,
        None,
    )
    if isinstance(found, Refusal):
        return {"is_history_missing": True}
    keys = ApiKey.objects.filter(organization_id=seat.organization_id)
    names = {f"key:{id_}": f"API key {name}" for id_, name in keys.values_list("id", "name")}
    changes = [_change(entry, names) for entry in found.entries]
    blocked = next((change for change in changes if change["action"] == "seat.blocked"), None)
    is_blocked = seat.status == SeatStatus.BLOCKED
    return {
        "changes": changes,
        "blocked_by": blocked["who"] if is_blocked and blocked is not None else None,
    }


def _change(entry: AuditEntry, key_names: Mapping[str, str]) -> dict[str, str]:
    reason = entry.new.get("reason")
    who = entry.acting_user or key_names.get(entry.actor, entry.actor)
    return {
        "action": entry.action,
        "at": shown_time(entry.at),
        "what": _WORDS.get(entry.action, entry.action),
        "who": redacted(who),
        "why": redacted(str(reason)) if reason else "",
    }
