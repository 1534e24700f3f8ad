"""Cursors as clients see them: opaque text that is sent back unchanged."""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec import UnsetType

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import CURSOR_MESSAGE
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid
from holdfast.entrypoints.api.http.shapes import PageQuery, given_or_none
from holdfast.ports.audit.reader import AuditPosition
from holdfast.ports.facts.log import Position
from holdfast.ports.paging import Cursor, PageRequest

_PAGE = struct.Struct(">q16s")  # microseconds since 1970, then the id
_FACT = struct.Struct(">qq")  # both numbers of a position
_AUDIT_ENTRY = struct.Struct(">qq")  # microseconds since 1970, then the number
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def cursor_text(cursor: Cursor) -> str:
    return _text(_PAGE, (cursor.at - _EPOCH) // _MICROSECOND, cursor.id.bytes)


def page_request(query: PageQuery) -> PageRequest:
    return page_after(query.limit, given_or_none(query.cursor))


def page_after(size: int, cursor: str | None) -> PageRequest:
    if cursor is None:
        return PageRequest(size)
    microseconds, id_bytes = _values(_PAGE, cursor)
    return PageRequest(size, Cursor(_moment(microseconds), UUID(bytes=id_bytes)))


def fact_cursor_text(position: Position) -> str:
    return _text(_FACT, *position)


def fact_position(query: PageQuery) -> Position | None:
    if isinstance(query.cursor, UnsetType):
        return None
    position = Position(*_values(_FACT, query.cursor))
    if min(position) < 0:
        raise _not_ours()
    return position


def audit_cursor_text(position: AuditPosition) -> str:
    return _text(_AUDIT_ENTRY, (position.at - _EPOCH) // _MICROSECOND, position.seq)


def audit_position(query: PageQuery) -> AuditPosition | None:
    if isinstance(query.cursor, UnsetType):
        return None
    microseconds, seq = _values(_AUDIT_ENTRY, query.cursor)
    return AuditPosition(_moment(microseconds), seq)


def _moment(microseconds: int) -> datetime:
    try:
        return _EPOCH + microseconds * _MICROSECOND
    except OverflowError:
        raise _not_ours() from None


def _text(layout: struct.Struct, *values: object) -> str:
    return urlsafe_b64encode(layout.pack(*values)).decode("ascii").rstrip("=")


def _values(layout: struct.Struct, text: str) -> tuple[Any, ...]:
    try:
        values = layout.unpack(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, struct.error):
        raise _not_ours() from None
    # Decoding ignores characters outside the alphabet, so compare.
    if _text(layout, *values) != text:
        raise _not_ours()
    return values


def _not_ours() -> Problem:
    return invalid([FieldError("cursor", ProblemCode.INVALID_CURSOR.value, CURSOR_MESSAGE)])
