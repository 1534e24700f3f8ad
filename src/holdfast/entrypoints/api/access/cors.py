"""Cross-origin requests (CORS), for holder tokens only. A response names the caller's origin if the
token's organization allows it; there are no wildcards, and no cookies."""

from collections.abc import Iterable

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.services.access.origins import AllowedOrigins

# How long a browser may remember a preflight.
PREFLIGHT_SECONDS = 600
SENT_HEADERS = b"authorization, content-type, idempotency-key, if-none-match, x-request-id"
SHOWN_HEADERS = (
    b"etag, idempotent-replayed, location, ratelimit, ratelimit-policy, retry-after, x-request-id"
)

_VARY = b"vary"
_VARY_ORIGIN = (_VARY, b"origin")


class Cors:
    def __init__(self, origins: AllowedOrigins) -> None:
        self._origins = origins

    def preflight(self, call: Call, methods: Iterable[str]) -> Reply:
        """`methods` are those that a token may use here. The request has no credential, so an
        origin of any organization passes: the response to the real request decides."""
        origin = call.headers[b"origin"]
        if not self._origins.allows_any(origin.decode("latin-1")):
            message = (
                "No organization allows this origin. Add it to allowed_origins in its settings"
            )
            raise Problem(ProblemCode.ORIGIN_NOT_ALLOWED, message, headers=(_VARY_ORIGIN,))
        headers = (
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", ", ".join(sorted(methods)).encode()),
            (b"access-control-allow-headers", SENT_HEADERS),
            (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
            _VARY_ORIGIN,
        )
        return Reply(204, b"", headers=headers)

    def marked(self, call: Call, reply: Reply) -> Reply:
        """The reply to a caller with a token."""
        headers = dict(reply.headers)
        headers[_VARY] = b", ".join(filter(None, (headers.get(_VARY), b"origin")))
        origin = call.headers.get(b"origin")
        organization_id = call.token_organization
        if (
            origin is not None
            and organization_id is not None
            and self._origins.allows(organization_id, origin.decode("latin-1"))
        ):
            headers[b"access-control-allow-origin"] = origin
            headers[b"access-control-expose-headers"] = SHOWN_HEADERS
        return reply._replace(headers=tuple(headers.items()))


def is_preflight(call: Call) -> bool:
    return (
        call.method == "OPTIONS"
        and b"origin" in call.headers
        and b"access-control-request-method" in call.headers
    )
