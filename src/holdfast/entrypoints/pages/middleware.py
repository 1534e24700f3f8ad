"""What every page goes through besides Django's own middleware."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:

    class WhiteNoiseMiddleware:  # the package has no types
        def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None: ...
else:
    from whitenoise.middleware import WhiteNoiseMiddleware

# Our own pages run no script at all and load only our own style sheet. Those of the demo have a
# script, which asks nobody but us.
PAGES_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_DEMO_POLICY = f"script-src 'self'; connect-src 'self'; {PAGES_POLICY}"
# The admin's interface keeps scripts and styles in its markup and evaluates expressions; still
# nothing comes from or goes to another host.
_ADMIN_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class ContentSecurityPolicy:
    """Tells the browser what a page may load: from here, and no more than it needs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response.headers["Content-Security-Policy"] = _policy_of(request.path_info)
        return response


def _policy_of(path: str) -> str:
    if path.startswith("/admin/"):
        return _ADMIN_POLICY
    return _DEMO_POLICY if path.startswith("/demo/") else PAGES_POLICY


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise that answers with the whole file. Its own streamed answer makes Django read the
    file synchronously on the event loop's behalf and warn of it at each request."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file:
                content = found.file.read()
        response = HttpResponse(content, status=int(found.status))
        # WhiteNoise knows the type, and gives none where there is nothing to describe.
        del response.headers["Content-Type"]
        for name, value in found.headers:
            response.headers[name] = value
        return response
