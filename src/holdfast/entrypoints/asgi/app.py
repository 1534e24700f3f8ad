"""The outermost application: health checks, the API, and Django's pages.

It owns the lifespan: the engine starts before the first request and drains after the last.
"""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

from django.core.asgi import get_asgi_application
from django.template.loader import render_to_string
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.parenthood import die_with_parent
from holdfast.bootstrap.server import Server, WatchedDatabase
from holdfast.bootstrap.settings import Settings, load_settings
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.asgi.health import Readiness, health_routes
from holdfast.entrypoints.asgi.login_gate import LoginGate

# How long a computing thread keeps the interpreter while others want it. Long reads and large
# orders compete with the engine's thread, which needs it some twenty times per hold.
SWITCH_SECONDS = 0.0005


def create_everything() -> ASGIApp:
    """API and pages in one process."""
    settings = _prepare_process()
    return _serving_api(settings, [_pages(settings)])


def create_api_only() -> ASGIApp:
    return _serving_api(_prepare_process(), [])


def create_pages_only() -> ASGIApp:
    settings = _prepare_process()
    database = WatchedDatabase(settings)
    readiness = Readiness([database.dependency])

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        with database:
            yield
        readiness.close()

    routes = [*health_routes(readiness), _pages(settings)]
    return _always_answering(Starlette(routes=routes, lifespan=lifespan))


def _serving_api(settings: Settings, beside: Sequence[BaseRoute]) -> ASGIApp:
    server = Server(settings)
    api = create_api(server.container)
    readiness = Readiness(server.dependencies())

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            # On a thread: the loop still has to deliver the answers of the last commands.
            await asyncio.to_thread(server.stop)
            api.close()
            readiness.close()

    routes = [*health_routes(readiness), *beside]
    rest = _always_answering(Starlette(routes=routes, lifespan=lifespan))

    async def front_door(scope: Scope, receive: Receive, send: Send) -> None:
        """The API is the hot path, so its requests bypass the router."""
        path = scope.get("path", "")
        if scope["type"] == "http" and (path.startswith("/api/") or path == "/api"):
            await api(scope, receive, send)
        else:
            await rest(scope, receive, send)

    return front_door


def _always_answering(app: ASGIApp) -> ASGIApp:
    """Answer 400 to an incomplete or malformed body. Django sends no response, which the server
    would turn into a 500."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        is_answered = False

        async def noted(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        await app(scope, receive, noted)
        if scope["type"] == "http" and not is_answered:
            refusal = PlainTextResponse("The request body is incomplete.\n", status_code=400)
            await refusal(scope, receive, send)

    return answering


def _prepare_process() -> Settings:
    """Called once in each server process, right after the fork."""
    die_with_parent()
    settings = load_settings()
    configure_logs(settings)
    _settle_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    return settings


def _settle_memory() -> None:
    """Tune the garbage collector: loaded modules stay for good, and a hold leaves no reference
    cycles, so frequent collections only cost time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _pages(settings: Settings) -> BaseRoute:
    setup_django(settings)
    # Django's type for its application is narrower.
    pages = cast("ASGIApp", get_asgi_application())
    busy_page = render_to_string("pages/login_busy.html").encode()
    return Mount("/", app=LoginGate(pages, busy_page))
