"""Blocks calls until a test lets them through."""

import threading

BOUND_SECONDS = 60


class Gate:
    """Blocks calls until it is opened."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._entered = threading.Semaphore(0)

    def pass_through(self) -> None:
        self._entered.release()
        assert self._opened.wait(BOUND_SECONDS)

    def await_entered(self, count: int) -> None:
        for _ in range(count):
            assert self._entered.acquire(timeout=BOUND_SECONDS)

    def open(self) -> None:
        self._opened.set()
