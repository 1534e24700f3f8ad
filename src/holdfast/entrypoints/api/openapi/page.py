"""Serves the schema and a page that shows it. Script and style come from a Python package, so the
page needs no other host."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec

from holdfast.entrypoints.api.http.exchange import Reply
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.document import openapi_document

_ASSETS = "/api/docs/assets"
_PACKAGE = "drf_spectacular_sidecar"
_FOLDER = "static/drf_spectacular_sidecar/swagger-ui-dist"
_CONTENT_TYPES = {
    "swagger-ui.css": b"text/css; charset=utf-8",
    "swagger-ui-bundle.js": b"text/javascript; charset=utf-8",
    "favicon-32x32.png": b"image/png",
}

_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast API</title>
<link rel="icon" type="image/png" href="{_ASSETS}/favicon-32x32.png">
<link rel="stylesheet" href="{_ASSETS}/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<noscript>This page needs JavaScript; the document itself does not:
<a href="/api/schema">/api/schema</a></noscript>
<script src="{_ASSETS}/swagger-ui-bundle.js"></script>
<script src="{_ASSETS}/start.js"></script>
</body>
</html>
"""

# A null validatorUrl keeps the page from sending the schema to an outside service.
_START = """SwaggerUIBundle({
  url: "/api/schema",
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
});
"""

_SAFE_HEADERS = ((b"referrer-policy", b"no-referrer"), (b"x-content-type-options", b"nosniff"))
_PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", _PAGE_POLICY),
    *_SAFE_HEADERS,
)
_ASSET_HEADERS = ((b"cache-control", b"public, max-age=3600"), *_SAFE_HEADERS)


def documents(routes: Sequence[Route[Any]]) -> dict[str, Reply]:
    """The public documents by path."""
    page = Reply(200, _PAGE.encode(), b"text/html; charset=utf-8", (), _PAGE_HEADERS)
    start = Reply(200, _START.encode(), b"text/javascript; charset=utf-8", (), _ASSET_HEADERS)
    return {
        "/api/schema": Reply(200, msgspec.json.encode(openapi_document(routes))),
        "/api/docs": page,
        f"{_ASSETS}/start.js": start,
        **{f"{_ASSETS}/{name}": _asset(name) for name in _CONTENT_TYPES},
    }


def _asset(name: str) -> Reply:
    content = files(_PACKAGE).joinpath(_FOLDER).joinpath(name).read_bytes()
    return Reply(200, content, _CONTENT_TYPES[name], (), _ASSET_HEADERS)
