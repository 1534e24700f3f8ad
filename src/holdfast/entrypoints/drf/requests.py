"""Django's requests as calls of the API."""

from collections.abc import Iterator, Sequence

from django.http import HttpRequest, HttpResponse

from holdfast.entrypoints.api.http.exchange import Call, Reply, body_for
from holdfast.entrypoints.drf.backends.backend import new_call

# The headers that are passed on. All others are between the browser and the project.
PASSED_ON = ("Idempotency-Key", "User-Agent", "X-Acting-User", "X-Customer-Email", "X-Ticket-Code")
_REQUEST_ID = "holdfast.request_id"


def call_of(
    request: HttpRequest, path_parts: Sequence[str], body: bytes | None, secret: str
) -> Call:
    address = request.META.get("REMOTE_ADDR")
    return new_call(
        request.method or "GET",
        path_parts,
        secret=secret,
        body=body,
        query_string=request.META.get("QUERY_STRING", "").encode("latin-1", "replace"),
        headers=list(_headers(request)),
        client=(address, 0) if address else None,
    )


def request_id_of(request: HttpRequest) -> str:
    """The caller's X-Request-ID if it is valid, or a new id. The same for the whole request."""
    if _REQUEST_ID not in request.META:
        sent = request.headers.get("X-Request-ID", "").encode("latin-1", "replace")
        call = Call("GET", "/", None, b"", [(b"x-request-id", sent)], client=None)
        request.META[_REQUEST_ID] = call.request_id
    return str(request.META[_REQUEST_ID])


def response_to(request: HttpRequest, reply: Reply) -> HttpResponse:
    response = HttpResponse(
        body_for(request.method or "GET", reply),
        status=reply.status,
        content_type=reply.content_type.decode("ascii"),
    )
    for name, value in (*reply.standing_headers, *reply.headers):
        response[name.decode("ascii").title()] = value.decode("latin-1")
    response["X-Request-Id"] = request_id_of(request)
    return response


def _headers(request: HttpRequest) -> Iterator[tuple[bytes, bytes]]:
    yield b"x-request-id", request_id_of(request).encode("ascii")
    for name in PASSED_ON:
        value = request.headers.get(name)
        if value is not None:
            yield name.lower().encode("ascii"), value.encode("latin-1", "replace")
