"""Every kind of bad request: its status, code and field, and the input never echoed."""

import json
from typing import Any, NamedTuple

import pytest

from holdfast.domain.catalog.changes import ImportSeats
from holdfast.entrypoints.api.catalog.routes import IMPORT_BYTES_MAX
from holdfast.entrypoints.api.http.parsing import BODY_BYTES_MAX
from tests.api.world import FLOOR, SESSION, World, hold_body

# Part of every input that could be echoed; no answer may contain it.
MARK = "zzqx"
JSON = {"Content-Type": "application/json"}
LINE = {"ticket_type_id": str(FLOOR), "quantity": 1}
LINES_ONLY: dict[str, Any] = {"ticket_type_id": None, "quantity": None}


class Bad(NamedTuple):
    """A change to a valid hold request, and the error it causes."""

    name: str
    change: dict[str, Any]
    error: str
    field: str | None
    code: str | None = None


BAD_HOLDS = [
    Bad("no session", {"session_id": None}, "validation_error", "session_id", "required"),
    Bad("session not a UUID", {"session_id": MARK}, "validation_error", "session_id"),
    Bad("session a number", {"session_id": 7}, "validation_error", "session_id"),
    Bad("type not a UUID", {"ticket_type_id": MARK}, "validation_error", "ticket_type_id"),
    Bad("hold id not a UUID", {"hold_id": MARK}, "validation_error", "hold_id"),
    Bad("no type", {"ticket_type_id": None}, "validation_error", "ticket_type_id", "required"),
    Bad("no quantity", {"quantity": None}, "validation_error", "quantity", "required"),
    Bad("none", {"quantity": 0}, "invalid_quantity", "quantity"),
    Bad("less than none", {"quantity": -1}, "invalid_quantity", "quantity"),
    Bad("too many", {"quantity": 10_001}, "invalid_quantity", "quantity"),
    Bad("half a ticket", {"quantity": 1.5}, "invalid_quantity", "quantity"),
    Bad("a whole float", {"quantity": 2.0}, "invalid_quantity", "quantity"),
    Bad("true", {"quantity": True}, "invalid_quantity", "quantity"),
    Bad("text", {"quantity": f"2{MARK}"}, "invalid_quantity", "quantity"),
    Bad("beyond 64 bits", {"quantity": 2**70}, "invalid_quantity", "quantity"),
    Bad("no domain", {"customer_email": MARK}, "invalid_email", "customer_email"),
    Bad("two at signs", {"customer_email": f"a@{MARK}@b.de"}, "invalid_email", "customer_email"),
    Bad("too long", {"customer_email": f"{MARK * 80}@b.de"}, "invalid_email", "customer_email"),
    Bad("empty", {"customer_email": ""}, "invalid_email", "customer_email"),
    Bad("not text", {"customer_email": [MARK]}, "invalid_email", "customer_email"),
    Bad("no holder", {"customer_email": None}, "holder_required", "customer_email"),
    Bad("empty user", {"user_id": ""}, "invalid_user_id", "user_id"),
    Bad("long user", {"user_id": MARK * 64}, "invalid_user_id", "user_id"),
    Bad("unprintable user", {"user_id": f"{MARK}\u202e"}, "invalid_user_id", "user_id"),
    Bad("negative price", {"unit_price": -1}, "invalid_price", "unit_price"),
    Bad("huge price", {"unit_price": 10**12 + 1}, "invalid_price", "unit_price"),
    Bad("both forms", {"lines": [LINE]}, "validation_error", "lines", "conflicting_fields"),
    Bad("no lines", {**LINES_ONLY, "lines": []}, "validation_error", "lines"),
    Bad("too many lines", {**LINES_ONLY, "lines": [LINE] * 51}, "validation_error", "lines"),
    Bad("lines an object", {**LINES_ONLY, "lines": LINE}, "validation_error", "lines"),
    Bad(
        "second line",
        {**LINES_ONLY, "lines": [LINE, {**LINE, "quantity": 0}]},
        "invalid_quantity",
        "lines[1].quantity",
    ),
    Bad(
        "unknown field in a line",
        {**LINES_ONLY, "lines": [{**LINE, MARK: 1}]},
        "validation_error",
        "lines[0]",
        "unknown_field",
    ),
    Bad("line not an object", {**LINES_ONLY, "lines": [MARK]}, "validation_error", "lines[0]"),
    Bad("unknown field", {MARK: MARK}, "validation_error", "body", "unknown_field"),
]


@pytest.mark.parametrize("bad", BAD_HOLDS, ids=lambda bad: bad.name)
def test_a_bad_hold_is_refused_with_its_field(world: World, bad: Bad) -> None:
    answer = world.place(**bad.change)
    problem = answer.json()
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["error"] == bad.error
    (error,) = problem["errors"]
    assert error["field"] == bad.field
    expected = bad.code or (bad.error if bad.error != "validation_error" else "invalid_value")
    assert error["code"] == expected
    assert MARK not in answer.text


def test_an_invalid_email_gets_the_specified_message(world: World) -> None:
    problem = world.place(customer_email="nobody").json()
    assert (problem["error"], problem["message"]) == ("invalid_email", "Invalid email format")


def test_all_errors_are_reported(world: World) -> None:
    problem = world.place(session_id=MARK, quantity=0, customer_email=7).json()
    assert problem["error"] == "validation_error"
    fields = [error["field"] for error in problem["errors"]]
    assert fields == ["session_id", "quantity", "customer_email"]


def test_values_are_checked_only_when_the_types_are_right(world: World) -> None:
    problem = world.place(session_id=MARK, customer_email="nobody").json()
    assert [error["field"] for error in problem["errors"]] == ["session_id"]


RAW_BODIES = [
    ("empty", b"", "malformed_json"),
    ("cut off", b'{"session_id": "', "malformed_json"),
    ("not JSON", MARK.encode(), "malformed_json"),
    ("two values", b"{} {}", "malformed_json"),
    ("NaN", b'{"quantity": NaN}', "malformed_json"),
    ("byte order mark", b"\xef\xbb\xbf{}", "malformed_json"),
    ("invalid UTF-8", b'{"user_id": "' + MARK.encode() + b'\xff"}', "malformed_json"),
    ("surrogate in UTF-8", b'{"user_id": "\xed\xa0\x80"}', "malformed_json"),
    ("lone high surrogate", rb'{"user_id": "zzqx\ud800"}', "malformed_json"),
    ("lone low surrogate", rb'{"user_id": "\udc00zzqx"}', "malformed_json"),
    ("escaped NUL", rb'{"user_id": "zzqx\u0000"}', "invalid_characters"),
    ("escaped newline", rb'{"user_id": "zzqx\n"}', "invalid_characters"),
    ("newline after a backslash", rb'{"user_id": "zzqx\\\n"}', "invalid_characters"),
    ("escaped control", rb'{"user_id": "zzqx\u001B"}', "invalid_characters"),
    ("escaped C1 control", rb'{"user_id": "zzqx\u0085"}', "invalid_characters"),
    ("raw DEL", b'{"user_id": "zzqx\x7f"}', "invalid_characters"),
    ("raw C1 control", '{"user_id": "zzqx\x85"}'.encode(), "invalid_characters"),
    ("raw NUL", b'{"user_id": "zzqx\x00"}', "malformed_json"),
    ("control in a name", rb'{"zzqx\u0000": 1}', "invalid_characters"),
    ("deep lists", b"[" * 30_000 + b"]" * 30_000, "malformed_json"),
    ("deep objects", b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "malformed_json"),
    ("a name twice", b'{"quantity": 1, "quantity": 2, "user_id": "zzqx"}', "validation_error"),
    ("a list", b"[]", "validation_error"),
    ("null", b"null", "validation_error"),
    ("text", b'"zzqx"', "validation_error"),
    ("thousands of digits", b'{"quantity": ' + b"9" * 5000 + b"}", "validation_error"),
]


@pytest.mark.parametrize(
    ("body", "error"), [raw[1:] for raw in RAW_BODIES], ids=[raw[0] for raw in RAW_BODIES]
)
def test_a_malformed_body_is_refused(world: World, body: bytes, error: str) -> None:
    answer = world.call("POST", "/api/holds", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert MARK not in answer.text


def test_an_escaped_backslash_before_an_n_is_not_a_newline(world: World) -> None:
    assert world.place(user_id="back\\nslash").status_code == 201
    assert world.place(user_id="Zoë 🎫").status_code == 201


@pytest.mark.parametrize(
    ("changed", "twice"),
    [
        ({}, '"quantity": 3'),
        ({}, '"quantity" : 3'),
        ({}, '"qu\\u0061ntity": 3'),
        ({"user_id": "a:b"}, '"user_id": "a:b"'),
        ({"user_id": "::::::::"}, '"quantity": 3'),
    ],
)
def test_a_duplicate_field_is_refused(world: World, changed: dict[str, object], twice: str) -> None:
    """Whatever its value, because two parsers could read two different requests."""
    text = json.dumps(hold_body(**changed))
    once = world.call("POST", "/api/holds", content=text.encode(), headers=JSON)
    assert once.status_code == 201
    content = f"{text[:-1]}, {twice}}}".encode()
    answer = world.call("POST", "/api/holds", content=content, headers=JSON)
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    assert answer.json()["errors"] == [
        {"field": "body", "code": "duplicate", "message": "A field may be given only once"}
    ]


def test_a_duplicate_field_is_refused_only_within_one_line(world: World) -> None:
    line = f'{{"ticket_type_id": "{LINE["ticket_type_id"]}", "quantity": 1}}'
    fields = f'"session_id": "{SESSION}", "customer_email": "a@example.com"'
    for lines, status in (
        (f"{line}, {line}", 201),
        (line.replace(": 1", ': 1, "quantity": 1'), 400),
    ):
        content = f'{{{fields}, "lines": [{lines}]}}'.encode()
        answer = world.call("POST", "/api/holds", content=content, headers=JSON)
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize("charset", ["utf-16", "UTF-16LE", '"latin1"', "iso-8859-1", "", " utf-7"])
def test_another_charset_is_415(world: World, charset: str) -> None:
    content = json.dumps(hold_body()).encode()
    headers = {"Content-Type": f"application/json; charset={charset}"}
    answer = world.call("POST", "/api/holds", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (415, "unsupported_media_type")
    assert "UTF-8" in answer.json()["message"]


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_another_media_type_is_415(world: World, content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    content = json.dumps(hold_body()).encode()
    answer = world.call("POST", "/api/holds", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", 'application/json;charset="UTF8"', "Application/JSON"],
)
def test_the_media_type_may_have_parameters(world: World, content_type: str) -> None:
    content = json.dumps(hold_body()).encode()
    answer = world.call(
        "POST", "/api/holds", content=content, headers={"Content-Type": content_type}
    )
    assert answer.status_code == 201


def test_a_body_declared_too_large_is_not_read(world: World) -> None:
    headers = {**JSON, "Content-Length": "9" * 5000}
    answer = world.call("POST", "/api/holds", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")


def test_a_streamed_body_is_cut_off_at_the_limit(world: World) -> None:
    async def stream() -> Any:
        for _ in range(100):
            yield b" " * 1024

    answer = world.call("POST", "/api/holds", content=stream(), headers=JSON)
    assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")


def test_a_body_at_the_limit_is_read(world: World) -> None:
    body = json.dumps(hold_body()).encode()
    content = body + b" " * (BODY_BYTES_MAX - len(body))
    assert world.call("POST", "/api/holds", content=content, headers=JSON).status_code == 201
    over = world.call("POST", "/api/holds", content=content + b" ", headers=JSON)
    assert over.status_code == 413


def test_the_key_is_checked_before_the_size_and_the_size_before_the_syntax(world: World) -> None:
    content = b"{" * (BODY_BYTES_MAX + 1)
    assert world.call("POST", "/api/holds", secret="", content=content).status_code == 401
    assert world.call("POST", "/api/holds", content=content).status_code == 413
    assert world.call("POST", "/api/holds", content=content[1:]).status_code == 415


@pytest.mark.parametrize("key", ["", "a b", "ü", "x" * 256, "a\tb"])
def test_an_invalid_idempotency_key_is_refused(world: World, key: str) -> None:
    answer = world.place(headers={"Idempotency-Key": key.encode()})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_idempotency_key")


CSV = {"Content-Type": "text/csv; charset=utf-8"}
SEATS = f"/api/sessions/{SESSION}/seats"


def test_csv_is_accepted_only_by_the_seat_import(world: World) -> None:
    content = b"block,row,number\nStalls,A,1\n"
    elsewhere = world.call("POST", "/api/holds", content=content, headers=CSV)
    assert (elsewhere.status_code, elsewhere.json()["error"]) == (415, "unsupported_media_type")
    before = len(world.catalog.changes)
    world.call("POST", SEATS, content=content, headers=CSV)
    assert isinstance(world.catalog.changes[before], ImportSeats)
    other = world.call("POST", SEATS, content=content, headers={"Content-Type": "text/plain"})
    assert (other.status_code, other.json()["error"]) == (415, "unsupported_media_type")
    assert "text/csv" in other.json()["message"]


def test_an_import_has_a_larger_but_finite_size_limit(world: World) -> None:
    line = b"Stalls,%d,%d\n"
    header = b"block,row,number\n"
    content = header + b"".join(line % divmod(number, 1_000) for number in range(10_000))
    assert len(content) > BODY_BYTES_MAX
    before = len(world.catalog.changes)
    world.call("POST", SEATS, content=content, headers=CSV)
    change = world.catalog.changes[before]
    assert isinstance(change, ImportSeats)
    assert [len(block.draft.seats) for block in change.blocks] == [10_000]
    padded = content + b"\n" * (IMPORT_BYTES_MAX - len(content))
    assert world.call("POST", SEATS, content=padded, headers=CSV).status_code != 413
    over = world.call("POST", SEATS, content=padded + b"\n", headers=CSV)
    assert (over.status_code, over.json()["error"]) == (413, "body_too_large")
    assert str(IMPORT_BYTES_MAX) in over.json()["message"]
