"""A Holdfast server, over HTTP."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import quote

import httpx
import msgspec
import structlog

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import JSON, PROBLEM_JSON, Call, Reply
from holdfast.entrypoints.api.http.problems import Problem, unavailable
from holdfast.entrypoints.drf.backends.backend import new_call

CONNECT_SECONDS_MAX = 2.0
CONNECTIONS_MAX = 64
# The server delays its refusals of unknown credentials, up to 10 seconds if somebody sends many.
# Django has few threads to wait with.
AUTHENTICATION_SECONDS_MAX = 2.0
# Saves asking about the same credential again. The server checks every call in any case.
RECOGNIZED_SECONDS = 10.0
RECOGNIZED_MAX = 4096

# Headers of one connection, and those that this response sets itself.
_OF_CONNECTION = frozenset(
    {"connection", "content-encoding", "content-length", "content-type", "date", "keep-alive"}
    | {"server", "transfer-encoding", "x-request-id"}
)

_log = structlog.get_logger("holdfast.drf")


class HoldfastServer:
    """One pool of connections for all threads. Nothing is sent twice: a client that wants to try
    again does so with an Idempotency-Key."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        connect_seconds = min(CONNECT_SECONDS_MAX, timeout_seconds)
        self._client = httpx.Client(
            base_url=url,
            trust_env=False,
            timeout=httpx.Timeout(timeout_seconds, connect=connect_seconds, pool=connect_seconds),
            limits=httpx.Limits(
                max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX
            ),
        )
        self._recognized = _Recognized()

    def start(self) -> None:
        """Connects with the first call."""

    def stop(self) -> None:
        self._client.close()

    def authenticate(self, call: Call) -> None:
        """Make a call that any credential may make."""
        authorization = call.headers[b"authorization"]
        if self._recognized.has(authorization):
            return
        secret = authorization.decode("latin-1").removeprefix("Bearer ")
        asked = new_call("GET", ["holds"], secret=secret, query_string=b"limit=1")
        reply = self.send(asked, seconds_max=AUTHENTICATION_SECONDS_MAX)
        if reply.status == HTTPStatus.UNAUTHORIZED:
            raise _unauthorized(reply)
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise unavailable()
        self._recognized.add(authorization)

    def send(self, call: Call, seconds_max: float | None = None) -> Reply:
        target = "/api/" + "/".join(map(_quoted, call.segments[2:]))
        if call.query_string:
            target += "?" + call.query_string.decode("latin-1")
        headers = [*call.headers.items(), (b"x-request-id", call.request_id.encode())]
        if call.client is not None:
            headers.append((b"x-forwarded-for", call.client[0].encode()))
        try:
            response = self._client.request(
                call.method,
                target,
                content=call.body,
                headers=dict(headers),
                timeout=self._client.timeout if seconds_max is None else seconds_max,
            )
        except httpx.HTTPError as error:
            _log.warning("server.away", problem=type(error).__name__, request_id=call.request_id)
            raise unavailable() from None
        return self._reply(call, response)

    def _reply(self, call: Call, response: httpx.Response) -> Reply:
        content_type = response.headers.get("content-type", "").encode("latin-1")
        if content_type not in {JSON, PROBLEM_JSON}:
            # Not Holdfast's answer: a proxy in between.
            status = response.status_code
            _log.warning("server.strange", status=status, request_id=call.request_id)
            raise unavailable()
        headers = tuple(_kept_headers(response))
        return Reply(response.status_code, response.content, content_type, headers, ())


class _Recognized:
    """Credentials that were valid a moment ago, as hashes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def has(self, authorization: bytes) -> bool:
        with self._lock:
            return self._until.get(sha256(authorization).digest(), 0.0) > time.monotonic()

    def add(self, authorization: bytes) -> None:
        hashed = sha256(authorization).digest()
        with self._lock:
            self._until[hashed] = time.monotonic() + RECOGNIZED_SECONDS
            self._until.move_to_end(hashed)
            if len(self._until) > RECOGNIZED_MAX:
                self._until.popitem(last=False)


def _quoted(segment: str) -> str:
    return quote(segment, safe="", errors="surrogateescape")


def _kept_headers(response: httpx.Response) -> Iterator[tuple[bytes, bytes]]:
    for name, value in response.headers.raw:
        if name.lower().decode("latin-1") not in _OF_CONNECTION:
            yield name.lower(), value


def _unauthorized(reply: Reply) -> Problem:
    """With the server's own message."""
    message = msgspec.json.decode(reply.body)["message"]
    challenge = tuple(each for each in reply.headers if each[0] == b"www-authenticate")
    return Problem(ProblemCode.UNAUTHORIZED, message, headers=challenge)
