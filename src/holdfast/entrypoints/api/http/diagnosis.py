"""Explains why a request does not fit its type.

The decoder stops at the first problem and quotes the input. So after it fails, the request is
checked again field by field: this finds every problem, and messages depend on the types alone.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from itertools import islice
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from msgspec import Meta, UnsetType

from holdfast.entrypoints.api.http.problems import FieldError

ERRORS_MAX = 20


_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_TRUTHS = {"true": True, "false": False}


def explain(struct: type[msgspec.Struct], value: object, whole: str) -> list[FieldError]:
    """The errors of `value` as a `struct`. `whole` names the outermost level in paths."""
    return list(islice(_Diagnosis(whole).of_struct(struct, value, ""), ERRORS_MAX))


def typed(struct: type[msgspec.Struct], values: Mapping[str, str]) -> dict[str, object]:
    """Convert digits, true and false in a query to the types of their fields. The decoder's lenient
    mode would also take 1e2, and 0.5 for a time."""
    kinds = _kinds(struct)
    return {name: _read(text, kinds.get(name)) for name, text in values.items()}


def _read(text: str, kind: Any) -> object:
    if kind is int and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return _TRUTHS.get(text, text) if kind is bool else text


class _Expected(NamedTuple):
    """A type without its wrapping, its annotations, and whether null is allowed."""

    kind: Any
    notes: tuple[Meta, ...]
    is_nullable: bool

    def note(self, name: str) -> Any:
        """The innermost rule of that name."""
        return next((found for note in self.notes if (found := getattr(note, name))), None)


class _Diagnosis:
    def __init__(self, whole: str) -> None:
        self._whole = whole

    def of_struct(
        self, struct: type[msgspec.Struct], value: object, path: str
    ) -> Iterator[FieldError]:
        here = path or self._whole
        if not isinstance(value, Mapping):
            yield FieldError(here, "invalid_type", "Must be an object")
            return
        names = struct.__struct_encode_fields__
        if not value.keys() <= set(names):
            allowed = ", ".join(names) or "none"
            yield FieldError(here, "unknown_field", f"Contains an unknown field; known: {allowed}")
        hints = _hints(struct)
        for field in _fields(struct):
            name = field.encode_name
            field_path = f"{path}.{name}" if path else name
            if name in value:
                yield from self._of_value(hints[field.name], value[name], field_path)
            elif field.required:
                yield FieldError(field_path, "required", "This field is required")

    def _of_value(self, hint: Any, value: object, path: str) -> Iterator[FieldError]:
        expected = _unwrapped(_meant(hint, value))
        if value is None and expected.is_nullable:
            return
        if isinstance(value, Mapping) and _is_struct(expected.kind):
            yield from self.of_struct(expected.kind, value, path)
        elif isinstance(value, list) and _is_list_of_length(expected, len(value)):
            (entry_hint,) = get_args(expected.kind)
            for position, entry in enumerate(value):
                yield from self._of_value(entry_hint, entry, f"{path}[{position}]")
        elif not self._fits(expected, value):
            rule = expected.note("extra") or {}
            message = rule.get("message") or f"Must be {_described(expected)}"
            yield FieldError(path, rule.get("code", "invalid_value"), message)

    def _fits(self, expected: _Expected, value: object) -> bool:
        hint = Annotated[(expected.kind, *expected.notes)] if expected.notes else expected.kind
        try:
            msgspec.convert(value, hint)
        except ValueError:
            return False
        return True


@cache  # msgspec evaluates the annotations anew for each call
def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct)


@cache
def _hints(struct: type[msgspec.Struct]) -> Mapping[str, Any]:
    return get_type_hints(struct, include_extras=True)


@cache
def _kinds(struct: type[msgspec.Struct]) -> Mapping[str, Any]:
    hints = _hints(struct)
    return {field.encode_name: _unwrapped(hints[field.name]).kind for field in _fields(struct)}


def _unwrapped(hint: Any) -> _Expected:
    """Notes are ordered innermost first: the nearest to the type is the most specific."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        kind, inner_notes, is_nullable = _unwrapped(inner)
        return _Expected(kind, (*inner_notes, *notes), is_nullable)
    members = get_args(hint) if get_origin(hint) not in (list, dict) else ()
    if not members:
        # A NewType is for the type checker only.
        return _Expected(getattr(hint, "__supertype__", hint), (), False)
    (only,) = (member for member in members if member not in (NoneType, UnsetType))
    return _unwrapped(only)._replace(is_nullable=NoneType in members)


def _meant(hint: Any, value: object) -> Any:
    """Of a list and an object, the alternative that the value resembles."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    shapes = [member for member in members if member not in (NoneType, UnsetType)]
    if len(shapes) <= 1:
        return hint
    lists = [shape for shape in shapes if get_origin(_unwrapped(shape).kind) is list]
    others = [shape for shape in shapes if shape not in lists]
    (meant,) = others if isinstance(value, Mapping) else lists
    return meant


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_list_of_length(expected: _Expected, length: int) -> bool:
    if get_origin(expected.kind) is not list:
        return False
    return (expected.note("min_length") or 0) <= length <= (expected.note("max_length") or length)


def _described(expected: _Expected) -> str:
    kind = expected.kind
    if get_origin(kind) is list:
        shortest, longest = expected.note("min_length") or 0, expected.note("max_length")
        return f"a list of {shortest} to {longest} entries"
    if _is_struct(kind):
        return "an object"
    if issubclass(kind, Enum):
        return f"one of: {', '.join(str(member.value) for member in kind)}"
    if kind is bool:
        return "true or false"
    if kind is int:
        return f"a whole number from {expected.note('ge') or 0} to {expected.note('le')}"
    if kind is datetime:
        return "an ISO 8601 time with its offset from UTC"
    return "a UUID" if kind is UUID else "text"
