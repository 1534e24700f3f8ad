"""Cuts connections whose server has gone silent."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

# The longest that one exchange with the server may take before its connection is cut.
EXCHANGE_TIMEOUT_SECONDS = 4.0


class Watchdog:
    """A stopped server still acknowledges at the TCP level and would be waited for without end.
    One thread serves all connections of the process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._limits: dict[int, tuple[float, int]] = {}  # token -> (when, file descriptor)
        self._next_token = 0
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(
        self, connection: psycopg.Connection[Any], seconds: float = EXCHANGE_TIMEOUT_SECONDS
    ) -> Iterator[None]:
        """Within this block the connection is cut after so many seconds."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="holdfast-watchdog", daemon=True
                )
                self._thread.start()
            token = self._next_token = self._next_token + 1
            self._limits[token] = (time.monotonic() + seconds, connection.fileno())
            if len(self._limits) == 1:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._limits.pop(token, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for token, (when, descriptor) in list(self._limits.items()):
                    if when <= now:
                        del self._limits[token]
                        _cut(descriptor)
                self._changed.wait(0.25 if self._limits else None)


def _cut(descriptor: int) -> None:
    """Shut the socket down under libpq; whoever waits on it gets an error at once."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already
