"""The outermost application: health, the API, and Django's pages beside it.

It owns the lifespan: the engine starts before the first request and drains after the last.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast

from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.parenthood import die_with_parent
from holdfast.bootstrap.server import Server
from holdfast.bootstrap.settings import Settings, load_settings
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.asgi.health import health_routes

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def create_everything() -> Starlette:
    """API and pages in one process."""
    settings = _prepare_process()
    server = Server(settings)
    api = Mount("/api", app=create_api(server.container))
    return Starlette(
        routes=[*health_routes(server.dependencies()), api, _pages(settings)],
        lifespan=_running(server),
    )


def create_api_only() -> Starlette:
    settings = _prepare_process()
    server = Server(settings)
    api = Mount("/api", app=create_api(server.container))
    return Starlette(routes=[*health_routes(server.dependencies()), api], lifespan=_running(server))


def create_pages_only() -> Starlette:
    settings = _prepare_process()
    return Starlette(routes=[*health_routes([]), _pages(settings)])


def _prepare_process() -> Settings:
    """Called once in each server process, right after it was forked."""
    die_with_parent()
    settings = load_settings()
    configure_logs(settings)
    return settings


def _pages(settings: Settings) -> BaseRoute:
    setup_django(settings)
    # Django types its application by its own, narrower protocol.
    return Mount("/", app=cast("ASGIApp", get_asgi_application()))


def _running(server: Server) -> Lifespan:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            # On a thread: the loop has to go on handing out the answers of the last commands.
            await asyncio.to_thread(server.stop)

    return lifespan
