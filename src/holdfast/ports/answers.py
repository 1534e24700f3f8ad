"""Answers of stores that write outside the engine."""

from typing import Generic, TypeVar

from holdfast.domain.immutable import immutable

T = TypeVar("T")


@immutable
class StoredAnswer(Generic[T]):
    """`body` is the rendered answer, stored for the idempotency key. A replay has no outcome."""

    outcome: T | None
    body: bytes | None = None
    is_replay: bool = False
