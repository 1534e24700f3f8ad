"""The start page and the error pages."""

from datetime import timedelta

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
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
    context = {**admin.site.each_context(request), "title": "You may not use this page"}
    return render(request, "holdfast/forbidden.html", context, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "pages/not_found.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Rendered without context processors, which may be the cause of the error."""
    return render(None, "pages/server_error.html", status=500)
