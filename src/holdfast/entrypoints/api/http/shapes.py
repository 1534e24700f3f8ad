"""The base types of requests, answers and pages."""

from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType

from holdfast.domain.values import Metadata, metadata_of
from holdfast.entrypoints.api.http.fields import CreatedBefore, CreatedFrom, CursorText, Limit
from holdfast.ports.paging import PAGE_SIZE_DEFAULT

T = TypeVar("T")


class RequestShape(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Null is the same as an omitted field, except in changes."""


class NoFields(RequestShape, frozen=True):
    """A request without fields."""


class CsvText(Struct, frozen=True):
    """A CSV body. It is parsed on a thread, because that may take a while."""

    content: bytes


class PageQuery(RequestShape, frozen=True):
    limit: Limit = PAGE_SIZE_DEFAULT
    cursor: CursorText | UnsetType = UNSET


class CreatedQuery(PageQuery, frozen=True):
    created_from: CreatedFrom | UnsetType = UNSET
    created_before: CreatedBefore | UnsetType = UNSET


class AnswerShape(Struct, frozen=True, gc=False):
    """Fields without a value are omitted: no answer contains null."""


class PageAnswer(AnswerShape, Generic[T], frozen=True):
    """Newest first. The last page has no `next_cursor`."""

    data: list[T]
    has_more: bool
    next_cursor: str | UnsetType = UNSET


def filters_of(query: PageQuery) -> dict[str, Any]:
    """The filters that are set, by name."""
    asked = {name: getattr(query, name) for name in query.__struct_fields__}
    return {
        name: value
        for name, value in asked.items()
        if name not in PageQuery.__struct_fields__ and value is not UNSET
    }


def given_or_none(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value


def or_unset(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value


def given_metadata(texts: dict[str, str] | UnsetType | None) -> Metadata | None:
    return None if texts is None or isinstance(texts, UnsetType) else metadata_of(texts)


def metadata_or_unset(metadata: Metadata) -> dict[str, str] | UnsetType:
    return metadata.texts if metadata else UNSET


def utc(moment: datetime) -> datetime:
    """In UTC, which is written as Z."""
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def utc_or_unset(moment: datetime | None) -> datetime | UnsetType:
    return UNSET if moment is None else utc(moment)
