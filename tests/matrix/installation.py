"""The real API, engine and database in this process, so that a test can replace a part of it and
send thousands of requests without a socket."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

import httpx
import structlog

from holdfast.bootstrap.server import Server
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.api.app import Api, create_api
from tests.support.databases import server_url
from tests.support.patience import wait_until
from tests.support.platform import Platform
from tests.support.servers import INSTALLATION_SECRET

BASE_URL = "http://holdfast"
Headers = Sequence[tuple[bytes, bytes]]


class Request(NamedTuple):
    method: str
    target: str  # path and query
    headers: Headers = ()
    body: bytes = b""


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Installation:
    """Runs no background duties, so that nothing changes by itself."""

    owner_url: str
    server: Server = field(init=False)
    api: Api = field(init=False)
    _runner: asyncio.Runner = field(init=False)
    _others: set[threading.Thread] = field(init=False)
    _addresses: int = 0

    def __enter__(self) -> Self:
        self._others = set(threading.enumerate())
        # The environment of the tests lets connections read as the owner.
        url = f"{server_url(self.owner_url)}?options=-c%20holdfast.owner%3Doff"
        self.server = Server(
            Settings(
                database_url=url,
                holdfast_secret_key=INSTALLATION_SECRET,
                holdfast_duties="none",
                holdfast_deadline_seconds=30,
            )
        )
        # Thousands of refusals, each with its log entry, would cost more than the requests.
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
        self.server.start()
        self._runner = asyncio.Runner()
        self.api = create_api(self.server.container)
        wait_until(lambda: not self.server.dependencies()[0].problem(), "the database answers")
        return self

    def __exit__(self, *_: object) -> None:
        self.api.close()
        self._runner.close()
        self.server.stop()
        # A duty may still be writing, by rules that the test is about to change back.
        wait_until(lambda: not self._threads(), "everything has stopped")
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))

    def _threads(self) -> list[threading.Thread]:
        running = (each for each in threading.enumerate() if each not in self._others)
        return [each for each in running if each.name.startswith("holdfast")]

    def platform(self, secret_key: str, organization_id: str) -> Platform:
        made = Platform(BASE_URL, secret_key, organization_id)
        made.client = httpx.Client(
            base_url=BASE_URL,
            headers={"Authorization": f"Bearer {secret_key}"},
            transport=_InProcess(self),
        )
        return made

    def send(self, requests: Sequence[Request], at_once: int = 64) -> list[Answer]:
        """Answers in the same order. Many are sent at a time, since refused callers wait."""

        async def send_all() -> list[Answer]:
            turns = asyncio.Semaphore(at_once)

            async def send_one(request: Request) -> Answer:
                async with turns:
                    return await self._answer(request)

            return await asyncio.gather(*map(send_one, requests))

        return self._runner.run(send_all())

    async def _answer(self, request: Request) -> Answer:
        sent: list[dict[str, Any]] = []
        path, _, query = request.target.partition("?")
        self._addresses += 1
        scope = {
            "type": "http",
            "method": request.method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [*request.headers, (b"content-length", b"%d" % len(request.body))],
            # Refusals to one address are answered late after the first fifty in a second.
            "client": (f"2001:db8:{self._addresses >> 16:x}:{self._addresses & 0xFFFF:x}::1", 1),
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.api(scope, receive, send)
        start, body = sent
        return Answer(start["status"], start["headers"], body["body"])

    def write_journal(self) -> None:
        """Record the refused attempts that are still in memory."""
        attempts: Any = self.server.container.attempts
        while attempts.run_once():
            pass


@dataclass
class _InProcess(httpx.BaseTransport):
    installation: Installation

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target = request.url.raw_path.decode()
        headers = [
            (name.lower(), value)
            for name, value in request.headers.raw
            if name.lower() != b"content-length"
        ]
        body = request.read()
        (answer,) = self.installation.send([Request(request.method, target, headers, body)])
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)
