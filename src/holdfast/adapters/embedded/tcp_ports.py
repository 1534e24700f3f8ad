"""Choosing a TCP port, and keeping it across restarts."""

import secrets
import socket
import time
from pathlib import Path

LOOPBACK = "127.0.0.1"
# Below the ports of outgoing connections: any of those could take the port of a service that is
# about to restart.
LASTING_PORTS = range(20_000, 32_768)
LASTING_PORT_TRIES = 20
RELEASE_SECONDS_MAX = 1.0


def is_port_free(host: str, port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the servers do: connections in TIME_WAIT do not occupy the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_port(host: str) -> int:
    """An unused port, which another process may still take first."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def remembered_port(memory: Path) -> int | None:
    """The port of the last start; None if there was none or its file is damaged."""
    try:
        port = int(memory.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None
    return port if 0 < port < 65536 else None


def choose_port(memory: Path) -> int:
    """The port of the last start if it is free, to keep saved addresses valid. Waits a moment,
    because a killed server's port is freed slightly after its process is gone."""
    port = remembered_port(memory)
    give_up_at = time.monotonic() + RELEASE_SECONDS_MAX
    while port is not None:
        if is_port_free(LOOPBACK, port):
            return port
        if time.monotonic() > give_up_at:
            break
        time.sleep(0.02)
    return lasting_port(LOOPBACK)


def lasting_port(host: str) -> int:
    """An unused port that no outgoing connection takes, if there is one."""
    for _ in range(LASTING_PORT_TRIES):
        port = secrets.choice(LASTING_PORTS)
        if is_port_free(host, port):
            return port
    return free_port(host)
