"""A Holdfast server that is away, slow, or hidden by something else: 503, and soon."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from holdfast.domain.refusals import service_unavailable
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.drf.backends.backend import new_call
from holdfast.entrypoints.drf.backends.server import HoldfastServer
from tests.support.platform import new_platform
from tests.support.servers import RunningServer, free_port

TIMEOUT_SECONDS = 0.5
# Of a machine that is busy with something else.
SOON_SECONDS = 20


@contextmanager
def answering(answer: bytes | None) -> Iterator[str]:
    """A server that answers every request with this, or never."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                taken.append(connection)
                if answer is not None:
                    connection.recv(65536)
                    connection.sendall(answer)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


def asked(secret: str = "hk_test_somebodys_secret_key") -> Call:
    return new_call("GET", ["holds"], secret=secret, query_string=b"limit=1")


def assert_refused(url: str) -> None:
    with closing_server(url) as server:
        ways: tuple[Callable[[Call], Reply | None], ...] = (server.send, server.authenticate)
        for way in ways:
            started = time.monotonic()
            with pytest.raises(Problem) as refused:
                way(asked())
            assert time.monotonic() - started < SOON_SECONDS
            reply = refused.value.reply("id")
            assert (reply.status, refused.value.message) == (503, service_unavailable().message)
            assert (b"retry-after", b"1") in reply.headers


@contextmanager
def closing_server(url: str) -> Iterator[HoldfastServer]:
    server = HoldfastServer(url, TIMEOUT_SECONDS)
    try:
        yield server
    finally:
        server.stop()


def test_a_server_that_is_away() -> None:
    assert_refused(f"http://127.0.0.1:{free_port()}")


def test_a_server_that_does_not_answer() -> None:
    with answering(None) as url:
        assert_refused(url)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n:(",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
        b"nonsense\r\n\r\n",
        b"",
    ],
    ids=["a proxy", "cut off", "nonsense", "closed"],
)
def test_an_answer_that_is_not_ours(answer: bytes) -> None:
    with answering(answer) as url:
        assert_refused(url)


def test_a_credential_is_asked_about_once(server: RunningServer) -> None:
    platform = new_platform(server.base_url, server.database_url)
    with closing_server(server.base_url) as asking:
        asking.authenticate(asked(platform.secret_key))
        # The server is not asked again: nothing listens at the other address.
        asking._client.base_url = f"http://127.0.0.1:{free_port()}"
        asking.authenticate(asked(platform.secret_key))
        with pytest.raises(Problem):
            asking.authenticate(asked())


def test_a_wrong_credential_is_refused_in_the_servers_words(server: RunningServer) -> None:
    with closing_server(server.base_url) as asking:
        for _ in range(2):
            with pytest.raises(Problem) as refused:
                asking.authenticate(asked())
            reply = refused.value.reply("id")
            assert (reply.status, refused.value.message) == (401, "The secret key is not valid")
            assert any(name == b"www-authenticate" for name, _ in reply.headers)
