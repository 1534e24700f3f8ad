"""Parses requests strictly, in this order: size, characters, syntax. Handlers check what fields
mean."""

import asyncio
import json
import re
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
from starlette.types import Receive

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.diagnosis import explain, typed
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.fields import HEADER_OF_FIELD
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid
from holdfast.entrypoints.api.http.shapes import NoFields

BODY_BYTES_MAX = 64 * 1024
BODY_SECONDS_MAX = 10.0
QUERY_BYTES_MAX = 4 * 1024
_JSON = b"application/json"
_CSV = b"text/csv"
_HEADERS = [(field, name, name.lower().encode()) for field, name in HEADER_OF_FIELD.items()]

S = TypeVar("S", bound=msgspec.Struct)

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)

# A control character, raw or escaped; `\\n` is an escaped backslash and an n.
_CONTROL = re.compile(
    r"[\x7f-\x9f]|(?<!\\)(?:\\\\)*\\(?:[bfnrt]|u00(?:[01][0-9a-f]|7f|[89][0-9a-f]))", re.IGNORECASE
)
_CHARSET = re.compile(rb";\s*charset\s*=\s*\"?([^\s\";]*)", re.IGNORECASE)
_CONTROL_DECODED = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# A float of any size stays a float.
_decode_anything = msgspec.json.Decoder(float_hook=float).decode


class ClientGone(Exception):
    """The request is incomplete: the client disconnected or sent invalid chunks. The server does
    not say which."""


class BodyParser(Generic[S]):
    """Create it once per route."""

    def __init__(self, struct: type[S]) -> None:
        self._struct = struct
        self._decode = msgspec.json.Decoder(struct).decode

    def parse(self, body: bytes) -> S:
        # Most bodies are plain ASCII without an escape.
        if not body.isascii() or b"\\" in body or b"\x7f" in body:
            _check_characters(body)
        try:
            request = self._decode(body)
        except msgspec.ValidationError:
            raise invalid(explain(self._struct, _decoded(body), "body")) from None
        except (ValueError, RecursionError):
            raise _malformed() from None
        # Decoders keep the last of two equal names, so two readers could see two requests. A cheap
        # check settles most bodies: with no more colons than names, none is repeated.
        if body.count(b":") > len(_decode_anything(body)):
            _refuse_repetitions(body)
        return request


def strict_json(body: bytes) -> object:
    """The value of a body of any structure, refused for the same reasons as a request."""
    _check_characters(body)
    value = _decoded(body)
    try:
        _refuse_repetitions(body)
    except RecursionError:
        raise _malformed() from None
    return value


def _decoded(body: bytes) -> object:
    try:
        return _decode_anything(body)
    except msgspec.ValidationError:
        raise invalid([FieldError("body", "invalid_value", "A number is too large")]) from None
    except (ValueError, RecursionError):
        raise _malformed() from None


class _Patience:
    """Limits the time to send a body. A timer per request would cost as much as reading it, so one
    check per second serves all."""

    def __init__(self) -> None:
        self._reading: dict[asyncio.Task[Any], float] = {}
        self._overdue: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> asyncio.Task[Any]:
        """The current task, which has to end reading in time or is cancelled."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        if self._loop is not loop:
            self._loop = loop
            self._reading.clear()
            loop.call_later(1, self._look)
        self._reading[task] = loop.time() + BODY_SECONDS_MAX
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        self._reading.pop(task, None)

    def has_cancelled(self, task: asyncio.Task[Any]) -> bool:
        """Whether the task was cancelled because of its time. It may go on then."""
        if task not in self._overdue:
            return False
        self._overdue.discard(task)
        task.uncancel()
        return True

    def _look(self) -> None:
        assert self._loop is not None
        now = self._loop.time()
        for task, until in list(self._reading.items()):
            if until <= now:
                self._overdue.add(task)
                task.cancel()
        self._loop.call_later(1, self._look)


_patience = _Patience()


async def read_body(call: Call, receive: Receive, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """Read the whole body. Refuse it as soon as it is too large or too late."""
    length = declared_length(call)
    if length is not None and length > bytes_max:
        raise body_too_large(bytes_max)
    parts: list[bytes] = []
    received = 0
    task = _patience.begin()
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            parts.append(message.get("body", b""))
            received += len(parts[-1])
            if received > bytes_max:
                raise body_too_large(bytes_max)
            # Once the declared length is here, don't ask again.
            if received == length or not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)
    except asyncio.CancelledError:
        if _patience.has_cancelled(task):
            raise _malformed() from None
        raise
    finally:
        _patience.end(task)


def declared_length(call: Call) -> int | None:
    declared = call.headers.get(b"content-length")
    if declared is None or not declared.isdigit():
        return None
    # Twenty digits are too large anyway, and Python limits the length of a number.
    return int(declared[:20])


def is_csv(call: Call, *, takes_csv: bool) -> bool:
    """Whether the body is CSV. Refuse media types that the route does not take."""
    content_type = call.headers.get(b"content-type", b"")
    media_type = content_type.partition(b";")[0].strip().lower()
    is_known = media_type == _JSON or (takes_csv and media_type == _CSV)
    if is_known and _is_utf8(content_type):
        return media_type == _CSV
    known = "application/json or text/csv" if takes_csv else "application/json"
    raise Problem(
        ProblemCode.UNSUPPORTED_MEDIA_TYPE, f"Send the body as Content-Type: {known}, in UTF-8"
    )


def _is_utf8(content_type: bytes) -> bool:
    charset = _CHARSET.search(content_type)
    return charset is None or charset[1].lower() in {b"utf-8", b"utf8"}


def path_id(text: str) -> UUID | None:
    """None for a malformed id, which is answered like an unknown one."""
    return UUID(text) if _UUID.fullmatch(text) else None


def parse_query(call: Call, struct: type[S]) -> S:
    """The query, and what is sent in headers as if it were a part of it."""
    values = _query_values(call.query_string)
    for field, name, header in _HEADERS:
        is_taken = field in struct.__struct_fields__
        if is_taken and field in values:
            raise _misplaced(field, f"Send it as the header {name}, not in the URL")
        value = call.headers.get(header)
        if value is not None:
            if not is_taken:
                message = f"Omit the header {name}: this call does not search for it"
                raise _misplaced(field, message)
            values[field] = value.decode("latin-1")
    return _converted(values, struct)


def refuse_query(query_string: bytes) -> None:
    """Refuse any parameter."""
    _converted(_query_values(query_string), NoFields)


def _misplaced(field: str, message: str) -> Problem:
    return invalid([FieldError(field, "invalid_value", message)])


def _converted(query: dict[str, str], struct: type[S]) -> S:
    values = typed(struct, query)
    try:
        return msgspec.convert(values, struct)
    except ValueError:
        raise invalid(explain(struct, values, "query")) from None


def _query_values(query_string: bytes) -> dict[str, str]:
    if len(query_string) > QUERY_BYTES_MAX:
        raise invalid([FieldError("query", "invalid_value", "The query is too long")])
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise Problem(ProblemCode.INVALID_CHARACTERS, "The query is not valid UTF-8") from None
    values = dict(pairs)
    if len(values) != len(pairs):
        raise invalid([FieldError("query", "duplicate", "A parameter may be given only once")])
    if any(_CONTROL_DECODED.search(text) for pair in pairs for text in pair):
        raise _control_characters()
    return values


def _refuse_repetitions(body: bytes) -> None:
    json.loads(body, object_pairs_hook=_refuse_repetition)


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise invalid([FieldError("body", "duplicate", "A field may be given only once")])


def _check_characters(body: bytes) -> None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Problem(ProblemCode.MALFORMED_JSON, "The body is not valid UTF-8") from None
    if _CONTROL.search(text):
        raise _control_characters()


def _control_characters() -> Problem:
    return Problem(ProblemCode.INVALID_CHARACTERS, "Control characters are not allowed")


def _malformed() -> Problem:
    return Problem(ProblemCode.MALFORMED_JSON, "The body is not valid JSON")


def body_cut_off() -> Problem:
    return Problem(ProblemCode.MALFORMED_JSON, "The request body is incomplete")


def body_too_large(bytes_max: int) -> Problem:
    return Problem(ProblemCode.BODY_TOO_LARGE, f"The body must not exceed {bytes_max} bytes")
