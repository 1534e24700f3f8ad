"""Ports of the embedded services."""

import socket
import threading
from pathlib import Path

import pytest

from holdfast.adapters.embedded import tcp_ports
from holdfast.adapters.embedded.tcp_ports import LOOPBACK, choose_port


@pytest.fixture
def taken() -> socket.socket:
    return socket.create_server((LOOPBACK, 0))


def remember(directory: Path, taken: socket.socket) -> Path:
    memory = directory / "service.port"
    memory.write_text(f"{taken.getsockname()[1]}\n")
    return memory


def test_a_service_waits_for_the_port_of_a_server_that_is_just_ending(
    tmp_path: Path, taken: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process disappears a moment before its socket."""
    monkeypatch.setattr(tcp_ports, "RELEASE_SECONDS_MAX", 60.0)
    memory, port = remember(tmp_path, taken), taken.getsockname()[1]
    threading.Timer(0.2, taken.close).start()
    assert choose_port(memory) == port


def test_a_service_takes_another_port_if_its_own_stays_taken(
    tmp_path: Path, taken: socket.socket
) -> None:
    with taken:
        assert choose_port(remember(tmp_path, taken)) != taken.getsockname()[1]
