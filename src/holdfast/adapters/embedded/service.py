"""The base class of the embedded services: start, stop, lock, port and log."""

import os
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.files import (
    log_tail,
    marker_for,
    prepare_log,
    remove_tree,
    take_lock,
    write_private,
)
from holdfast.adapters.embedded.processes import (
    end,
    kill_all,
    spawn,
    wait_until_gone,
)
from holdfast.adapters.embedded.tcp_ports import LOOPBACK, choose_port, is_port_free

_PORT_ATTEMPTS = 3
_POLL_SECONDS = 0.02
_KILL_TIMEOUT_SECONDS = 5.0


class EmbeddedService(ABC):
    """A server private to the process that starts it, with its files in one directory.

    Start it from the main thread: the kernel ends the server with the thread that started it, and
    so it never outlives this process.
    """

    title: ClassVar[str]
    name: ClassVar[str]
    stop_steps: ClassVar[tuple[tuple[signal.Signals, float], ...]]

    def __init__(
        self,
        directory: Path,
        *,
        port: int | None = None,
        settings: Mapping[str, str] = {},
        start_timeout_seconds: float = 60.0,
        takeover_timeout_seconds: float = 20.0,
    ) -> None:
        self.directory = directory.absolute()
        self.log = self.directory / f"{self.name}.log"
        self._settings = dict(settings)
        self._wanted_port = port
        self._start_timeout_seconds = start_timeout_seconds
        self._takeover_timeout_seconds = takeover_timeout_seconds
        self._marker = marker_for(self.name, self.directory)
        self._port: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None
        self._owner_pid = 0

    @property
    def pid(self) -> int:
        """The server's process id, while it runs."""
        if self._process is None:
            raise EmbeddedServiceError(f"{self.title} is not running.")
        return self._process.pid

    @property
    def port(self) -> int:
        """The server's port, from its first start on."""
        if self._port is None:
            raise EmbeddedServiceError(f"{self.title} has not been started.")
        return self._port

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        if self._process is not None:
            raise EmbeddedServiceError(f"{self.title} in {self.directory} is already started.")
        if threading.current_thread() is not threading.main_thread():
            raise EmbeddedServiceError(
                f"Start {self.title} from the main thread, because it ends with its thread."
            )
        self._owner_pid = os.getpid()
        try:
            self._take_over_directory()
            self._refuse_a_taken_port()
            self._prepare()
            self._launch()
            self._configure()
        except (OSError, subprocess.SubprocessError) as error:
            self.kill()
            raise EmbeddedServiceError(f"{self.title} did not start: {error}.") from error
        except BaseException:
            self.kill()
            raise

    def revive(self) -> None:
        """Restart a server whose process has ended, on its old port. The calling thread must live
        as long as this process."""
        self._wanted_port = self.port
        kill_all(self._process, self._marker, _KILL_TIMEOUT_SECONDS)
        self._prepare()
        self._launch()

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the service from being started. Refuses while it runs, here or elsewhere."""
        if not self.directory.exists():
            yield
            return
        self._owner_pid = os.getpid()
        self._take_over_directory()
        try:
            yield
        finally:
            self.kill()

    def erase(self) -> None:
        """Delete all files of the service. Claim it first."""
        if self.directory.exists():
            for path in self._kept():
                remove_tree(path)

    def stop(self) -> None:
        """Shut the server down in bounded time; do nothing if it does not run."""
        if self._is_mine() and self._process is not None:
            end(self._process, self.stop_steps)
        self.kill()

    def kill(self) -> None:
        """Kill every process of the server at once, as a crash would."""
        # A fork of this process has a copy of this object, but does not own the server.
        if not self._is_mine():
            return
        if self._process is not None:
            kill_all(self._process, self._marker, _KILL_TIMEOUT_SECONDS)
            self._process = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _kept(self) -> tuple[Path, ...]:
        return (self.directory,)

    @abstractmethod
    def _prepare(self) -> None:
        """Create everything that the server needs."""

    @abstractmethod
    def _command(self, port: int) -> Sequence[str]:
        """The command that runs the server on this port, launcher included."""

    @abstractmethod
    def _working_directory(self) -> Path:
        """A directory that the server may enter."""

    @abstractmethod
    def _is_ready(self, port: int) -> bool:
        """Whether the server answers."""

    def _environment(self) -> Mapping[str, str] | None:
        """The variables that the server sees, if not ours."""
        return None

    def _configure(self) -> None:
        """Adjust the running server."""
        return

    def _is_mine(self) -> bool:
        return self._owner_pid == os.getpid()

    def _take_over_directory(self) -> None:
        """Take the lock, and wait for a predecessor whose owner was killed to end."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_path = self.directory / f"{self.name}.lock"
        deadline = time.monotonic() + self._takeover_timeout_seconds
        self._lock = take_lock(
            lock_path, title=self.title, timeout_seconds=self._takeover_timeout_seconds
        )
        remaining = wait_until_gone(self._marker, max(0.0, deadline - time.monotonic()))
        if remaining:
            numbers = ", ".join(str(pid) for pid in remaining)
            raise EmbeddedServiceError(
                f"An earlier {self.title} still runs in {self.directory}: process {numbers}."
            )
        prepare_log(self.log)

    def _launch(self) -> None:
        """Run the server; on another port if the chosen one was taken in the meantime."""
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            port = self._wanted_port or choose_port(self.directory / f"{self.name}.port")
            offset = prepare_log(self.log)
            self._process = spawn(
                self._command(port),
                log=self.log,
                cwd=self._working_directory(),
                environment=self._environment(),
            )
            failure = self._wait_until_ready(self._process, port)
            if failure is None:
                self._port = port
                write_private(self.directory / f"{self.name}.port", f"{port}\n")
                return
            kill_all(self._process, self._marker, _KILL_TIMEOUT_SECONDS)
            self._process = None
            lines = log_tail(self.log, offset)
            taken = any("Address already in use" in line for line in lines)
            if self._wanted_port is not None or not taken or attempt == _PORT_ATTEMPTS:
                raise EmbeddedServiceError(f"{self.title} did not start: {failure}.", lines)

    def _refuse_a_taken_port(self) -> None:
        if self._wanted_port is not None and not is_port_free(LOOPBACK, self._wanted_port):
            raise EmbeddedServiceError(
                f"{self.title} did not start: port {self._wanted_port} is already in use."
            )

    def _wait_until_ready(self, process: subprocess.Popen[bytes], port: int) -> str | None:
        """None once the server answers, or the reason why it does not."""
        deadline = time.monotonic() + self._start_timeout_seconds
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return f"it ended with status {process.returncode}"
            if self._is_ready(port):
                return None
            time.sleep(_POLL_SECONDS)
        return f"it did not answer within {self._start_timeout_seconds:g} seconds"
