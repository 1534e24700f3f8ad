"""Real server processes: `holdfast serve`, started, killed and stopped by tests."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from tests.support.databases import own_environment, server_url

START_TIMEOUT_SECONDS = 90.0
ROOT = Path(__file__).parents[2]


INSTALLATION_SECRET = "the secret of every server in these tests"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class RunningServer:
    """One `holdfast serve`, or another service, with its workers, in its own process group.
    `database_url` is the owner's."""

    database_url: str
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    arguments: tuple[str, ...] = ()
    command: str = "serve"
    process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, until_ready: bool = True) -> Self:
        environment = {
            **own_environment(),
            "DATABASE_URL": server_url(self.database_url),
            "HOLDFAST_PORT": str(self.port),
            # Only tests of the deadline itself want one that a busy machine reaches.
            "HOLDFAST_DEADLINE_SECONDS": "30",
            # Servers that share a database accept each other's holder tokens.
            "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
            "DJANGO_SETTINGS_MODULE": "tests.support.quick_settings",
            "PYTHONPATH": str(ROOT),
            **self.environment,
        }
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "holdfast.entrypoints.cli.main",
                    self.command,
                    *self.arguments,
                ],
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            self.wait_for("/readyz" if until_ready else "/healthz")
        except BaseException:
            self.kill()  # nobody else would: the context was not entered
            raise
        return self

    def wait_for(self, path: str, status: int = 200) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended:\n{self.log_tail()}")
            try:
                if httpx.get(self.base_url + path, timeout=5).status_code == status:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"no {status} at {path}:\n{self.log_tail()}")

    def log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def kill(self) -> None:
        """Kill -9 all its processes."""
        if self.process is not None and self.is_running:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)

    def stop(self, timeout_seconds: float = 30) -> None:
        if self.process is not None and self.is_running:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout_seconds)
            finally:
                self.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
