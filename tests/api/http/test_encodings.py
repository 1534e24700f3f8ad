"""Which coding a caller gets, and what may be compressed (RFC 9110, 12.5.3)."""

import zlib
from collections.abc import Callable

import pytest

from holdfast.entrypoints.api.http import encodings
from holdfast.entrypoints.api.http.encodings import (
    ACCEPTED_BYTES_MAX,
    COMPRESSED_BYTES_MIN,
    Coding,
    coding_for,
    compressed,
)
from holdfast.entrypoints.api.http.exchange import Call, Reply
from tests.api.world import World
from tests.support.codings import from_zstd

PLAIN, ZSTD, GZIP = Coding.IDENTITY, Coding.ZSTD, Coding.GZIP
VARY = (b"vary", b"accept-encoding")
LARGE = b'{"status":"available"}' * 100


def call_with(*headers: tuple[bytes, bytes]) -> Call:
    return Call("GET", "/", None, b"", headers, client=None)


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("", PLAIN),
        ("gzip", GZIP),
        ("x-gzip", GZIP),
        ("GZip", GZIP),
        ("zstd", ZSTD),
        ("gzip, zstd", ZSTD),
        ("gzip, deflate, br, zstd", ZSTD),
        ("gzip;q=1.0, zstd;q=0.5", GZIP),
        ("gzip;q=0.001, zstd;q=0", GZIP),
        ("zstd ; q=0.3 ,\tgzip;Q=0.7", GZIP),
        ("gzip;q=0", PLAIN),
        ("gzip;q=0.000, zstd;q=0.", PLAIN),
        ("br, deflate", PLAIN),
        ("identity", PLAIN),
        ("identity, gzip;q=0.5", PLAIN),
        ("identity;q=0.5, gzip;q=0.5", GZIP),
        ("gzip;q=0.1", GZIP),
        ("*", ZSTD),
        ("*, zstd;q=0", GZIP),
        ("*;q=0", PLAIN),
        ("*;q=0, gzip", GZIP),
        ("*;q=0.2, gzip;q=0.1", ZSTD),
        ("*;q=0.5, identity", PLAIN),
        ("identity;q=0, *", ZSTD),
        ("identity;q=0, gzip;q=0.1", GZIP),
        ("identity;q=0", PLAIN),
        ("gzip;q=2, zstd;q=nan", PLAIN),
        ("gzip;q=, zstd;q=-1", PLAIN),
        (",, ;q=1, =", PLAIN),
        ("gzip;level=9", PLAIN),
    ],
)
def test_the_coding_is_the_one_that_the_caller_prefers(accepted: str, expected: Coding) -> None:
    assert coding_for(call_with((b"accept-encoding", accepted.encode()))) is expected


def test_without_the_header_nothing_is_compressed() -> None:
    assert coding_for(call_with()) is PLAIN


def test_repeated_headers_are_one_list() -> None:
    repeated = [(b"accept-encoding", b"gzip;q=0.5"), (b"accept-encoding", b"zstd;q=0.4")]
    assert coding_for(call_with(*repeated)) is GZIP


def test_an_overlong_header_is_ignored() -> None:
    longest = b"gzip".rjust(ACCEPTED_BYTES_MAX)
    assert coding_for(call_with((b"accept-encoding", longest))) is GZIP
    assert coding_for(call_with((b"accept-encoding", b" " + longest))) is PLAIN


@pytest.mark.parametrize(
    ("coding", "decompress"),
    [(ZSTD, from_zstd), (GZIP, lambda body: zlib.decompress(body, wbits=31))],
)
def test_a_compressed_body_is_smaller_and_decompresses_to_the_plain_one(
    coding: Coding, decompress: Callable[[bytes], bytes]
) -> None:
    reply = compressed(Reply(200, LARGE, headers=((b"x-own", b"1"),)), coding)
    assert len(reply.body) < len(LARGE) / 5
    assert decompress(reply.body) == LARGE
    assert reply.headers == ((b"x-own", b"1"), VARY, (b"content-encoding", coding.value))
    assert compressed(Reply(200, LARGE), coding).body == reply.body, "an ETag would change"


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        pytest.param(LARGE, PLAIN, id="not accepted"),
        pytest.param(LARGE[: COMPRESSED_BYTES_MIN - 1], ZSTD, id="small"),
    ],
)
def test_a_plain_body_says_that_it_depends_on_the_header(body: bytes, coding: Coding) -> None:
    assert compressed(Reply(200, body), coding) == Reply(200, body, headers=(VARY,))


ACCEPTED = {"Accept-Encoding": "zstd, gzip"}


def test_a_hold_neither_reads_the_header_nor_changes_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Coding:
        raise AssertionError("negotiated on the path of a hold")

    monkeypatch.setattr(encodings, "preferred_coding", fail)
    same = {"X-Request-ID": "same", "Idempotency-Key": "compressed-or-not"}
    plain = world.place(headers=same | {"Accept-Encoding": "identity"})
    asked = world.place(headers=same | ACCEPTED)
    assert (plain.status_code, asked.status_code) == (201, 201)
    assert asked.content == plain.content
    del asked.headers["idempotent-replayed"]
    assert asked.headers == plain.headers
    assert not {"vary", "content-encoding"} & asked.headers.keys()


@pytest.mark.parametrize("path", ["/api/holds", "/api/orders", "/api/facts", "/api/audit"])
def test_lists_with_buyers_texts_beside_secrets_are_not_compressed(world: World, path: str) -> None:
    for number in range(10):
        world.place(user_id=f"buyer-{number}", notes="attacker's guess")
    answer = world.call("GET", path, headers=ACCEPTED)
    assert answer.status_code == 200
    assert path != "/api/holds" or len(answer.content) > COMPRESSED_BYTES_MIN
    assert not {"vary", "content-encoding"} & answer.headers.keys()
