"""Cursor-based pages, stable while rows are added."""

from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from holdfast.domain.immutable import immutable

PAGE_SIZE_DEFAULT = 20
PAGE_SIZE_MAX = 100

T = TypeVar("T")


class Cursor(NamedTuple):
    """The last row the caller has seen: its time in the sort order, and its id to break ties."""

    at: datetime
    id: UUID


@immutable
class PageRequest:
    size: int = PAGE_SIZE_DEFAULT
    after: Cursor | None = None

    def __post_init__(self) -> None:
        assert 1 <= self.size <= PAGE_SIZE_MAX


@immutable
class Page(Generic[T]):
    """`next` is set if there is more."""

    items: tuple[T, ...]
    next: Cursor | None
