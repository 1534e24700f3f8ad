"""Background duties on threads of the server. In production they may run elsewhere as well: each
is safe to run in several places at once."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Duty:
    """Something to do again and again. It says how many seconds to wait before the next time."""

    name: str
    run_once: Callable[[], float]
    after_error_seconds: float = 1.0


class DutyThread:
    """One duty on one thread, until it is stopped. An error is logged and tried again later."""

    def __init__(self, duty: Duty) -> None:
        self._duty = duty
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"holdfast-{duty.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_seconds: float) -> None:
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)

    def _run(self) -> None:
        wait_seconds = 0.0
        while not self._stopped.wait(wait_seconds):
            try:
                wait_seconds = self._duty.run_once()
            except Exception:
                wait_seconds = self._duty.after_error_seconds
                with contextlib.suppress(Exception):
                    log.exception("duty_failed", duty=self._duty.name)
