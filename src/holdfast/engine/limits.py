"""Everything in the engine is bounded, and the bounds are here."""

from dataclasses import dataclass

# Orders share a group only up to so many tickets and seats: everybody waits for the group.
WEIGHT_PER_GROUP_MAX = 500
# A command with more than so many leaves the main lane to the others.
WEIGHT_IN_MAIN_LANE_MAX = 250
# A command that keeps needing more than was locked is given up after so many rounds that brought
# nothing, after so many in which others were quicker with the seats, and after so many in all:
# whatever goes wrong, it does not spin until its deadline.
FRUITLESS_ROUNDS_MAX = 3
OVERTAKEN_ROUNDS_MAX = 30
ROUNDS_MAX = 100
# Tries of one group that loses against other transactions, or whose connection breaks.
ATTEMPTS_MAX = 3
# How long a request waits for another one with the same key before it is told to come back.
SAME_KEY_WAIT_SECONDS = 2.0
# How long a buyer waits for a seat that others have locked. With the last turn of the line, which
# waits for the lock timeout, it is 2 s.
SEAT_WAIT_SECONDS = 1.75
# Advisory locks are polled, not waited for.
POLL_SECONDS = 0.01
RETRY_JITTER_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Limits:
    """`queue_max` counts every command that has no answer yet, wherever it is."""

    queue_max: int = 4096
    group_max: int = 128
    deadline_seconds: float = 5.0
    drain_seconds: float = 10.0
    # Threads that wait for locks of others, so that the main lane never has to.
    patient_lanes: int = 4

    @property
    def share_max(self) -> int:
        """What one organization may have of the queue: its rush leaves room for the others."""
        return max(1, self.queue_max * 3 // 4)
