"""Compressed answers through a real server: the bytes as they were sent."""

import zlib
from collections.abc import Callable

import httpx
import pytest

from tests.support.codings import from_zstd
from tests.support.platform import Platform

TICKET_TYPES = 20
DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": from_zstd,
    "gzip": lambda body: zlib.decompress(body, wbits=zlib.MAX_WBITS | 16),
    "identity": bytes,
}


@pytest.fixture
def paths(platform: Platform) -> tuple[str, str]:
    """A map and an availability of a few kilobytes."""
    hall = platform.hall(10, 30)
    sale = platform.on_sale(*[5] * TICKET_TYPES)
    return (
        f"/api/sessions/{hall.session_id}/seats",
        f"/api/sessions/{sale.session_id}/availability",
    )


def sent(platform: Platform, path: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """The response, and its body before httpx decompresses it."""
    given = {"Authorization": f"Bearer {platform.secret_key}", **headers}
    # The platform's own client reads every body.
    with (
        httpx.Client(base_url=platform.base_url, verify=False) as client,
        client.stream("GET", path, headers=given) as answer,
    ):
        return answer, b"".join(answer.iter_raw())


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate", "gzip"),
        ("zstd;q=0.5, gzip", "gzip"),
        ("br", "identity"),
        ("identity", "identity"),
    ],
)
def test_the_best_coding_that_the_client_accepts_is_sent(
    platform: Platform, paths: tuple[str, str], accepted: str, coding: str
) -> None:
    for path in paths:
        plain, plain_body = sent(platform, path, **{"Accept-Encoding": "identity"})
        answer, body = sent(platform, path, **{"Accept-Encoding": accepted})
        assert answer.headers.get("content-encoding", "identity") == coding
        assert answer.headers["vary"] == plain.headers["vary"] == "accept-encoding"
        assert int(answer.headers["content-length"]) == len(body)
        assert without_time(DECOMPRESS[coding](body)) == without_time(plain_body)
        assert (len(body) < len(plain_body) / 2) == (coding != "identity")


def without_time(body: bytes) -> bytes:
    """Availability has the time at which it was read."""
    before, _, after = body.partition(b'"at":"')
    return before + after.partition(b'"')[2]


@pytest.mark.parametrize("accepted", ["zstd", "gzip", "identity"])
def test_an_unchanged_map_is_304_whatever_its_coding(
    platform: Platform, paths: tuple[str, str], accepted: str
) -> None:
    seat_map, _ = paths
    first, _ = sent(platform, seat_map, **{"Accept-Encoding": accepted})
    known = {"Accept-Encoding": accepted, "If-None-Match": first.headers["etag"]}
    again, body = sent(platform, seat_map, **known)
    assert (again.status_code, body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["vary"] == "accept-encoding"
    assert "content-encoding" not in again.headers


def test_a_browser_gets_a_documented_vary(platform: Platform, paths: tuple[str, str]) -> None:
    """CORS adds the origin."""
    document = platform.client.get("/api/schema").json()
    documented = document["components"]["headers"]["Vary"]["schema"]["enum"]
    browser = platform.buyer()
    for path in paths:
        answers = [client.get(path) for client in (platform.client, browser)]
        assert [answer.headers["vary"] for answer in answers] == documented


def test_a_hold_is_never_compressed(platform: Platform) -> None:
    sale = platform.on_sale(5)
    headers = {"Accept-Encoding": "zstd, gzip"}
    body = platform.hold_body(sale, metadata={"note": "x" * 500, "more": "y" * 500})
    answer = platform.client.post("/api/holds", json=body, headers=headers)
    assert answer.status_code == 201
    assert len(answer.content) > 1_000
    assert not {"vary", "content-encoding"} & answer.headers.keys()
