"""Pages by cursor, stable while rows are added."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

PAGE_SIZE_DEFAULT = 20
PAGE_SIZE_MAX = 100

T = TypeVar("T")


class Cursor(NamedTuple):
    """The last row that the caller has seen: the time that the list is in the order of, and which
    of those with the same time."""

    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class PageRequest:
    size: int = PAGE_SIZE_DEFAULT
    after: Cursor | None = None

    def __post_init__(self) -> None:
        assert 1 <= self.size <= PAGE_SIZE_MAX


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`next` is set when there is more."""

    items: tuple[T, ...]
    next: Cursor | None
