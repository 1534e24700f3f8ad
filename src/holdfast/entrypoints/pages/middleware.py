"""Our own middleware for pages: security policy and static files."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:

    class WhiteNoiseMiddleware:  # the package has no types
        def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None: ...
else:
    from whitenoise.middleware import WhiteNoiseMiddleware

_A_YEAR_SECONDS = 365 * 24 * 3600

# Our own pages run no scripts. The demo's page has one, which connects only to this server.
PAGES_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_DEMO_POLICY = f"script-src 'self'; connect-src 'self'; {PAGES_POLICY}"
# The theme of the admin evaluates its attributes (ADR 0047) and sets inline styles. Inline scripts
# and other hosts are forbidden.
_ADMIN_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class SecurityHeaders:
    """Limits each page to the resources that it needs, all from this server. On a public host, a
    browser that has seen a page stays with https."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response.headers["Content-Security-Policy"] = _policy_of(request.path_info)
        if settings.SESSION_COOKIE_SECURE:
            response.headers["Strict-Transport-Security"] = f"max-age={_A_YEAR_SECONDS}"
        return response


def _policy_of(path: str) -> str:
    if path.startswith("/admin/"):
        return _ADMIN_POLICY
    return _DEMO_POLICY if path.startswith("/demo/") else PAGES_POLICY


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, but with unstreamed responses: under ASGI, Django reads its streamed ones
    synchronously and logs a warning for each request."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file:
                content = found.file.read()
        response = HttpResponse(content, status=int(found.status))
        # WhiteNoise sets its own type, and none for an empty response.
        del response.headers["Content-Type"]
        for name, value in found.headers:
            response.headers[name] = value
        return response
