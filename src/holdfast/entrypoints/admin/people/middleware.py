"""Notes when and from where each session was last used."""

from collections.abc import Callable
from datetime import timedelta

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from holdfast.adapters.postgres.models import LoginSession
from holdfast.entrypoints.admin.people.rights import current_request

_NOTED_EVERY = timedelta(minutes=1)
_USER_AGENT_LENGTH_MAX = 500


class SeenSessions:
    """Writes once a minute at most. A session is not prolonged by that."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = request.session.session_key
        if key is not None and request.user.is_authenticated:
            _note(request, key)
        token = current_request.set(request)
        try:
            return self._get_response(request)
        finally:
            current_request.reset(token)


def _note(request: HttpRequest, session_key: str) -> None:
    now = timezone.now()
    due = Q(last_seen_at__lt=now - _NOTED_EVERY) | Q(user_agent="")
    LoginSession.objects.filter(due, session_key=session_key).update(
        last_seen_at=now,
        ip=request.META.get("REMOTE_ADDR") or None,
        user_agent=request.headers.get("user-agent", "")[:_USER_AGENT_LENGTH_MAX] or "unknown",
    )
