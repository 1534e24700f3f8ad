"""Cursors as clients see them: opaque text that is sent back unchanged."""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import UnsetType

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.structs import PageQuery
from holdfast.ports.paging import Cursor, PageRequest

# Microseconds since 1970, then the id. 24 bytes are 32 letters, without padding.
_LAYOUT = struct.Struct(">q16s")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def cursor_text(cursor: Cursor) -> str:
    microseconds = (cursor.at - _EPOCH) // _MICROSECOND
    return urlsafe_b64encode(_LAYOUT.pack(microseconds, cursor.id.bytes)).decode("ascii")


def page_request(query: PageQuery) -> PageRequest:
    after = None if isinstance(query.cursor, UnsetType) else _cursor(query.cursor)
    return PageRequest(query.limit, after)


def _cursor(text: str) -> Cursor:
    try:
        microseconds, id_bytes = _LAYOUT.unpack(urlsafe_b64decode(text))
        cursor = Cursor(_EPOCH + microseconds * _MICROSECOND, UUID(bytes=id_bytes))
    except (ValueError, OverflowError, struct.error):
        cursor = None
    # Decoding is lenient about letters outside of the alphabet; comparing is not.
    if cursor is None or cursor_text(cursor) != text:
        message = "Use next_cursor of the page before, unchanged"
        raise invalid([FieldError("cursor", ProblemCode.INVALID_CURSOR.value, message)])
    return cursor
