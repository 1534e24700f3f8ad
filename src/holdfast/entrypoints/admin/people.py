"""The person who is logged in."""

from typing import Any

from django.http import HttpRequest
from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin

_USER_AGENT_LENGTH_MAX = 500


def may_manage(request: HttpRequest) -> bool:
    """Whether this person may change keys and settings."""
    user: Any = request.user
    return bool(user.is_active and user.is_superuser)


def origin_of(request: HttpRequest) -> Origin:
    return Origin(
        actor=f"operator:{request.user.get_username()}",
        request_id=str(uuid7()),
        ip=request.META.get("REMOTE_ADDR") or None,
        user_agent=request.headers.get("user-agent", "")[:_USER_AGENT_LENGTH_MAX] or None,
    )
