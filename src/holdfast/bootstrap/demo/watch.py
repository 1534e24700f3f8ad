"""Restarts the demo's embedded services when they stop."""

import threading
from collections.abc import Callable, Sequence
from typing import Self

from holdfast.adapters.embedded import EmbeddedServiceError
from holdfast.adapters.embedded.service import EmbeddedService

LOOK_EVERY_SECONDS = 1.0
# Don't restart a service that keeps stopping.
REVIVALS_MAX = 5


class ServiceWatch:
    """Runs on a thread, because the main thread serves. It sleeps nearly always, so a forked
    process finds no lock taken, and ends before the services are stopped."""

    def __init__(self, services: Sequence[EmbeddedService], report: Callable[[str], None]) -> None:
        self._services = list(services)
        self._report = report
        self._revivals = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="service watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_EVERY_SECONDS):
            for service in [each for each in self._services if not each.is_running]:
                self._revive(service)

    def _revive(self, service: EmbeddedService) -> None:
        self._revivals += 1
        if self._revivals > REVIVALS_MAX:
            self._give_up(service, "it has stopped too many times.")
            return
        self._report(f"{service.title} stopped unexpectedly; restarting it. Its log: {service.log}")
        try:
            service.revive()
        except (EmbeddedServiceError, OSError) as error:
            self._give_up(service, str(error))
        else:
            self._report(f"{service.title} is back.")

    def _give_up(self, service: EmbeddedService, reason: str) -> None:
        self._services.remove(service)
        self._report(
            f"{service.title} could not be restarted: {reason}\n"
            "Requests are answered with 503. Stop the demo with Ctrl-C and start it again."
        )
