"""Health checks of dependencies."""

from typing import Protocol


class Dependency(Protocol):
    """Something Holdfast depends on. It is not ready without the required ones."""

    @property
    def name(self) -> str: ...

    @property
    def is_required(self) -> bool: ...

    def problem(self) -> str | None:
        """A short sentence without secrets or host names; None if all is well. Bounded in time."""
        ...
