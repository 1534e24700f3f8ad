"""Closes connections whose server no longer responds."""

import math
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


class Watch:
    """The time limit of the exchanges of one connection. Setting it is a plain assignment: a system
    call for each exchange would give up the interpreter, which a busy thread returns late."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        # A duplicate: libpq may close its descriptor, and another socket may get its number.
        self._descriptor = os.dup(connection.fileno())
        self._until = math.inf

    @contextmanager
    def limit(self, seconds: float = EXCHANGE_TIMEOUT_SECONDS) -> Iterator[None]:
        """Cut the connection if this block takes longer."""
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = math.inf

    def check(self) -> None:
        if self._until <= time.monotonic():
            _cut(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Watchdog:
    """A stopped server still acknowledges at the TCP level, so we would wait for it forever. One
    thread serves all connections of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: set[Watch] = set()
        self._thread: threading.Thread | None = None

    def watch(self, connection: psycopg.Connection[Any]) -> Watch:
        """Until `release`."""
        watch = Watch(connection)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._look, name="holdfast-watchdog", daemon=True
                )
                self._thread.start()
            self._watches.add(watch)
        return watch

    def release(self, watch: Watch) -> None:
        with self._lock:
            self._watches.discard(watch)
            watch.close()

    @contextmanager
    def limit(
        self, connection: psycopg.Connection[Any], seconds: float = EXCHANGE_TIMEOUT_SECONDS
    ) -> Iterator[None]:
        """Cut a connection that is not watched otherwise if this block takes longer."""
        watch = self.watch(connection)
        try:
            with watch.limit(seconds):
                yield
        finally:
            self.release(watch)

    def _look(self) -> None:
        """Polls, because a wake-up for each exchange would cost more than it saves."""
        while True:
            time.sleep(LOOK_EVERY_SECONDS)
            with self._lock:
                for watch in self._watches:
                    watch.check()


def _cut(descriptor: int) -> None:
    """Shut the socket down under libpq: the waiting thread gets an error at once."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already closed
