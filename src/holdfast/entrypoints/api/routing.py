"""From a request to its handler, in the order of validation: origin, size, lexical, syntax. What
remains, the meaning, is the handler's."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.types import Receive

from holdfast.entrypoints.api.authentication import Bearer, require_scope
from holdfast.entrypoints.api.codes import ProblemCode
from holdfast.entrypoints.api.context import Context
from holdfast.entrypoints.api.exchange import Call, Reply
from holdfast.entrypoints.api.parsing import (
    BodyParser,
    check_media_type,
    parse_query,
    path_id,
    read_body,
    refuse_query,
)
from holdfast.entrypoints.api.problems import Problem, refusal_reply
from holdfast.entrypoints.api.repetition import sent_key
from holdfast.entrypoints.api.routes import ROUTES, Route
from holdfast.entrypoints.api.structs import NoFields

_PARAMETER = re.compile(r"\{\w+\}")
_NO_FIELDS = NoFields()

Respond = Callable[[Call, Receive], Awaitable[Reply]]


class Endpoint:
    """A route, made ready."""

    def __init__(self, route: Route[Any], context: Context, bearer: Bearer) -> None:
        self._route = route
        self._context = context
        self._bearer = bearer
        self._body = BodyParser(route.body or NoFields)

    async def __call__(self, call: Call, receive: Receive) -> Reply:
        route = self._route
        call.route_path = route.path
        call.success_status = route.status
        call.authenticated_as(await self._bearer.authenticate(call))
        require_scope(call.principal, route.scope)
        if route.is_unsafe:
            given = self._parse_body(call, await read_body(call, receive))
        else:
            given = parse_query(call.query_string, route.query or NoFields)
        if route.not_found is not None and not _read_path_id(call):
            return refusal_reply(route.not_found, call.request_id)
        return await route.handler(self._context, call, given)

    def _parse_body(self, call: Call, body: bytes) -> Any:
        call.idempotency_key = sent_key(call)
        refuse_query(call.query_string)
        if self._route.body is None and not body:
            return _NO_FIELDS
        check_media_type(call)
        return self._body.parse(body)


class Router:
    """Exact paths by look-up; the few with an id in them by pattern."""

    def __init__(self, context: Context, bearer: Bearer, documents: Mapping[str, Reply]) -> None:
        self._exact: dict[str, dict[str, Respond]] = {}
        self._patterns: dict[str, tuple[re.Pattern[str], dict[str, Respond]]] = {}
        for path, reply in documents.items():
            self._exact[path] = {"GET": _Document(path, reply)}
        for route in ROUTES:
            self._methods_of(route.path)[route.method] = Endpoint(route, context, bearer)

    async def __call__(self, call: Call, receive: Receive) -> Reply:
        methods = self._exact.get(call.path) or self._matching(call.path)
        if methods is None:
            raise Problem(ProblemCode.NOT_FOUND, "There is nothing at this address")
        respond = methods.get("GET" if call.method == "HEAD" else call.method)
        if respond is None:
            allowed = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
            raise Problem(
                ProblemCode.METHOD_NOT_ALLOWED,
                f"Allowed here: {allowed}",
                headers=((b"allow", allowed.encode("ascii")),),
            )
        return await respond(call, receive)

    def _methods_of(self, path: str) -> dict[str, Respond]:
        if "{" not in path:
            return self._exact.setdefault(path, {})
        pattern = re.compile(_PARAMETER.sub("[^/]+", path))
        return self._patterns.setdefault(path, (pattern, {}))[1]

    def _matching(self, path: str) -> dict[str, Respond] | None:
        for pattern, methods in self._patterns.values():
            if pattern.fullmatch(path):
                return methods
        return None


class _Document:
    """Something that anybody may read."""

    def __init__(self, path: str, reply: Reply) -> None:
        self._path = path
        self._reply = reply

    async def __call__(self, call: Call, receive: Receive) -> Reply:
        call.route_path = self._path
        return self._reply


def _read_path_id(call: Call) -> bool:
    """The id is always the third part: /api/holds/{hold_id}/release."""
    found = path_id(call.path.split("/")[3])
    if found is not None:
        call.path_id = found
    return found is not None
