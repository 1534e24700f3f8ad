"""Serves requests: every one gets an id, one reply and a log entry. Routes them to handlers, with
validation in this order: caller, size, characters, syntax. Handlers check the meaning."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import chain
from logging import DEBUG
from time import perf_counter
from typing import Any

import structlog
from starlette.types import Receive, Scope, Send

from holdfast.bootstrap.logs import log_at_once
from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX
from holdfast.domain.ids import EventId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import JsonValue
from holdfast.entrypoints.api.access.acting_user import acting_user
from holdfast.entrypoints.api.access.authentication import Bearer, missing_scope
from holdfast.entrypoints.api.access.cors import Cors, is_preflight
from holdfast.entrypoints.api.access.holders import (
    refuse_closed,
    refuse_event,
    refuse_fields,
    refuse_session,
)
from holdfast.entrypoints.api.access.rate_gate import rate_headers
from holdfast.entrypoints.api.audit.refusals import record_refusal
from holdfast.entrypoints.api.fairness.large_bodies import LargeBodies
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import JSON, Call, Reply, body_for
from holdfast.entrypoints.api.http.idempotency import checked_key
from holdfast.entrypoints.api.http.parsing import (
    BODY_BYTES_MAX,
    BodyParser,
    ClientGone,
    body_cut_off,
    declared_length,
    is_csv,
    parse_query,
    path_id,
    read_body,
    refuse_query,
)
from holdfast.entrypoints.api.http.problems import (
    FieldError,
    Problem,
    invalid,
    refusal_reply,
    unexpected_reply,
)
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import CsvText, NoFields
from holdfast.ports.access import Principal
from holdfast.ports.audit.attempts import AttemptJournal

HTTP_REFUSED = 400

_NO_FIELDS = NoFields()

_log = structlog.get_logger("holdfast.api")

Respond = Callable[[Call, Receive], Awaitable[Reply]]
# Of a path: how many parts it has, and the first after the prefix, never a name or an id.
_Shape = tuple[int, str]


class Edge:
    """Every error becomes a reply that reveals nothing internal. Holdfast's own server calls
    `respond` and `log_reply`; for others, this is an ASGI application."""

    def __init__(
        self,
        answer: Respond,
        attempts: AttemptJournal,
        cors: Cors | None = None,
        prefix: str = "/api",
    ) -> None:
        self.prefix = prefix  # of all its paths
        self._answer = answer
        self._attempts = attempts
        self._cors = cors
        # The level is set before the API is created.
        self._logs_everything = _log.is_enabled_for(DEBUG)
        # Refused requests that are not logged yet.
        self._refused: list[Mapping[str, object]] = []

    async def respond(self, call: Call, receive: Receive) -> Reply:
        try:
            reply = await self._answer(call, receive)
        except Problem as problem:
            reply = problem.reply(call.request_id)
        except ClientGone:
            _log.info("request.abandoned", method=call.method, request_id=call.request_id)
            # Only read by a client that is still there and sent a broken body.
            reply = body_cut_off().reply(call.request_id)
        except Exception:
            _log.exception("request.failed", method=call.method, request_id=call.request_id)
            reply = unexpected_reply(call.request_id)
        if call.takings:
            reply = reply._replace(headers=(*reply.headers, *rate_headers(call.takings)))
        if reply.refusal is not None and not call.is_recorded:
            self._record(call, reply.status, *reply.refusal)
        if call.token_organization is None or self._cors is None:
            return reply
        return self._cors.marked(call, reply)

    def _record(self, call: Call, status: int, code: str, details: Mapping[str, JsonValue]) -> None:
        """The caller gets an answer even if the audit fails."""
        try:
            record_refusal(self._attempts, call, status, code, details)
        except Exception:
            _log.exception("attempt.unrecorded", request_id=call.request_id)

    def log_reply(self, call: Call, reply: Reply) -> None:
        """Call after sending the reply. A hold has its own log entry with this request id; a
        second one would cost a tenth of the throughput. Refusals come by the hundred, and each
        write gives up the interpreter: those of one turn of the event loop are logged at once."""
        if reply.status >= HTTP_REFUSED:
            if not self._refused:
                asyncio.get_running_loop().call_soon(self._log_refused)
            self._refused.append({"event": "request", **_entry(call, reply)})
        elif self._logs_everything:
            _log.debug("request", **_entry(call, reply))

    def _log_refused(self) -> None:
        refused, self._refused = self._refused, []
        log_at_once(refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _decline(scope, send)
            return
        call = Call.of_scope(scope)
        reply = await self.respond(call, receive)
        headers = _headers(call, reply)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": body_for(call.method, reply)})
        self.log_reply(call, reply)


def _headers(call: Call, reply: Reply) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", reply.content_type),
        (b"content-length", b"%d" % len(reply.body)),
        (b"x-request-id", call.request_id.encode("ascii")),
        *reply.standing_headers,
        *reply.headers,
    ]


def _entry(call: Call, reply: Reply) -> dict[str, object]:
    """Log the route instead of the path, which is the caller's text."""
    return {
        "method": call.method,
        "route": call.route_path,
        "status": reply.status,
        "duration_ms": round((perf_counter() - call.started) * 1000, 2),
        "actor": call.actor,
        "request_id": call.request_id,
    }


async def _decline(scope: Scope, send: Send) -> None:
    """The outer application owns the lifespan, and the API has no websockets."""
    if scope["type"] != "websocket":
        raise NotImplementedError(f"the API does not serve {scope['type']}")
    await send({"type": "websocket.close"})


class Endpoint:
    """A route with its dependencies."""

    def __init__(self, route: Route[Any], context: Context, bearer: Bearer) -> None:
        self._route = route
        self.is_for_holders = route.is_for_holders
        self._context = context
        self._bearer = bearer
        self._body = BodyParser(route.body or NoFields)

    async def __call__(self, call: Call, receive: Receive) -> Reply:
        route = self._route
        call.route_path = route.path
        call.success_status = route.status
        call.attempt = route.attempt
        try:
            if route.is_public:
                return await self._answer_anybody(call, receive)
            principal = self._bearer.recognized(call) or await self._bearer.authenticate(call)
            call.principal, call.actor = principal, principal.actor
            self._check_caller(call, principal)
            if principal.organization_id is not self._context.turns.last:
                self._context.turns.saw(principal.organization_id)
            if self._context.rates.book.of:  # often nobody has limits
                refusal = await self._context.rates.admit(call)
                if refusal is not None:
                    return await self._refused(call, refusal)
            if route.is_unsafe:
                body = call.body
                if body is None or len(body) > BODY_BYTES_MAX:
                    body = await self._read_body(call, receive)
                    call.body = body if len(body) <= BODY_BYTES_MAX else None
                    # The body may have taken seconds, and the key may have been revoked meanwhile.
                    if self._bearer.recognized(call) is not principal:
                        call.principal = await self._bearer.authenticate(call)
                given = (
                    self._parse_body(call, body)
                    if len(body) <= BODY_BYTES_MAX
                    else await self._parse_large_body(call, body)
                )
            else:
                given = parse_query(call, route.query or NoFields)
            refusal = _read_path(route, call) if route.names else None
            if refusal is None and principal.holder is not None:
                refuse_fields(given)
                refusal = await self._refuse_outside(call)
            if refusal is not None:
                return await self._refused(call, refusal)
            return await route.handler(self._context, call, given)
        except Problem as problem:
            if problem.code is ProblemCode.VALIDATION_ERROR:
                problem.code = route.invalid
            await self._wait_to_refuse(call)
            raise

    async def _refused(self, call: Call, refusal: Refusal) -> Reply:
        await self._wait_to_refuse(call)
        return refusal_reply(refusal, call.request_id)

    async def _wait_to_refuse(self, call: Call) -> None:
        """A client that ignores refusals sends the next request at once: without turns, a few
        dozen of them would keep the event loop from other organizations."""
        if hasattr(call, "principal"):
            await self._context.turns.take(call.principal.organization_id)

    def _check_caller(self, call: Call, principal: Principal) -> None:
        route = self._route
        if principal.holder is not None and not route.is_for_holders:
            raise refuse_closed()
        # Before the scope, so that the audit log has the person who was refused.
        if principal.member is not None or b"x-acting-user" in call.headers:
            call.acting_user = acting_user(call)
        if route.scope is not None and route.scope not in principal.scopes:
            raise missing_scope(route.scope)

    async def _refuse_outside(self, call: Call) -> Refusal | None:
        """Refuse an event or session that the token is not for."""
        if self._route.path.startswith("/api/events/"):
            return await refuse_event(self._context, call, EventId(call.path_id))
        if self._route.path.startswith("/api/sessions/"):
            return await refuse_session(self._context, call, SessionId(call.path_id))
        return None

    async def _answer_anybody(self, call: Call, receive: Receive) -> Reply:
        body = call.body
        if body is None or len(body) > BODY_BYTES_MAX:
            body = await self._read_body(call, receive)
        try:
            given = self._parse_body(call, body)
        except Problem:
            await self._bearer.delay_stranger(call)
            raise
        return await self._route.handler(self._context, call, given)

    def _read_body(self, call: Call, receive: Receive) -> Awaitable[bytes]:
        return read_body(call, receive, self._route.body_bytes_max)

    async def _parse_large_body(self, call: Call, body: bytes) -> Any:
        """Parse on a thread, to keep the event loop free."""
        organization_id = call.principal.organization_id
        return await self._context.large.run(organization_id, self._parse_body, call, body)

    def _parse_body(self, call: Call, body: bytes) -> Any:
        sent = call.headers.get(b"idempotency-key")
        call.idempotency_key = None if sent is None else checked_key(sent)
        if call.query_string:
            refuse_query(call.query_string)
        if not body and (self._route.body is None or self._route.is_body_optional):
            return self._route.body() if self._route.body else _NO_FIELDS
        is_json = call.headers.get(b"content-type") == JSON
        if not is_json and is_csv(call, takes_csv=self._route.takes_csv):
            return CsvText(body)
        return self._body.parse(body)


class LargeBodyEndpoint(Endpoint):
    """A route with a large body, which stays in memory until the request is over."""

    def __init__(
        self, route: Route[Any], context: Context, bearer: Bearer, bodies: LargeBodies
    ) -> None:
        super().__init__(route, context, bearer)
        self._bodies = bodies

    async def __call__(self, call: Call, receive: Receive) -> Reply:
        try:
            return await super().__call__(call, receive)
        finally:
            self._bodies.leave(call)

    def _read_body(self, call: Call, receive: Receive) -> Awaitable[bytes]:
        length = declared_length(call)
        if length is None or length > BODY_BYTES_MAX:
            self._bodies.enter(call, call.principal.organization_id)
        return super()._read_body(call, receive)


class Router:
    """Looks up exact paths; the few with an id or name are matched part by part."""

    def __init__(
        self,
        routes: Iterable[Route[Any]],
        context: Context,
        bearer: Bearer,
        documents: Mapping[str, Reply],
        cors: Cors,
    ) -> None:
        self._bearer = bearer
        self._cors = cors
        self._exact: dict[str, dict[str, Respond]] = {}
        self._patterns: dict[_Shape, dict[tuple[str, ...], dict[str, Respond]]] = {}
        for path, reply in documents.items():
            self._exact[path] = {"GET": _Document(path, reply)}
        bodies = LargeBodies()
        for route in routes:
            self._methods_of(route.path)[route.method] = (
                LargeBodyEndpoint(route, context, bearer, bodies)
                if route.body_bytes_max > BODY_BYTES_MAX
                else Endpoint(route, context, bearer)
            )

    def __call__(self, call: Call, receive: Receive) -> Awaitable[Reply]:
        methods = self._exact.get(call.path) or self._matching(call.segments)
        if methods is None:
            return self._refuse_path(call)
        respond = methods.get("GET" if call.method == "HEAD" else call.method)
        return self._refuse_method(call, methods) if respond is None else respond(call, receive)

    async def _refuse_path(self, call: Call) -> Reply:
        await self._bearer.delay_stranger(call)
        raise Problem(ProblemCode.NOT_FOUND, self._where_else(call))

    async def _refuse_method(self, call: Call, methods: Mapping[str, Respond]) -> Reply:
        if is_preflight(call):
            open_to_tokens = [
                method
                for method, respond in methods.items()
                if isinstance(respond, Endpoint) and respond.is_for_holders
            ]
            if open_to_tokens:
                return self._cors.preflight(call, open_to_tokens)
        await self._bearer.delay_stranger(call)
        allowed = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
        raise Problem(
            ProblemCode.METHOD_NOT_ALLOWED,
            f"Allowed here: {allowed}",
            headers=((b"allow", allowed.encode("ascii")),),
        )

    def _where_else(self, call: Call) -> str:
        """Suggest the path without its trailing slash. Names the pattern, never what was sent."""
        nothing = "There is nothing at this address"
        if not call.path.endswith("/"):
            return nothing
        parts = call.segments[:-1]
        known = [
            *(tuple(path.split("/")) for path in self._exact),
            *chain(*self._patterns.values()),
        ]
        for pattern in known:
            if len(pattern) == len(parts) and all(map(_fits, pattern, parts)):
                return f"{nothing}. Leave out the slash at the end: {'/'.join(pattern)}"
        return nothing

    def _methods_of(self, path: str) -> dict[str, Respond]:
        if "{" not in path:
            return self._exact.setdefault(path, {})
        pattern = tuple(path.split("/"))
        return self._patterns.setdefault(_shape(pattern), {}).setdefault(pattern, {})

    def _matching(self, segments: Sequence[str]) -> dict[str, Respond] | None:
        for pattern, methods in self._patterns.get(_shape(segments), {}).items():
            if all(map(_fits, pattern, segments)):
                return methods
        return None


class _Document:
    """A public document."""

    def __init__(self, path: str, reply: Reply) -> None:
        self._path = path
        self._reply = reply

    async def __call__(self, call: Call, receive: Receive) -> Reply:
        call.route_path = self._path
        return self._reply


def _shape(segments: Sequence[str]) -> "_Shape":
    return (len(segments), "".join(segments[2:3]))


def _fits(part: str, segment: str) -> bool:
    return bool(segment) if part.startswith("{") else part == segment


def _read_path(route: Route[Any], call: Call) -> Refusal | None:
    """Read the one or two ids in the path. A malformed id is refused like an unknown one, unless
    the route has its own code. A cart token may be any printable text."""
    first, *others = route.names
    if route.is_of_cart:
        call.cart = _cart_name(call.segments[first])
        return None
    if route.not_found is None:
        return None
    parts = call.segments
    found = path_id(parts[first])
    if found is None:
        _refuse_malformed(route, first)
        return route.not_found
    call.path_id = found
    if route.nested_not_found is not None:
        (second,) = others
        found = path_id(parts[second])
        if found is None:
            _refuse_malformed(route, second)
            return route.nested_not_found
        call.nested_id = found
    return None


def _refuse_malformed(route: Route[Any], part: int) -> None:
    if route.invalid is not ProblemCode.VALIDATION_ERROR:
        name = route.path.split("/")[part].strip("{}")
        raise invalid([FieldError(name, "invalid_value", "Must be a UUID")])


def _cart_name(text: str) -> str:
    if len(text) > CART_TOKEN_LENGTH_MAX or not text.isprintable():
        raise Problem(
            ProblemCode.INVALID_CART,
            f"cart_token must be 1 to {CART_TOKEN_LENGTH_MAX} printable characters in UTF-8",
        )
    return text
