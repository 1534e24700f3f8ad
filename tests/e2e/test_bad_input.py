"""Bad input always gets a problem in our own words, and changes nothing."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from holdfast.entrypoints.api.routes import ROUTES
from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.databases import DatabaseFactory
from tests.support.platform import EMAIL_HEADER, Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

# Finding it in an answer or in the log means that part of the request was repeated.
MARKER = "zqx7marker"
NUL = "\x00"


@dataclass(frozen=True)
class Stall:
    """A small sale with one hold, which receives the bad requests."""

    platform: Platform
    sale: Sale
    hold_id: str

    def body(self, **changes: Any) -> Json:
        body = self.platform.hold_body(self.sale) | changes
        return {name: value for name, value in body.items() if value is not ...}

    def post(self, content: bytes | str, **headers: str) -> httpx.Response:
        return self.platform.client.post(
            "/api/holds", content=content, headers={"Content-Type": "application/json", **headers}
        )

    def place(self, **changes: Any) -> httpx.Response:
        """Place a hold with these fields changed; `...` leaves a field out."""
        return self.post(json.dumps(self.body(**changes)))

    def place_raw(self, field: str, raw: str) -> httpx.Response:
        """Place a hold with this raw text as the value of a field; it need not be JSON."""
        text = json.dumps(self.body(**{field: "@@"})).replace('"@@"', raw)
        return self.post(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Guarded:
    """A stall and a snapshot of its organization's rows."""

    stall: Stall
    rows: Counter[str]


@pytest.fixture(scope="module")
def server(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server of their own: in the shared log, other tests' tracebacks would count as theirs."""
    with RunningServer(databases.fresh(), tmp_path_factory.mktemp("bad-input") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def owner(server: RunningServer) -> Owner:
    return Owner(server.database_url)


@pytest.fixture(scope="module")
def guarded(server: RunningServer, owner: Owner) -> Guarded:
    """One stall for all these tests, since none of them may change anything."""
    platform = new_platform(server.base_url, server.database_url)
    sale = platform.on_sale(5)
    hold = platform.place(sale, 2)
    assert hold.status_code == 201
    rows = owner.everything(platform.organization_id)
    return Guarded(Stall(platform, sale, hold.json()["hold_id"]), rows)


@pytest.fixture
def stall(guarded: Guarded, owner: Owner, server: RunningServer) -> Iterator[Stall]:
    """Check afterwards that nothing changed and that the log repeats nothing of the request."""
    stall = guarded.stall
    log_start = server.log.stat().st_size
    yield stall
    assert owner.everything(stall.platform.organization_id) == guarded.rows
    assert stall.platform.available(stall.sale) == [3]
    with server.log.open("rb") as log:
        log.seek(log_start)
        logged = log.read().decode(errors="replace")
    assert MARKER not in logged
    assert "Traceback" not in logged


def refused(answer: httpx.Response, status: int = 400, error: str | None = None) -> Json:
    """The problem, after checking that it repeats nothing of the request."""
    assert answer.status_code == status, answer.text
    problem = problem_of(answer, status, error or answer.json()["error"])
    assert MARKER not in answer.text.lower()
    assert MARKER not in str(answer.headers).lower()
    for secret in ("traceback", "psycopg", "msgspec", "holdfast.", "select ", "127.0.0.1"):
        assert secret not in answer.text.lower()
    return problem


def test_a_body_that_is_too_large_is_refused(stall: Stall) -> None:
    large = json.dumps(stall.body(user_id=MARKER * 10_000))
    assert len(large) > 100_000
    refused(stall.post(large), 413, "body_too_large")


def test_a_body_of_unknown_length_that_is_too_large_is_refused(stall: Stall) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield MARKER.encode() * 102

    client = stall.platform.client
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/holds", content=chunks(), headers=headers)
    refused(answer, 413, "body_too_large")


@pytest.mark.parametrize("body", [b"zz\r\n", b"zz", b"5\r\nabcdefgh\r\n"])
@pytest.mark.parametrize(
    ("path", "kind"),
    [("/api/holds", "application/problem+json"), ("/admin/login/", "text/plain")],
)
def test_malformed_chunks_are_a_client_error(
    stall: Stall, server: RunningServer, path: str, kind: str, body: bytes
) -> None:
    credential = stall.platform.client.headers["authorization"]
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {credential}\r\n"
        "Content-Type: application/json\r\nConnection: close\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert f"content-type: {kind}".encode() in answer.lower()
    assert b"The request body is incomplete" in answer


def test_a_chunked_body_is_read_like_any_other(platform: Platform) -> None:
    sale = platform.on_sale(5)
    text = json.dumps(platform.hold_body(sale)).encode()
    pieces = (text[at : at + 7] for at in range(0, len(text), 7))
    headers = {"Content-Type": "application/json"}
    assert platform.client.post("/api/holds", content=pieces, headers=headers).status_code == 201


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", MARKER],
)
def test_a_body_with_another_content_type_is_refused(stall: Stall, content_type: str) -> None:
    text = json.dumps(stall.body())
    refused(stall.post(text, **{"Content-Type": content_type}), 415, "unsupported_media_type")


def test_a_body_without_a_content_type_is_refused(stall: Stall) -> None:
    client = stall.platform.client
    answer = client.post("/api/holds", content=json.dumps(stall.body()).encode())
    refused(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"session_id": ' + MARKER.encode() + b"}",
        b"{'session_id': 1}",
        b'{"quantity": 1,}',
        b'{"quantity": 01}',
        b'{"quantity": NaN}',
        b'{"quantity": Infinity}',
        b'{"quantity": 1} {"quantity": 2}',
        b"\xff\xfe{\x00}\x00",
        b'{"customer_email": "\xc3\x28"}',
        b'\xef\xbb\xbf{"quantity": 1}',
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 60_000,
    ],
    ids=lambda content: repr(content[:24]),
)
def test_invalid_json_is_refused(stall: Stall, content: bytes) -> None:
    refused(stall.post(content), 400, "malformed_json")


@pytest.mark.parametrize(
    "content", [b"null", b"[]", b"1", b'"' + MARKER.encode() + b'"', b"true", b"[[[[1]]]]"]
)
def test_json_other_than_an_object_is_refused(stall: Stall, content: bytes) -> None:
    problem = refused(stall.post(content), 400, "validation_error")
    assert problem["errors"] == [
        {"field": "body", "code": "invalid_type", "message": "Must be an object"}
    ]


def test_deep_nesting_in_a_field_is_refused(stall: Stall) -> None:
    for depth in (50, 500, 5000):
        answer = stall.place_raw("lines", "[" * depth + "]" * depth)
        assert refused(answer)["error"] in {"validation_error", "malformed_json"}


@pytest.mark.parametrize("field", ["customer_email", "user_id", "session_id"])
@pytest.mark.parametrize(
    "character", [r"\u0000", r"\u0007", r"\n", r"\t", r"\u001b", r"\u007f", r"\u0085", "\x7f"]
)
def test_control_characters_are_refused(stall: Stall, field: str, character: str) -> None:
    answer = stall.place_raw(field, f'"{MARKER}{character}@example.com"')
    refused(answer, 400, "invalid_characters")


@pytest.mark.parametrize("character", [NUL, "\n", "\x1b"])
def test_raw_control_characters_are_refused(stall: Stall, character: str) -> None:
    answer = stall.place_raw("user_id", f'"{MARKER}{character}"')
    assert refused(answer)["error"] in {"invalid_characters", "malformed_json"}


@pytest.mark.parametrize(
    "raw", [r'"\ud800"', r'"\udfff\ud800"', r'"x\ud83d"', '"\ud800"', r'"\uD83D\u0041"']
)
@pytest.mark.parametrize("field", ["customer_email", "user_id"])
def test_lone_surrogates_are_refused(stall: Stall, field: str, raw: str) -> None:
    refused(stall.place_raw(field, raw))


@pytest.mark.parametrize(
    "raw",
    [
        "0",
        "-1",
        "10001",
        "2147483648",
        "9223372036854775808",
        "-9223372036854775809",
        "1" + "0" * 30,
        "1" + "0" * 5000,
        "1.5",
        "1e400",
        "-0.0",
        "true",
        "false",
        '"1"',
        f'"{MARKER}"',
        "[1]",
        '{"quantity": 1}',
    ],
    ids=lambda raw: raw[:24],
)
def test_a_quantity_must_be_an_integer_in_range(stall: Stall, raw: str) -> None:
    problem = refused(stall.place_raw("quantity", raw))
    assert problem["error"] in {"invalid_quantity", "validation_error"}


@pytest.mark.parametrize("raw", ["-1", "1000000000001", "1.5", "true", '"100"', "1" + "0" * 400])
def test_a_price_must_be_an_integer_in_range(stall: Stall, raw: str) -> None:
    problem = refused(stall.place_raw("unit_price", raw))
    assert problem["error"] in {"invalid_price", "validation_error"}


@pytest.mark.parametrize("quantity", [0, -3, 1.0, True, "2"])
def test_the_quantity_of_a_line_is_checked_too(stall: Stall, quantity: object) -> None:
    line = {"ticket_type_id": stall.sale.ticket_type_id, "quantity": quantity}
    good = {"ticket_type_id": stall.sale.ticket_type_id, "quantity": 1}
    answer = stall.place(ticket_type_id=..., quantity=..., lines=[good, line])
    problem = refused(answer, 400, "invalid_quantity")
    assert problem["errors"][0]["field"] == "lines[1].quantity"


def test_a_missing_or_null_quantity_in_a_line_is_reported_as_required(stall: Stall) -> None:
    line = {"ticket_type_id": stall.sale.ticket_type_id}
    for wrong in (line, line | {"quantity": None}):
        answer = stall.place(ticket_type_id=..., quantity=..., lines=[wrong])
        (error,) = refused(answer, 400, "validation_error")["errors"]
        assert (error["field"], error["code"]) == ("lines[0].quantity", "required")


@pytest.mark.parametrize(
    "email",
    [
        "",
        MARKER,
        f"{MARKER}@",
        f"@{MARKER}.com",
        f"{MARKER}@localhost",
        f"{MARKER}@example.com ",
        f" {MARKER}@example.com",
        f"{MARKER}@exa mple.com",
        f"{MARKER}@example.com,b@example.com",
        f"<{MARKER}@example.com>",
        f"{MARKER}@-example.com",
        f"{MARKER}@example.com.",
        f".{MARKER}@example.com",
        f"{MARKER}..x@example.com",
        f"{MARKER}@ex\u00e4mple.com",
        f"{MARKER}\u200b@example.com",
        f"{MARKER}{'x' * 64}@example.com",
        f"{MARKER}@{'x' * 250}.com",
        17,
        ["a@example.com"],
        {"a": MARKER},
    ],
)
def test_a_malformed_email_address_is_refused(stall: Stall, email: object) -> None:
    problem = refused(stall.place(customer_email=email), 400, "invalid_email")
    assert problem["message"] == "Invalid email format"


@pytest.mark.parametrize(
    "user_id", ["", " ", " u1", "u1 ", "\u3000\u00a0", "x" * 256, 17, "a\u2028b", "\u200e" + MARKER]
)
def test_a_user_id_must_be_printable_text(stall: Stall, user_id: object) -> None:
    refused(stall.place(user_id=user_id), 400, "invalid_user_id")


@pytest.mark.parametrize(
    "value",
    [
        MARKER,
        "",
        "00000000-0000-0000-0000-00000000000g",
        "0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2",
        "{0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d}",
        "urn:uuid:0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d",
        17,
        True,
        [],
        {},
    ],
)
@pytest.mark.parametrize("field", ["session_id", "ticket_type_id", "hold_id"])
def test_an_id_in_a_body_must_be_a_uuid(stall: Stall, field: str, value: object) -> None:
    problem = refused(stall.place(**{field: value}), 400, "validation_error")
    (error,) = problem["errors"]
    assert (error["field"], error["message"]) == (field, "Must be a UUID")


@pytest.mark.parametrize(
    "path_id", [MARKER, "1", "null", "%00", "..%2f..", "%ff%fe", "' OR 1=1", "x" * 3000]
)
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/api/holds/{}", "hold_not_found"),
        ("/api/sessions/{}/availability", "session_not_found"),
        ("/api/events/{}", "event_not_found"),
        ("/api/pools/{}", "pool_not_found"),
        ("/api/ticket-types/{}", "ticket_type_not_found"),
    ],
)
def test_a_malformed_id_in_a_path_is_not_found(
    stall: Stall, path: str, error: str, path_id: str
) -> None:
    problem = refused(stall.platform.client.get(path.format(path_id)), 404)
    # A slash written as %2f makes it a different path.
    assert problem["error"] in {error, "not_found"}


def test_unknown_fields_are_refused_and_not_repeated(stall: Stall) -> None:
    problem = refused(stall.place(**{MARKER: MARKER}), 400, "validation_error")
    (error,) = problem["errors"]
    assert (error["field"], error["code"]) == ("body", "unknown_field")
    line = {"ticket_type_id": stall.sale.ticket_type_id, "quantity": 1, MARKER: 1}
    problem = refused(stall.place(ticket_type_id=..., quantity=..., lines=[line]))
    assert problem["errors"][0]["field"] == "lines[0]"


@pytest.mark.parametrize("field", ["organization_id", "status", "expires_at", "ttl_seconds"])
def test_clients_cannot_set_server_controlled_fields(stall: Stall, field: str) -> None:
    refused(stall.place(**{field: "active"}), 400, "validation_error")


@pytest.mark.parametrize("field", ["session_id", "ticket_type_id", "quantity"])
def test_missing_fields_are_named(stall: Stall, field: str) -> None:
    problem = refused(stall.place(**{field: ...}), 400, "validation_error")
    assert problem["errors"] == [
        {"field": field, "code": "required", "message": "This field is required"}
    ]


def test_all_errors_are_reported_at_once(stall: Stall) -> None:
    answer = stall.place(session_id=MARKER, quantity=0, customer_email=17)
    problem = refused(answer, 400, "validation_error")
    assert {error["field"] for error in problem["errors"]} == {
        "session_id",
        "quantity",
        "customer_email",
    }


def test_lines_cannot_be_combined_with_a_single_ticket_type(stall: Stall) -> None:
    line = {"ticket_type_id": stall.sale.ticket_type_id, "quantity": 1}
    refused(stall.place(lines=[line]), 400, "validation_error")
    refused(stall.place(ticket_type_id=..., quantity=..., lines=[]), 400, "validation_error")
    refused(stall.place(ticket_type_id=..., quantity=..., lines={}), 400, "validation_error")


def test_foreign_ids_hold_nothing(stall: Stall, neighbour: Platform, owner: Owner) -> None:
    other = neighbour.on_sale(5)
    before = owner.everything(neighbour.organization_id)
    refused(stall.place(session_id=other.session_id), 400, "invalid_session")
    refused(stall.place(ticket_type_id=other.ticket_type_id), 400, "invalid_ticket_type")
    both = stall.place(session_id=other.session_id, ticket_type_id=other.ticket_type_id)
    refused(both, 400, "invalid_session")
    assert owner.everything(neighbour.organization_id) == before


@pytest.mark.parametrize("key", ["", "x" * 256, "with space", "tab\there", "sm\u00f6rg\u00e5s"])
def test_an_idempotency_key_must_be_visible_ascii(stall: Stall, key: str) -> None:
    headers = {b"Idempotency-Key": key.encode(), b"Content-Type": b"application/json"}
    answer = stall.platform.client.post(
        "/api/holds", content=json.dumps(stall.body()).encode(), headers=headers
    )
    refused(answer, 400, "invalid_idempotency_key")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=1.5",
        "limit=ten",
        "limit=",
        f"limit={'9' * 400}",
        "limit=10&limit=20",
        f"session_id={MARKER}",
        "session_id=",
        "status=held",
        "status=ACTIVE",
        f"status={MARKER}",
        f"customer_email={MARKER}",
        "customer_email=",
        f"{MARKER}=1",
        "organization_id=1",
        f"customer_email={MARKER}%00@example.com",
        f"customer_email={MARKER}%0a@example.com",
        f"customer_email={MARKER}%ff@example.com",
        f"customer_email={MARKER}%ed%a0%80@example.com",
        f"x={MARKER * 500}",
        f"customer_email={MARKER}@example.com&customer_email=b@example.com",
    ],
    ids=lambda query: query[:40],
)
def test_a_query_is_validated_like_a_body(stall: Stall, query: str) -> None:
    refused(stall.platform.client.get(f"/api/holds?{query}"))


@pytest.mark.parametrize(
    "addresses",
    [
        [b""],
        [MARKER.encode()],
        [f"{MARKER}@example.com, b@example.com".encode()],
        [f"{MARKER}\xe9@example.com".encode()],
        [f"{MARKER}\xe9@example.com".encode("latin-1")],
        [f"{MARKER}@example.com".encode(), b"b@example.com"],
        [f"{MARKER}@example.com".encode()] * 2,
        [b"", f"{MARKER}@example.com".encode()],
    ],
    ids=lambda addresses: repr(addresses)[:60],
)
def test_an_address_in_the_header_is_validated(stall: Stall, addresses: list[bytes]) -> None:
    headers = [(EMAIL_HEADER.encode(), each) for each in addresses]
    refused(stall.platform.client.get("/api/holds", headers=headers), 400, "invalid_email")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        MARKER,
        "A" * 31,
        "A" * 33,
        "A" * 31 + "=",
        "A" * 31 + "!",
        f"{MARKER:*<32}",
        "////////////////////////////////",
        "f" + "_" * 31,
    ],
)
@pytest.mark.parametrize("path", ["/api/holds", "/api/events", "/api/pools"])
def test_a_malformed_cursor_is_refused(stall: Stall, path: str, cursor: str) -> None:
    answer = stall.platform.client.get(path, params={"cursor": cursor})
    refused(answer, 400, "invalid_cursor")


def test_a_query_on_a_request_with_a_body_is_refused(stall: Stall) -> None:
    client = stall.platform.client
    answer = client.post(f"/api/holds?{MARKER}=1", json=stall.body())
    refused(answer, 400, "validation_error")
    refused(client.get(f"/api/holds/{stall.hold_id}?{MARKER}=1"), 400, "validation_error")


def methods_by_path() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for route in ROUTES:
        found.setdefault(route.path, set()).add(route.method)
        if route.method == "GET":
            found[route.path].add("HEAD")
    return found | {"/api/docs": {"GET", "HEAD"}, "/api/schema": {"GET", "HEAD"}}


@pytest.mark.parametrize(("path", "allowed"), methods_by_path().items())
def test_a_wrong_method_gets_the_allowed_ones(stall: Stall, path: str, allowed: set[str]) -> None:
    address = "/".join(str(uuid4()) if "{" in part else part for part in path.split("/"))
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - allowed:
        answer = stall.platform.client.request(method, address, json={"name": MARKER})
        refused(answer, 405, "method_not_allowed")
        assert set(answer.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        f"/api/{MARKER}",
        "/api/holds/",
        "/api//holds",
        "/api/HOLDS",
        "/api/holds/{hold_id}/",
        "/api/holds/{hold_id}/convert",
        "/api/holds/{hold_id}/release/again",
        "/api/docs/assets/%2e%2e/%2e%2e/settings.py",
        "/api/docs/assets/..%2f..%2fsettings.py",
    ],
)
def test_an_unknown_path_gets_a_problem(stall: Stall, path: str) -> None:
    client = stall.platform.client
    for method in ("GET", "POST"):
        answer = client.request(method, path.format(hold_id=stall.hold_id))
        refused(answer, 404, "not_found")


def test_bad_requests_leave_the_connection_usable(stall: Stall) -> None:
    """One connection, many bad requests, then a good one."""
    bad: list[Callable[[], httpx.Response]] = [
        lambda: stall.post(b"{"),
        lambda: stall.place(quantity=0),
        lambda: stall.platform.client.get("/api/holds?limit=0"),
    ]
    for _ in range(5):
        for request in bad:
            refused(request())
    assert stall.platform.client.get(f"/api/holds/{stall.hold_id}").status_code == 200
