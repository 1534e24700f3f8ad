"""The outermost application: health checks, the API, and Django's pages."""

import asyncio
from collections.abc import AsyncIterator, Sequence
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
from holdfast.bootstrap.server import Server, inventory_threads
from holdfast.bootstrap.settings import Network
from holdfast.domain.immutable import immutable
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.api.access.password_turns import PasswordTurns
from holdfast.entrypoints.api.app import Api, create_api
from holdfast.entrypoints.asgi.health import Readiness, health_routes
from holdfast.entrypoints.asgi.login_gate import LoginGate
from holdfast.entrypoints.asgi.page_gate import PageGate
from holdfast.entrypoints.inventory.app import create_inventory_api


@immutable
class Application:
    """One process's API, and an ASGI application for everything else."""

    api: Api | None
    rest: ASGIApp
    _server: Server
    _readiness: Readiness

    @property
    def trusted_proxies(self) -> Sequence[Network]:
        return self._server.settings.trusted_proxies

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The engine starts before the first request and drains after the last."""
        self._server.start()
        try:
            yield
        finally:
            # On a thread: the loop has to go on handing out the answers of the last commands.
            await asyncio.to_thread(self._server.stop)
            if self.api is not None:
                self.api.close()
            self._readiness.close()


def create_everything() -> Application:
    """API and pages in one process."""
    server = Server(prepare_process())
    turns = PasswordTurns()
    api = create_api(server.container, turns)
    return _application(server, api, [_pages(server, turns)])


def create_api_only() -> Application:
    server = Server(prepare_process())
    return _application(server, create_api(server.container), [])


def create_pages_only() -> Application:
    """With an engine for what operators do, and without the duties."""
    server = Server(replace(prepare_process(), holdfast_duties="none"))
    return _application(server, None, [_pages(server, PasswordTurns())])


def create_inventory() -> Application:
    """The Inventory Service."""
    server = Server(prepare_process(), inventory_threads)
    return _application(server, create_inventory_api(server.container), [])


def _application(server: Server, api: Api | None, pages: Sequence[BaseRoute]) -> Application:
    readiness = Readiness(server.dependencies())
    rest = Starlette(routes=[*health_routes(readiness), *pages])
    return Application(api, _always_answering(rest), server, readiness)


def _always_answering(app: ASGIApp) -> ASGIApp:
    """Answer 400 to an incomplete or malformed body. Django sends no response, and the server would
    answer 500."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        is_answered = False

        async def noted(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        await app(scope, receive, noted)
        if not is_answered:
            refusal = PlainTextResponse("The request body is incomplete.\n", status_code=400)
            await refusal(scope, receive, send)

    return answering


def _pages(server: Server, turns: PasswordTurns) -> BaseRoute:
    setup_django(server.settings)
    AdminConfig.services = server.container
    # Django's type for its application is narrower.
    pages = cast("ASGIApp", get_asgi_application())
    busy_page = render_to_string("pages/login_busy.html").encode()
    return Mount("/", app=LoginGate(PageGate(pages), busy_page, turns))
