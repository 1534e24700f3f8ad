"""The addresses of these pages, below that of their organization."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache

from holdfast.entrypoints.admin.mails.resend import resend_mail
from holdfast.entrypoints.admin.mails.texts import edit_text, list_texts, reset_text

_OWN = "<uuid:organization_id>"
_PAGES: tuple[tuple[str, Callable[..., Any], str], ...] = (
    (f"{_OWN}/mails/", list_texts, "mail_texts"),
    (f"{_OWN}/mails/<slug:name>/", edit_text, "mail_text"),
    (f"{_OWN}/mails/<slug:name>/reset/", reset_text, "mail_text_reset"),
    (f"{_OWN}/holds/<uuid:hold_id>/resend-mail/", resend_mail, "mail_resend"),
)


def mail_urls(guard: Callable[..., Any]) -> list[URLPattern]:
    """`guard` admits only people who are logged in."""
    return [
        path(route, never_cache(guard(view)), name=f"holdfast_{name}")
        for route, view, name in _PAGES
    ]
