"""Rows on their way into a statement: one array for each column."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from struct import Struct
from typing import Any
from uuid import UUID

import msgspec

from holdfast.adapters.postgres.connections.pipeline import BinaryArray
from holdfast.domain.values import Metadata

Row = tuple[Any, ...]

# Encodes values without a JSON type as text, which PostgreSQL can read.
_array_encoder = msgspec.json.Encoder(enc_hook=str)
_KEY = frozenset({"organization_id", "id"})


class ColumnList:
    """The columns of the rows that a statement writes, each with its type, in the order of their
    values. `text::uuid[]` is sent as text and stored as an array: arrays of arrays would have to be
    rectangular."""

    def __init__(self, columns: str) -> None:
        self._types = dict(column.split() for column in columns.split(","))

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __str__(self) -> str:
        return ", ".join(self)

    def of(self, table: str) -> str:
        return ", ".join(f"{table}.{name}" for name in self)

    @property
    def stored(self) -> str:
        """With the casts from what is sent to what is stored."""
        sent_as = ((name, *type_.partition("::")) for name, type_ in self._types.items())
        return ", ".join(f"{name}{cast}{stored}" for name, _, cast, stored in sent_as)

    def unnested(self, table: str) -> str:
        types = (type_.partition("::") for type_ in self._types.values())
        arrays = ", ".join(f"%s::{sent}[]" for sent, _, _ in types)
        return f"unnest({arrays}) AS {table} ({self})"

    def set_from(self, table: str) -> str:
        return ", ".join(f"{name} = {table}.{name}" for name in self if name not in _KEY)

    def set_unless_null(self, table: str, updated: str) -> str:
        return ", ".join(f"{name} = coalesce({table}.{name}, {updated}.{name})" for name in self)


class Json(bytes):
    """The value of a column that is sent as text and stored as JSON."""

    __slots__ = ()


def columns(rows: Iterable[Sequence[Any]]) -> list[str]:
    """One array per column, for unnest. There must be at least one row."""
    return [array(column) for column in zip(*rows, strict=True)]


def wire_columns(rows: Iterable[Sequence[Any]]) -> list[str | BinaryArray]:
    """As `columns`, for a pipeline: in binary where PostgreSQL reads that much faster."""
    return [wire_array(column) for column in zip(*rows, strict=True)]


# Of PostgreSQL's types.
_TYPE_NUMBERS = {bytes: 17, Json: 25, datetime: 1184, UUID: 2950}
# One dimension, may have NULLs, type, length, number of the first element.
_HEADER = Struct("!iiIii")
# An element is its length and its value.
_NULL = b"\xff\xff\xff\xff"
_ID_LENGTH = b"\0\0\0\x10"
_length = Struct("!i").pack
_moment = Struct("!iq").pack
_POSTGRES_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def wire_array(values: Sequence[Any]) -> str | BinaryArray:
    """Written without smaller functions: a group of one hold calls it about seventy times."""
    kind: type = str
    for value in values:
        if value is not None:
            kind = type(value)
            break
    if kind is UUID:
        elements = [_NULL if v is None else _ID_LENGTH + v.int.to_bytes(16, "big") for v in values]
    elif kind is datetime:
        elements = [_NULL if v is None else _binary_moment(v) for v in values]
    elif kind is bytes or kind is Json:
        elements = [_NULL if v is None else _length(len(v)) + v for v in values]
    else:
        text = _array_encoder.encode(values).decode()
        return _quoted_array(values) if "\\" in text else "{" + text[1:-1] + "}"
    header = _HEADER.pack(1, 1, _TYPE_NUMBERS[kind], len(values), 1)
    return BinaryArray(header + b"".join(elements))


@lru_cache(maxsize=1024)  # the rows of a group share most of them
def _binary_moment(moment: datetime) -> bytes:
    return _moment(8, (moment - _POSTGRES_EPOCH) // _MICROSECOND)


def array(values: Sequence[Any]) -> str:
    """A PostgreSQL array literal, for any connection. The driver converts one value at a time in
    Python, which took a third of a group's time. JSON is encoded in one call, and differs only in
    brackets, escapes and bytes."""
    if any(isinstance(value, bytes) for value in values):
        return "{" + ",".join(["NULL" if v is None else _hexadecimal(v) for v in values]) + "}"
    text = _array_encoder.encode(values).decode()
    return _quoted_array(values) if "\\" in text else "{" + text[1:-1] + "}"


def _quoted_array(texts: Sequence[str | None]) -> str:
    return "{" + ",".join(["NULL" if text is None else _quoted(text) for text in texts]) + "}"


def ids_array(ids: Iterable[UUID]) -> str:
    """Without quotes: inside another array there is nothing to escape."""
    return "{" + ",".join([each.hex for each in ids]) + "}"


def metadata_json(metadata: Metadata) -> str:
    return _array_encoder.encode(metadata.texts).decode()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _hexadecimal(value: bytes) -> str:
    return f'"\\\\x{value.hex()}"'
