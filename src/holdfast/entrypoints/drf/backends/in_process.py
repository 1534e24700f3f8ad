"""The engine in this process, on a database of its own."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping
from typing import TypeVar

import structlog
import uvloop
from django.core.exceptions import ImproperlyConfigured
from starlette.types import Message

from holdfast.bootstrap.database import refuse_unsafe_login
from holdfast.bootstrap.logs import configure_own_logs
from holdfast.bootstrap.server import Server
from holdfast.bootstrap.settings import Settings, SettingsError, load_settings
from holdfast.entrypoints.api.access.tarpit import Tarpit
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.api.fairness.answers import GRACE_SECONDS
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import unavailable

T = TypeVar("T")

_log = structlog.get_logger("holdfast.drf")


class _NoTarpit(Tarpit):
    """A delayed refusal would cost the project one of its few threads."""

    async def wait(self, address: str) -> None:
        return


class InProcessEngine:
    """Runs the ASGI API's own handlers on an event loop, in a thread of its own. Each request waits
    for their answer."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        settings = engine_settings(variables)
        if not structlog.is_configured():
            configure_own_logs(settings)
        self._server = Server(settings)
        self._api = create_api(self._server.container, tarpit=_NoTarpit())
        # A little longer than the engine and the reads wait.
        self._bound_seconds = self._server.container.deadline_seconds + 2 * GRACE_SECONDS
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="holdfast-api", daemon=True
        )

    def start(self) -> None:
        self._server.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop the loop last, because it still delivers the answers to the last commands."""
        self._server.stop()
        self._api.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(self._bound_seconds)

    def authenticate(self, call: Call) -> None:
        if self._api.bearer.recognized(call) is None:
            self._wait_for(self._api.bearer.authenticate(call))

    def send(self, call: Call) -> Reply:
        return self._wait_for(self._respond(call))

    async def _respond(self, call: Call) -> Reply:
        reply = await self._api.respond(call, _nothing_more)
        self._api.log_reply(call, reply)
        return reply

    def _wait_for(self, answer: Coroutine[None, None, T]) -> T:
        """Wait for a bounded time. Giving up cancels nothing."""
        try:
            return asyncio.run_coroutine_threadsafe(answer, self._loop).result(self._bound_seconds)
        except TimeoutError:
            _log.exception("api.unanswered")
            raise unavailable() from None


def engine_settings(variables: Mapping[str, str]) -> Settings:
    """From HOLDFAST['IN_PROCESS'] and the HOLDFAST_ variables of the environment. Its DATABASE_URL
    and REDIS_URL are the project's own."""
    common = {name: text for name, text in os.environ.items() if name.startswith("HOLDFAST_")}
    try:
        settings = load_settings(common | dict(variables))
        refuse_unsafe_login(settings)
    except SettingsError as error:
        raise ImproperlyConfigured(f"HOLDFAST['IN_PROCESS']: {error}") from error
    return settings


async def _nothing_more() -> Message:
    """All of the body has arrived before the call."""
    return {"type": "http.disconnect"}
