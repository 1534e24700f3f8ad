"""Connections with a timeout on every operation."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from kombu.connection import Connection as Client
from kombu.transport.pyamqp import Transport

CONNECT_SECONDS_MAX = 5.0
REPLY_SECONDS_MAX = 10.0
HEARTBEAT_SECONDS = 30

# All errors of broken connections and refused operations.
BROKER_ERRORS: tuple[type[Exception], ...] = (
    *Transport.connection_errors,
    *Transport.channel_errors,
)

# The library beneath kombu has no types.
Connection = Any
Channel = Any


def tls_of(url: str) -> dict[str, Any] | None:
    """By default, the library checks who signed the certificate, but not the name in it."""
    parts = urlsplit(url)
    return {"server_hostname": parts.hostname} if parts.scheme == "amqps" else None


def connect(url: str) -> Connection:
    """The transport's plain connection: kombu's own reconnects in the middle of a call, and then
    silently loses its channels."""
    client = Client(  # type: ignore[no-untyped-call]
        url,
        ssl=tls_of(url),
        connect_timeout=CONNECT_SECONDS_MAX,
        heartbeat=HEARTBEAT_SECONDS,
    )
    connection = client.transport.establish_connection()
    # The default timeout for sending and for replies.
    connection.sock.settimeout(REPLY_SECONDS_MAX)
    return connection


def disconnect(connection: Connection) -> None:
    """Close cleanly if the broker answers, and free the socket in any case."""
    with contextlib.suppress(*BROKER_ERRORS):
        connection.close()
    connection.collect()


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    connection = connect(url)
    try:
        yield connection
    except BROKER_ERRORS:
        connection.collect()
        raise
    finally:
        disconnect(connection)
