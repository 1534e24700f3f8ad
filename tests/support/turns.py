"""Several workers share this machine; a test that would fail for want of it has it alone."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKS = Path(__file__).resolve().parents[2] / ".cache" / "turns"


@contextmanager
def turn(*, alone: bool) -> Iterator[None]:
    """Wait for one's turn. Who wants to be alone keeps the door shut until the others are out."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    with (LOCKS / "door").open("w") as door, (LOCKS / "room").open("w") as room:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # Closing is not enough: a fork of this process may still have the file open.
            fcntl.flock(room, fcntl.LOCK_UN)
