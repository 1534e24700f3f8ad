"""Every response carries the security headers, whoever makes it: the API, Django, Starlette or the
HTTP server itself."""

import socket

import httpx
import pytest

from tests.support.servers import RunningServer

PATHS = (
    *("/", "/healthz", "/readyz", "/api/docs", "/api/schema", "/api/events", "/api/nothing"),
    *("/api/docs/assets/start.js", "/admin/login/", "/static/pages/icon.svg", "/static/nothing"),
    *("/nothing", "/healthz/", "/admin/nothing"),
)


def assert_safe(headers: httpx.Headers) -> None:
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] in {"no-referrer", "same-origin"}
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy or "default-src 'self'" in policy
    assert "script-src 'unsafe-inline'" not in policy
    assert "*" not in policy


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", PATHS)
def test_every_response_has_the_security_headers(
    server: RunningServer, method: str, path: str
) -> None:
    assert_safe(httpx.request(method, server.base_url + path, timeout=60).headers)


@pytest.mark.parametrize(
    "request_head",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=["TLS on the wrong port", "a large head"],
)
def test_so_do_refusals_of_the_http_server(server: RunningServer, request_head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request_head)
        received = b""
        while b"\r\n\r\n" not in received and (part := connection.recv(65536)):
            received += part
    status, *lines = received.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert status.split()[1] in {b"400", b"431"}
    split = (line.partition(b": ") for line in lines)
    headers = httpx.Headers([(name, value) for name, _, value in split])
    assert_safe(headers)
    assert headers["content-type"] == "application/problem+json"
