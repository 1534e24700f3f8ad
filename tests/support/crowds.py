"""Many clients at once, each with its own connection."""

import http.client
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.platform import Platform


@dataclass(frozen=True)
class Reply:
    """`status` 0: the connection broke before an answer came."""

    status: int
    body: bytes
    is_replay: bool = False

    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


class Crowd:
    """A fixed number of clients, on plain connections to keep them cheap."""

    def __init__(self, platform: Platform, size: int) -> None:
        self._platform = platform
        self._address = urlsplit(platform.base_url)
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(size)
        self._start = threading.Barrier(size)
        self.size = size

    def all_at_once(self, send: Callable[[int], Reply]) -> list[Reply]:
        """Every client sends one request, all starting together."""

        def one(number: int) -> Reply:
            self._start.wait(30)
            return send(number)

        return list(self._threads.map(one, range(self.size)))

    def spread(self, send: Callable[[Any], Reply], items: Sequence[Any]) -> list[Reply]:
        """The clients work through the items."""
        return list(self._threads.map(send, items))

    def place(self, body: dict[str, Any], key: str | None = None) -> Reply:
        return self.post("/api/holds", body, key)

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Reply:
        return self.send("POST", path, body, key)

    def send(
        self, verb: str, path: str, body: dict[str, Any] | None, key: str | None = None
    ) -> Reply:
        headers = {
            "Authorization": f"Bearer {self._platform.secret_key}",
            "Content-Type": "application/json",
        }
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            connection = self._connection()
            content = None if body is None else json.dumps(body)
            connection.request(verb, path, content, headers)
            answer = connection.getresponse()
            is_replay = answer.getheader("Idempotent-Replayed") == "true"
            return Reply(answer.status, answer.read(), is_replay)
        except (OSError, http.client.HTTPException):
            self._own.connection = None
            return Reply(0, b"")

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            assert self._address.hostname is not None
            connection = http.client.HTTPConnection(
                self._address.hostname, self._address.port, timeout=60
            )
            self._own.connection = connection
        return connection

    def close(self) -> None:
        self._threads.shutdown()
