"""Whether what we stand on is there."""

from typing import Protocol


class Dependency(Protocol):
    """`is_required`: without it Holdfast is not ready; with a mere hint missing, it is."""

    @property
    def name(self) -> str: ...

    @property
    def is_required(self) -> bool: ...

    def problem(self) -> str | None:
        """One short sentence without secrets or host names, or None when all is well. Bounded."""
        ...
