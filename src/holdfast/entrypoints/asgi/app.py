"""The outermost application: health checks, the API, and Django's pages.

It owns the lifespan: the engine starts before the first request and drains after the last.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

from django.core.asgi import get_asgi_application
from django.template.loader import render_to_string
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.process import prepare_process
from holdfast.bootstrap.server import Server
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.asgi.health import Readiness, health_routes
from holdfast.entrypoints.asgi.login_gate import LoginGate


def create_everything() -> ASGIApp:
    """API and pages in one process."""
    server = Server(prepare_process())
    return _with_api(server, [_pages(server)])


def create_api_only() -> ASGIApp:
    return _with_api(Server(prepare_process()), [])


def create_pages_only() -> ASGIApp:
    """With an engine for what operators do, and without the duties."""
    server = Server(replace(prepare_process(), holdfast_duties="none"))
    return _served(server, [_pages(server)])


def _with_api(server: Server, beside: Sequence[BaseRoute]) -> ASGIApp:
    api = create_api(server.container)
    rest = _served(server, beside, api.close)

    def front_door(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """The API is the hot path, so its requests bypass the router."""
        path = scope.get("path", "")
        is_of_api = scope["type"] == "http" and (path.startswith("/api/") or path == "/api")
        return (api if is_of_api else rest)(scope, receive, send)

    return front_door


def _served(
    server: Server, routes: Sequence[BaseRoute], close: Callable[[], None] = lambda: None
) -> ASGIApp:
    """The routes beside the API, and the lifespan of the process."""
    readiness = Readiness(server.dependencies())

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        server.start()
        try:
            yield
        finally:
            # On a thread: the loop has to go on handing out the answers of the last commands.
            await asyncio.to_thread(server.stop)
            close()
            readiness.close()

    app = Starlette(routes=[*health_routes(readiness), *routes], lifespan=lifespan)
    return _always_answering(app)


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


def _pages(server: Server) -> BaseRoute:
    setup_django(server.settings)
    AdminConfig.services = server.container
    # Django's type for its application is narrower.
    pages = cast("ASGIApp", get_asgi_application())
    busy_page = render_to_string("pages/login_busy.html").encode()
    return Mount("/", app=LoginGate(pages, busy_page))
