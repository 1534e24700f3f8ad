"""The books: everything that the rows of the database must prove together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: what it looks for, how many rows it looked at, and how many it found that must not
    exist, with a few of them (ids and figures, never a name)."""

    looks_for: str
    rows: int
    found: int
    examples: tuple[str, ...]
    seconds: float


class Books(Protocol):
    def checked(self, grace_seconds: int) -> Iterator[Checked]:
        """Every check, all of them at one and the same moment of the database, so that it may be in
        full use meanwhile. A live hold is an orphan when it is so long past its end. May raise
        StoreError on the way."""
        ...
