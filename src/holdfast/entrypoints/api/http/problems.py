"""Problems (RFC 9457), with `error` and `message` for clients of the hold API. They never repeat
what the caller sent: field paths consist of known names and of indexes."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.refusals import service_unavailable
from holdfast.domain.values import JsonValue
from holdfast.entrypoints.api.http.codes import KINDS, RETRY_SOON, Code, ProblemCode
from holdfast.entrypoints.api.http.exchange import PROBLEM_JSON, Reply

_RETRY_SOON_HEADERS = ((b"retry-after", b"1"),)
_NO_DETAILS: Mapping[str, JsonValue] = {}

_encode = msgspec.json.Encoder().encode

Headers = tuple[tuple[bytes, bytes], ...]


class FieldError(msgspec.Struct, frozen=True):
    """An invalid field."""

    field: Annotated[
        str,
        Meta(description="Path such as `lines[2].quantity`, or `body` or `query`."),
    ]
    code: Annotated[str, Meta(description="Error code.")]
    message: Annotated[str, Meta(description="Explanation for people.")]


class Problem(Exception):
    """The request cannot be served. Becomes a reply in one place."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: Headers = (),
    ) -> None:
        super().__init__(code.value)
        self.code = code
        self.message = message
        self.errors = errors
        self.headers = headers

    def reply(self, request_id: str) -> Reply:
        return _reply(self.code, self.message, request_id, errors=self.errors, headers=self.headers)


def invalid(errors: Sequence[FieldError]) -> Problem:
    """A single error with its own problem code uses that code; otherwise `validation_error` with
    all errors."""
    if len(errors) == 1:
        only = errors[0]
        if only.code in KINDS:
            return Problem(ProblemCode(only.code), only.message, errors=errors)
        return Problem(ProblemCode.VALIDATION_ERROR, f"{only.field}: {only.message}", errors=errors)
    return Problem(ProblemCode.VALIDATION_ERROR, "Several fields are invalid", errors=errors)


def unavailable() -> Problem:
    return Problem(RefusalCode.SERVICE_UNAVAILABLE, service_unavailable().message)


def refusal_reply(refusal: Refusal, request_id: str) -> Reply:
    return _reply(refusal.code, refusal.message, request_id, details=refusal.details)


def unexpected_reply(request_id: str) -> Reply:
    """The cause is only in the log, under the request id."""
    message = "Something went wrong on our side. Retry the request with the same Idempotency-Key."
    return _reply(RefusalCode.INTERNAL_ERROR, message, request_id)


def retry_headers(code: Code, details: Mapping[str, JsonValue] = _NO_DETAILS) -> Headers:
    seconds = details.get("retry_after_seconds")
    if seconds is not None:
        return ((b"retry-after", str(seconds).encode()),)
    return _RETRY_SOON_HEADERS if code in RETRY_SOON else ()


def problem_body(
    code: Code,
    message: str,
    request_id: str,
    details: Mapping[str, JsonValue] = _NO_DETAILS,
    errors: Sequence[FieldError] = (),
) -> dict[str, object]:
    kind = KINDS[code]
    body: dict[str, object] = {
        "type": f"urn:holdfast:problem:{code.value}",
        "title": kind.title,
        "status": kind.status,
        "detail": message,
        "error": code.value,
        "message": message,
        **details,
        "request_id": request_id,
    }
    if errors:
        body["errors"] = errors
    return body


def _reply(
    code: Code,
    message: str,
    request_id: str,
    *,
    details: Mapping[str, JsonValue] = _NO_DETAILS,
    errors: Sequence[FieldError] = (),
    headers: Headers = (),
) -> Reply:
    body = problem_body(code, message, request_id, details, errors)
    if all(name != b"retry-after" for name, _ in headers):
        headers = (*headers, *retry_headers(code, details))
    refusal = (code.value, _recorded(details, errors))
    return Reply(KINDS[code].status, _encode(body), PROBLEM_JSON, headers, refusal=refusal)


def _recorded(
    details: Mapping[str, JsonValue], errors: Sequence[FieldError]
) -> Mapping[str, JsonValue]:
    if not errors:
        return details
    listed: list[JsonValue] = [{"field": each.field, "code": each.code} for each in errors]
    return {**details, "errors": listed}
