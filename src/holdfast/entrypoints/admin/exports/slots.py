"""How many exports run at once in one process: each keeps a thread and now and then a connection
busy."""

import threading
import time
from collections.abc import Callable
from uuid import UUID

OF_ORGANIZATION_MAX = 2
OF_ALL_MAX = 4
# An export takes no longer than this; its place is free then, whatever happened to it.
SECONDS_MAX = 15 * 60


class Slots:
    """Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._taken: dict[object, tuple[UUID, float]] = {}

    def take(self, organization_id: UUID) -> object | None:
        """A slot to free later; None if all are taken."""
        now = self._clock()
        with self._lock:
            self._taken = {
                slot: (own, until) for slot, (own, until) in self._taken.items() if until > now
            }
            of_organization = sum(own == organization_id for own, _ in self._taken.values())
            if of_organization >= OF_ORGANIZATION_MAX or len(self._taken) >= OF_ALL_MAX:
                return None
            slot = object()
            self._taken[slot] = (organization_id, now + SECONDS_MAX)
            return slot

    def free(self, slot: object) -> None:
        with self._lock:
            self._taken.pop(slot, None)
