"""Where a person is logged in: browsers, and sessions on the API."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from holdfast.adapters.postgres.models import LoginSession, MemberSession
from holdfast.domain.access.sessions import IDLE_SECONDS
from holdfast.domain.immutable import immutable

_BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
_NAMES = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


@immutable
class SeenSession:
    id: UUID
    kind: str
    device: str
    ip: str | None
    since: datetime
    last_seen_at: datetime
    is_this: bool


def sessions_of(user_id: int, session_key: str | None = None) -> list[SeenSession]:
    """Newest use first. `session_key` is the one of the person who looks."""
    log_ins = [
        SeenSession(
            row.id,
            "Admin pages",
            device(row.user_agent),
            row.ip,
            row.created_at,
            row.last_seen_at,
            row.session_key == session_key,
        )
        for row in _log_ins(user_id)
    ]
    found = [*log_ins, *map(_seen_on_api, _on_api(user_id).select_related("organization"))]
    return sorted(found, key=lambda each: each.last_seen_at, reverse=True)


def sessions_in(user_id: int, organization_id: UUID) -> list[SeenSession]:
    """Those on the API of this organization, newest use first. Log-ins to the admin pages belong to
    all organizations of the person, so none of them sees or ends those."""
    rows = _on_api(user_id).filter(organization_id=organization_id)
    newest_first = rows.select_related("organization").order_by("-last_used_at")
    return list(map(_seen_on_api, newest_first))


def _seen_on_api(row: MemberSession) -> SeenSession:
    return SeenSession(
        row.id,
        f"API, {row.organization.name} ({row.organization.mode})",
        device(row.user_agent or ""),
        row.ip,
        row.created_at,
        row.last_used_at,
        is_this=False,
    )


def end_session(user_id: int, session_id: UUID) -> bool:
    """It is refused from the next request on. False if there is no such session."""
    rows: tuple[QuerySet[Any], ...] = (
        _log_ins(user_id).filter(id=session_id),
        _on_api(user_id).filter(id=session_id),
    )
    return sum(each.delete()[0] for each in rows) > 0


def end_sessions(user_id: int, but: str | None = None) -> int:
    """All of them, except the one with this key."""
    browsers, _ = _log_ins(user_id).exclude(session_key=but or "").delete()
    on_api, _ = _on_api(user_id).delete()
    return browsers + on_api


def end_sessions_in(user_id: int, organization_id: UUID) -> int:
    return _on_api(user_id).filter(organization_id=organization_id).delete()[0]


def _log_ins(user_id: int) -> QuerySet[LoginSession]:
    return LoginSession.objects.filter(user_id=user_id, expire_date__gt=timezone.now())


def _on_api(user_id: int) -> QuerySet[MemberSession]:
    used_since = timezone.now() - timedelta(seconds=IDLE_SECONDS)
    return MemberSession.objects.filter(
        member__user_id=user_id, ends_at__gt=timezone.now(), last_used_at__gt=used_since
    )


def device(user_agent: str) -> str:
    """The browser and system that it names, or its beginning."""
    browser = next((each for each in _BROWSERS if f"{each}/" in user_agent), None)
    system = next((each for each in _SYSTEMS if each in user_agent), None)
    if browser is None:
        return user_agent[:60] or "unknown"
    shown = [_NAMES.get(each, each) for each in (browser, system) if each is not None]
    return " on ".join(shown)
