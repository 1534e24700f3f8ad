"""Serves the schema and a page that shows it. Script and style come from a Python package, so the
page needs no other host."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec

from holdfast.entrypoints.api.http.exchange import SAFE_HEADERS, Reply
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.document import openapi_document

_FOLDER = "static/drf_spectacular_sidecar/swagger-ui-dist"
_CONTENT_TYPES = {
    "start.js": b"text/javascript; charset=utf-8",
    "swagger-ui.css": b"text/css; charset=utf-8",
    "swagger-ui-bundle.js": b"text/javascript; charset=utf-8",
    "favicon-32x32.png": b"image/png",
}

_PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", _PAGE_POLICY),
    *(header for header in SAFE_HEADERS if header[0] != b"content-security-policy"),
)
_ASSET_HEADERS = ((b"cache-control", b"public, max-age=3600"), *SAFE_HEADERS)


def documents(routes: Sequence[Route[Any]], prefix: str) -> dict[str, Reply]:
    """The public documents by path."""
    own, swagger = files(__package__), files("drf_spectacular_sidecar").joinpath(_FOLDER)
    page = own.joinpath("docs.html").read_bytes()
    assets = {
        name: (own if name == "start.js" else swagger).joinpath(name).read_bytes()
        for name in _CONTENT_TYPES
    }
    return {
        f"{prefix}/schema": Reply(200, msgspec.json.encode(openapi_document(routes))),
        f"{prefix}/docs": Reply(200, page, b"text/html; charset=utf-8", (), _PAGE_HEADERS),
        **{
            f"{prefix}/docs/assets/{name}": Reply(
                200, content, _CONTENT_TYPES[name], (), _ASSET_HEADERS
            )
            for name, content in assets.items()
        },
    }
