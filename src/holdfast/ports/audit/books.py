"""The integrity check of the database."""

from collections.abc import Iterator
from typing import Protocol

from holdfast.domain.immutable import immutable


@immutable
class Checked:
    """The result of one check: the problem it looks for, the rows checked, the violations found,
    and a few examples (ids and figures, never names)."""

    looks_for: str
    rows: int
    found: int
    examples: tuple[str, ...]
    seconds: float


class Books(Protocol):
    def checked(self, grace_seconds: int) -> Iterator[Checked]:
        """Run all checks on one snapshot, so that the database may be in full use meanwhile. An
        unexpired hold is an orphan `grace_seconds` after its end. May raise StoreError midway."""
        ...
