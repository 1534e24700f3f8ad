"""Connections on which nothing is waited for without end."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.connection import Connection as Client
from kombu.transport.pyamqp import Transport

CONNECT_SECONDS_MAX = 5.0
REPLY_SECONDS_MAX = 10.0
HEARTBEAT_SECONDS = 30

# Whatever a broken connection or a broker that refuses may raise.
BROKER_ERRORS: tuple[type[Exception], ...] = (
    *Transport.connection_errors,
    *Transport.channel_errors,
)

# The library beneath kombu has no types.
Connection = Any
Channel = Any


def connect(url: str) -> Connection:
    """The plain connection: kombu's own opens itself anew in the middle of a call, and the channels
    on it are then gone without a word."""
    client = Client(  # type: ignore[no-untyped-call]
        url, connect_timeout=CONNECT_SECONDS_MAX, heartbeat=HEARTBEAT_SECONDS
    )
    connection = client.transport.establish_connection()
    # For every answer that is waited for and everything that is sent, unless said otherwise.
    connection.sock.settimeout(REPLY_SECONDS_MAX)
    return connection


def disconnect(connection: Connection) -> None:
    """In order if the broker answers, and anyway."""
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
