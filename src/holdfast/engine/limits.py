"""The limits of the engine."""

from holdfast.domain.immutable import immutable

# Total weight of a group, because every command in it waits for the whole group.
WEIGHT_PER_GROUP_MAX = 500
# Heavier commands go to the patient lanes.
WEIGHT_IN_MAIN_LANE_MAX = 250
# Rounds after which a command that keeps needing more locks is given up, so that it never spins
# until its deadline: rounds without progress, rounds in which others took the seats, and in total.
FRUITLESS_ROUNDS_MAX = 3
OVERTAKEN_ROUNDS_MAX = 30
ROUNDS_MAX = 100
# Attempts for a group that conflicts with other transactions or loses its connection.
ATTEMPTS_MAX = 3
# How long a request waits for another one with the same key before it is refused.
SAME_KEY_WAIT_SECONDS = 2.0
# How long a buyer waits for a seat that others have locked: 2 s including the last attempt, which
# waits for the lock timeout.
SEAT_WAIT_SECONDS = 1.75
# Advisory locks are polled.
POLL_SECONDS = 0.01
RETRY_JITTER_SECONDS = 0.02


@immutable
class Limits:
    """`queue_max` counts every unanswered command, queued or not."""

    queue_max: int = 4096
    group_max: int = 128
    deadline_seconds: float = 5.0
    drain_seconds: float = 10.0
    # Threads that wait for locks, so that the main lane never has to.
    patient_lanes: int = 4

    @property
    def share_max(self) -> int:
        """One organization's maximum share of the queue, to leave room for others."""
        return max(1, self.queue_max * 3 // 4)
