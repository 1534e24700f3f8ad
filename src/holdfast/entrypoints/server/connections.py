"""The open connections of a process, and which of them make room for new ones."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from holdfast.entrypoints.api.http.routing import Edge
from holdfast.entrypoints.server.exchange import Exchange
from holdfast.entrypoints.server.proxies import TrustedProxies

if TYPE_CHECKING:
    from holdfast.entrypoints.server.connection import Connection


class Connections:
    """State shared by the connections of a process. `now` and `date` are at most a second old."""

    def __init__(
        self,
        api: Edge | None,
        rest: ASGIApp,
        connections_max: int,
        proxies: TrustedProxies | None = None,
    ) -> None:
        self.api = api
        self.api_paths = "" if api is None else f"{api.prefix}/"
        self.rest = rest
        self.proxies = proxies
        self.now = 0.0
        self.date = b""
        self.is_closing = False
        self.running: set[Exchange] = set()
        self.refused = 0  # connections that are about to be closed
        self._connections_max = connections_max
        self._connections: set[Connection] = set()
        # Connections that a new one may replace, oldest first. Unused: without a complete request
        # so far. Idle: between two requests, with a further one incomplete, or with a delayed
        # refusal.
        self._unused: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}

    def add(self, connection: "Connection") -> bool:
        """Add a connection, replacing an idle one if necessary. False if all are busy."""
        if len(self._connections) >= self._connections_max:
            longest = next(iter(self._unused or self._idle), None)
            if longest is None:
                return False
            self.remove(longest)
            longest.abort()
        self._connections.add(connection)
        self._unused[connection] = None
        return True

    def remove(self, connection: "Connection") -> None:
        self._connections.discard(connection)
        self._unused.pop(connection, None)
        self._idle.pop(connection, None)

    def mark_busy(self, connection: "Connection") -> None:
        self._unused.pop(connection, None)
        self._idle.pop(connection, None)

    def mark_idle(self, connection: "Connection") -> None:
        if connection in self._connections:
            self._idle[connection] = None

    def __iter__(self) -> "Iterator[Connection]":
        return iter(tuple(self._connections))
