"""The start page and the pages for what went wrong."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe


@require_safe
@cache_control(max_age=300)
def start(request: HttpRequest) -> HttpResponse:
    """What this is, and where to go from here."""
    return render(request, "pages/start.html")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "pages/not_found.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Drawn without context processors: they may be what failed."""
    return render(None, "pages/server_error.html", status=500)
