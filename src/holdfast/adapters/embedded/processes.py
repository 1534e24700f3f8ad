"""Starting a service's processes through the launcher, finding them and ending them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.embedded import launch

_PROC = Path("/proc")
_POLL_SECONDS = 0.02


def launcher_command(
    argv: Sequence[str], *, death_signal: signal.Signals, identity: Sequence[str] = ()
) -> list[str]:
    """Wrap a command to make it die with this process."""
    # Isolated and without site-packages: quick, and independent of our search path and directory.
    interpreter = [sys.executable, "-I", "-S", "-B", launch.__file__]
    binding = ["--parent", str(os.getpid()), "--death-signal", str(int(death_signal))]
    return [*interpreter, *binding, *identity, "--", *argv]


def spawn(
    command: Sequence[str], *, log: Path, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a wrapped command, with its output in the log. Call this from the main thread."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=clean_environment() if environment is None else environment,
            # Keeps Ctrl-C in the terminal from the server, which we then shut down in order.
            start_new_session=True,
        )


def clean_environment() -> dict[str, str]:
    """Our environment without variables that affect a server's files, location or language."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_")) and name not in {"LANG", "LANGUAGE"}
    }
    return kept | {"LC_ALL": "C"}


def find_marked(marker: str) -> list[int]:
    """The other processes with the marker in their command line.

    The command line is visible to everybody; the working directory of another user's process is
    hidden in many containers, even from root.
    """
    needle = marker.encode("ascii")
    found = []
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if needle in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(set(found) - {os.getpid()})


def wait_until_gone(marker: str, timeout_seconds: float) -> list[int]:
    """Wait for the last marked process to end; return those still running at the timeout."""
    deadline = time.monotonic() + timeout_seconds
    while (remaining := find_marked(marker)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return remaining


def end(
    process: subprocess.Popen[bytes], steps: Sequence[tuple[signal.Signals, float]]
) -> signal.Signals | None:
    """Send one signal after another until the process ends; return the one that worked."""
    for step, timeout_seconds in steps:
        if process.poll() is not None:
            return None
        with suppress(ProcessLookupError):
            process.send_signal(step)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout_seconds)
            return step
    return None


def kill_all(process: subprocess.Popen[bytes] | None, marker: str, timeout_seconds: float) -> None:
    """Kill the process first, which stops it from starting children, then all marked ones."""
    if process is not None:
        process.kill()
        process.wait()
    deadline = time.monotonic() + timeout_seconds
    while (remaining := find_marked(marker)) and time.monotonic() < deadline:
        for pid in remaining:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
