"""`/healthz` checks this process, `/readyz` its dependencies too."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

import msgspec
import structlog
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from holdfast.ports.health import Dependency

CHECK_SECONDS_MAX = 2.0
REMEMBERED_SECONDS = 0.5

_OK = "ok"

_log = structlog.get_logger("holdfast.health")


def health_routes(readiness: "Readiness") -> list[Route]:
    return [
        Route("/healthz", endpoint=Liveness(), methods=["GET"]),
        Route("/readyz", endpoint=readiness, methods=["GET"]),
    ]


class Liveness:
    """Always ok: an unhealthy process does not answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _send(send, 200, {"status": "ok"})


class Readiness:
    """Ready while no required dependency has a problem. Checks run concurrently, off the event
    loop, and their result is cached for half a second."""

    def __init__(self, dependencies: Sequence[Dependency]) -> None:
        self._dependencies = tuple(dependencies)
        self._threads = ThreadPoolExecutor(
            max(1, len(self._dependencies)), thread_name_prefix="holdfast-health"
        )
        self._running: dict[str, Future[str | None]] = {}
        self._checks: Mapping[str, str] = {}
        self._checked_at = -REMEMBERED_SECONDS
        self._checking: asyncio.Task[Mapping[str, str]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        checks = await self._recent_checks()
        is_ready = all(
            checks[dependency.name] == _OK
            for dependency in self._dependencies
            if dependency.is_required
        )
        status = "ready" if is_ready else "unavailable"
        await _send(send, 200 if is_ready else 503, {"status": status, "checks": checks})

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _recent_checks(self) -> Mapping[str, str]:
        if monotonic() - self._checked_at < REMEMBERED_SECONDS:
            return self._checks
        if self._checking is None:
            self._checking = asyncio.ensure_future(self._check_all())
            self._checking.add_done_callback(self._forget_checking)
        return await asyncio.shield(self._checking)

    def _forget_checking(self, _: object) -> None:
        self._checking = None

    async def _check_all(self) -> Mapping[str, str]:
        results = await asyncio.gather(*(self._check(each) for each in self._dependencies))
        names = (dependency.name for dependency in self._dependencies)
        self._checks = dict(zip(names, results, strict=True))
        self._checked_at = monotonic()
        return self._checks

    async def _check(self, dependency: Dependency) -> str:
        """A check that hangs occupies only one thread: it is not started again until it is done."""
        running = self._running.get(dependency.name)
        if running is None or running.done():
            running = self._threads.submit(dependency.problem)
            self._running[dependency.name] = running
        try:
            waiting = asyncio.shield(asyncio.wrap_future(running))
            return await asyncio.wait_for(waiting, CHECK_SECONDS_MAX) or _OK
        except TimeoutError:
            return f"no answer within {CHECK_SECONDS_MAX:g} s"
        except Exception:
            _log.exception("health.check_failed", dependency=dependency.name)
            return "the check failed"


async def _send(send: Send, status: int, content: Mapping[str, object]) -> None:
    body = msgspec.json.encode(content)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
