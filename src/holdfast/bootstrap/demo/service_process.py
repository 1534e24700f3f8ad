"""One of the demo's services: a `holdfast` command as a child process."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.files import log_tail, prepare_log, write_private
from holdfast.adapters.embedded.processes import end, launcher_command, spawn
from holdfast.domain.immutable import immutable

# Long enough to see what the other service does meanwhile.
REVIVED_AFTER_SECONDS = 5.0
START_SECONDS_MAX = 60.0
STOP_STEPS = ((signal.SIGTERM, 30.0), (signal.SIGKILL, 5.0))
_POLL_SECONDS = 0.05


@immutable
class Command:
    """A command that listens on a port."""

    title: str
    name: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]  # added to our own
    host: str
    port: int


class ServiceProcess:
    """It ends with this process, whatever happens to it. One that ends by itself is started again
    after a while. Use it from the main thread."""

    def __init__(self, command: Command, directory: Path) -> None:
        self._command = command
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._ended_at: float | None = None
        self._log_offset = 0

    @property
    def title(self) -> str:
        return self._command.title

    @property
    def log(self) -> Path:
        return self._directory / f"{self._command.name}.log"

    @property
    def pid_file(self) -> Path:
        return self._directory / f"{self._command.name}.pid"

    def start(self) -> None:
        # So that other commands can be run like the service.
        lines = (f"{name}={shlex.quote(text)}" for name, text in self._command.variables.items())
        write_private(self._directory / f"{self._command.name}.env", "\n".join([*lines, ""]))
        self._log_offset = prepare_log(self.log)
        self._launch()

    def wait_until_it_listens(self) -> None:
        until = time.monotonic() + START_SECONDS_MAX
        while not self._listens():
            if not self.is_running or time.monotonic() > until:
                lines = log_tail(self.log, self._log_offset)
                raise EmbeddedServiceError(f"The {self.title} did not start.", lines)
            time.sleep(_POLL_SECONDS)

    def tend(self) -> str | None:
        """Start it again if it ended a while ago. Returns what a user should know."""
        if self.is_running:
            return None
        now = time.monotonic()
        if self._ended_at is None:
            self._ended_at = now
            return f"The {self.title} stopped. It starts again in {REVIVED_AFTER_SECONDS:.0f} s."
        if now - self._ended_at < REVIVED_AFTER_SECONDS:
            return None
        self._ended_at = None
        self._launch()
        return f"The {self.title} starts again."

    def stop(self) -> None:
        if self._process is not None:
            end(self._process, STOP_STEPS)
            # A child of its own may be left if it was killed.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process = None
        self.pid_file.unlink(missing_ok=True)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _launch(self) -> None:
        program = [sys.executable, "-m", "holdfast.entrypoints.cli.main"]
        self._process = spawn(
            # It shuts down in order if this process is killed.
            launcher_command([*program, *self._command.arguments], death_signal=signal.SIGTERM),
            log=self.log,
            cwd=self._directory,
            environment={**os.environ, **self._command.variables},
        )
        self.pid_file.write_text(f"{self._process.pid}\n")

    def _listens(self) -> bool:
        try:
            socket.create_connection((self._command.host, self._command.port), 1.0).close()
        except OSError:
            return False
        return True
