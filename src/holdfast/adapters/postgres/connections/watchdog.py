"""Closes connections whose server no longer responds."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

# The longest that one exchange with the server may take before its connection is closed.
EXCHANGE_TIMEOUT_SECONDS = 4.0
LOOK_EVERY_SECONDS = 0.25


class Watchdog:
    """A stopped server still acknowledges at the TCP level, so we would wait for it forever. One
    thread serves all connections of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limits: dict[int, float] = {}  # file descriptor -> when
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(
        self, connection: psycopg.Connection[Any], seconds: float = EXCHANGE_TIMEOUT_SECONDS
    ) -> Iterator[None]:
        """Close the connection if this block takes longer."""
        # A duplicate: libpq may close its descriptor, and another socket may get its number.
        descriptor = os.dup(connection.fileno())
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="holdfast-watchdog", daemon=True
                )
                self._thread.start()
            self._limits[descriptor] = time.monotonic() + seconds
        try:
            yield
        finally:
            with self._lock:
                del self._limits[descriptor]
                os.close(descriptor)

    def _watch(self) -> None:
        """Polls, because a wake-up for each exchange would cost more than it saves."""
        while True:
            time.sleep(LOOK_EVERY_SECONDS)
            with self._lock:
                now = time.monotonic()
                for descriptor, when in self._limits.items():
                    if when <= now:
                        _cut(descriptor)


def _cut(descriptor: int) -> None:
    """Shut the socket down under libpq: the waiting thread gets an error at once."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already closed
