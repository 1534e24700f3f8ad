"""The outermost layer of the API: every request gets an id, one reply and a log entry."""

from collections.abc import Awaitable, Callable
from logging import DEBUG
from time import perf_counter

import structlog
from starlette.types import Receive, Scope, Send

from holdfast.entrypoints.api.http.exchange import NOT_MODIFIED, Call, Reply
from holdfast.entrypoints.api.http.parsing import ClientGone, body_cut_off
from holdfast.entrypoints.api.http.problems import Problem, unexpected_reply

HTTP_REFUSED = 400

_log = structlog.get_logger("holdfast.api")


class Edge:
    """Plain ASGI. Every error becomes a reply that reveals nothing internal."""

    def __init__(self, answer: Callable[[Call, Receive], Awaitable[Reply]]) -> None:
        self._answer = answer
        # The level is set before the API is created.
        self._logs_everything = _log.is_enabled_for(DEBUG)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _decline(scope, send)
            return
        started = perf_counter()
        call = Call(scope)
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
        await send(
            {
                "type": "http.response.start",
                "status": reply.status,
                "headers": _headers(call, reply),
            }
        )
        has_body = call.method != "HEAD" and reply.status != NOT_MODIFIED
        await send({"type": "http.response.body", "body": reply.body if has_body else b""})
        # A hold has its own log entry with this request id; a second one would cost a tenth of the
        # throughput.
        if reply.status >= HTTP_REFUSED or self._logs_everything:
            _log_request(call, reply.status, perf_counter() - started)


def _headers(call: Call, reply: Reply) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", reply.content_type),
        (b"content-length", b"%d" % len(reply.body)),
        (b"x-request-id", call.request_id.encode("ascii")),
        *reply.standing_headers,
        *reply.headers,
    ]


def _log_request(call: Call, status: int, seconds: float) -> None:
    """Log the route instead of the path, which is the caller's text."""
    write = _log.debug if status < HTTP_REFUSED else _log.info
    write(
        "request",
        method=call.method,
        route=call.route_path,
        status=status,
        duration_ms=round(seconds * 1000, 2),
        actor=call.actor,
        request_id=call.request_id,
    )


async def _decline(scope: Scope, send: Send) -> None:
    """The outer application owns the lifespan, and the API has no websockets."""
    if scope["type"] != "websocket":
        raise NotImplementedError(f"the API does not serve {scope['type']}")
    await send({"type": "websocket.close"})
