"""A request and its reply."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from re import ASCII
from re import compile as compile_pattern
from time import perf_counter
from typing import NamedTuple
from urllib.parse import unquote_to_bytes
from uuid import UUID

from starlette.types import Scope
from uuid_utils import uuid7

from holdfast.domain.access.rates import RateLimits
from holdfast.domain.access.tokens import HolderToken
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import JsonValue
from holdfast.ports.access import Principal
from holdfast.services.access.rates.limiter import Taking
from holdfast.services.idempotency.seal import Seal

JSON = b"application/json"
PROBLEM_JSON = b"application/problem+json"
NOT_MODIFIED = 304
# Who sends a request, before the key is known.
STRANGER = "unknown"

# Nothing in a response may be executed or framed, unless the response sets its own policy.
SAFE_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
# Answers are for their caller only.
API_HEADERS = ((b"cache-control", b"no-store"), *SAFE_HEADERS)

_REQUEST_ID = compile_pattern(rb"[A-Za-z0-9._-]{1,128}", ASCII)
USER_AGENT_LENGTH_MAX = 200

RawHeaders = Sequence[tuple[bytes, bytes]]


class Reply(NamedTuple):
    """`headers` belong to this reply; `standing_headers` to its kind. A reply that refuses the
    request has a `refusal`: the code, with its details for the audit log."""

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    standing_headers: tuple[tuple[bytes, bytes], ...] = API_HEADERS
    refusal: tuple[str, Mapping[str, JsonValue]] | None = None


def body_for(method: str, reply: Reply) -> bytes:
    return b"" if method == "HEAD" or reply.status == NOT_MODIFIED else reply.body


class Call:
    """A request. `body` is set if all of it has arrived. Routing fills in the route, the principal,
    the acting user, the ids or cart of the path, the idempotency key and the seal of the recorded
    answer. `rendered` is the answer that was sealed last, and its reply. `limits` are the rate
    limits that apply, and `takings` what was taken from them. `is_recorded` means that the audit
    log knows a refusal already."""

    __slots__ = (
        "_raw_path",
        "acting_user",
        "actor",
        "attempt",
        "body",
        "cart",
        "client",
        "headers",
        "idempotency_key",
        "is_recorded",
        "limits",
        "method",
        "nested_id",
        "on_delay",
        "path",
        "path_id",
        "principal",
        "query_string",
        "rendered",
        "request_id",
        "route_path",
        "seal",
        "started",
        "success_status",
        "takings",
        "token",
        "token_organization",
    )

    principal: Principal
    path_id: UUID
    nested_id: UUID

    def __init__(
        self,
        method: str,
        path: str,
        raw_path: bytes | None,
        query_string: bytes,
        raw_headers: RawHeaders,
        *,
        client: tuple[str, object] | None,
    ) -> None:
        self.started = perf_counter()
        headers = dict(raw_headers)
        if len(headers) != len(raw_headers):
            headers = _joined(raw_headers)
        self.headers = headers
        self.method = method
        self.path = path
        self._raw_path = raw_path
        self.query_string = query_string
        self.client = client
        self.body: bytes | None = None
        self.on_delay: Callable[[], None] | None = None  # call before delaying a refusal
        sent_id = headers.get(b"x-request-id")
        if sent_id is not None and _REQUEST_ID.fullmatch(sent_id):
            self.request_id = sent_id.decode("ascii")
        else:
            self.request_id = str(uuid7())
        self.actor: str | None = None
        self.acting_user: str | None = None
        self.route_path: str | None = None
        self.attempt: str | None = None  # the audit's name of a refusal
        self.is_recorded = False
        self.cart = ""  # unless the path names one
        self.idempotency_key: str | None = None
        self.seal: Seal | None = None
        self.rendered: tuple[bytes, Reply] | None = None
        self.success_status = 200
        self.limits: RateLimits | None = None
        self.takings: tuple[Taking, ...] = ()
        self.token_organization: OrganizationId | None = None  # of a holder token
        self.token: HolderToken | None = None  # if it had to be opened

    @classmethod
    def of_scope(cls, scope: Scope) -> "Call":
        """From an ASGI scope."""
        return cls(
            scope["method"],
            scope["path"],
            scope.get("raw_path"),
            scope["query_string"],
            scope["headers"],
            client=scope.get("client"),
        )

    @property
    def address(self) -> str:
        """The caller's address, or that of a proxy that we don't trust to name the caller."""
        return self.client[0] if self.client else ""

    @property
    def segments(self) -> tuple[str, ...]:
        """The parts of the path, decoded one by one: an encoded slash is no boundary. Invalid UTF-8
        becomes unprintable characters."""
        raw = self._raw_path
        if raw is None or b"%" not in raw:
            return tuple(self.path.split("/"))
        parts = map(unquote_to_bytes, raw.split(b"/"))
        return tuple(part.decode("utf-8", "surrogateescape") for part in parts)

    @property
    def origin(self) -> Origin:
        return Origin(
            actor=self.actor or STRANGER,
            request_id=self.request_id,
            ip=_ip(self.client[0]) if self.client else None,
            user_agent=_printable(self.headers.get(b"user-agent", b"")[:USER_AGENT_LENGTH_MAX]),
            acting_user=self.acting_user,
        )


def is_known_tag(call: Call, tag: bytes) -> bool:
    """Whether If-None-Match names this tag, weakly or not (RFC 9110, 13.1.2)."""
    sent = call.headers.get(b"if-none-match", b"")
    known = [each.strip().removeprefix(b"W/") for each in sent.split(b",")]
    return tag in known or b"*" in known


def _joined(raw: RawHeaders) -> dict[bytes, bytes]:
    """Join repeated headers to a list (RFC 9110, 5.3). Keys, credentials and request ids contain no
    comma and space, so a repeated one is refused later."""
    headers: dict[bytes, bytes] = {}
    for name, value in raw:
        headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


@lru_cache(maxsize=4096)
def _ip(client: str) -> str | None:
    """None for a test client or Unix socket. A zone (`%eth0`) is dropped: it is local."""
    try:
        return str(ip_address(client.partition("%")[0]))
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _printable(user_agent: bytes) -> str | None:
    text = user_agent.decode("latin-1")
    if not text.isprintable():
        text = "".join(letter for letter in text if letter.isprintable())
    return text or None
