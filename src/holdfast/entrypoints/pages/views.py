"""The start page and the error pages."""

from datetime import timedelta

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe


@require_safe
@cache_control(max_age=300)
def start(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/start.html")


def locked_out(request: HttpRequest, _response: object, _credentials: object) -> HttpResponse:
    """Shown instead of the log-in form after too many wrong passwords for a name and address."""
    pause: timedelta = settings.AXES_COOLOFF_TIME
    shown = {"minutes": int(pause.total_seconds() / 60), "failures": settings.AXES_FAILURE_LIMIT}
    response = render(request, "pages/locked_out.html", shown, status=429)
    response.headers["Retry-After"] = str(int(pause.total_seconds()))
    return response


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In the look of the admin, whose pages are the only ones that need a right."""
    return _problem(
        request,
        403,
        "You may not use this page",
        "Your role does not allow this.",
        "Ask an owner of the organization if you need it. Your account page shows your roles.",
    )


def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """For a form without a valid token against cross-site requests."""
    texts = {
        "title": "The form was not accepted",
        "what": "Nothing was changed: this form was too old, or your browser blocks cookies.",
        "advice": "Go back, reload the page and send the form again.",
    }
    if not request.user.is_authenticated:
        return render(request, "pages/form_refused.html", texts, status=403)
    return _problem(request, 403, **texts)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In the look of the admin for people who are logged in there."""
    if request.path_info.startswith("/admin/") and admin.site.has_permission(request):
        return _problem(
            request,
            404,
            "Page not found",
            "There is no such page, or it belongs to an organization that you cannot see.",
            "Check the address, or find what you are looking for with the box at the top.",
        )
    return render(request, "pages/not_found.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Rendered without context processors, which may be the cause of the error."""
    look = "holdfast" if request.path_info.startswith("/admin/") else "pages"
    text = render_to_string(f"{look}/server_error.html", {"at": timezone.now()})
    return HttpResponse(text, status=500)


def _problem(request: HttpRequest, status: int, title: str, what: str, advice: str) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": title,
        "what": what,
        "advice": advice,
    }
    return render(request, "holdfast/problem.html", context, status=status)
