"""Starting a service's processes through the launcher, finding them again, and ending them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.embedded import launch

_PROC = Path("/proc")
_POLL_SECONDS = 0.02


def launcher_command(
    argv: Sequence[str], *, death_signal: signal.Signals, identity: Sequence[str] = ()
) -> list[str]:
    """Wrap a command so that it dies with this process."""
    # By path, isolated and without site-packages: quick, and whatever this process has in its
    # search path or working directory cannot get in between.
    interpreter = [sys.executable, "-I", "-S", "-B", launch.__file__]
    binding = ["--parent", str(os.getpid()), "--death-signal", str(int(death_signal))]
    return [*interpreter, *binding, *identity, "--", *argv]


def spawn(command: Sequence[str], *, log: Path, cwd: Path) -> subprocess.Popen[bytes]:
    """Start a wrapped command with its output in the log. Call this from the main thread."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=clean_environment(),
            # A session of its own: Ctrl-C in the terminal is for us, who then stop it in order.
            start_new_session=True,
        )


def clean_environment() -> dict[str, str]:
    """Return our environment without what would change a server's files, place or language."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_")) and name not in {"LANG", "LANGUAGE"}
    }
    return kept | {"LC_ALL": "C"}


def find_marked(marker: str) -> list[int]:
    """List the processes that carry the marker in their command line, ours excepted.

    The command line is the one thing every process shows of itself to everybody; the working
    directory of another user's process is hidden even from root in many containers.
    """
    needle = marker.encode("ascii")
    found = []
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if needle in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(set(found) - {os.getpid()})


def wait_until_gone(marker: str, timeout_seconds: float) -> list[int]:
    """Wait for the last marked process to end; return those that outlast the time."""
    deadline = time.monotonic() + timeout_seconds
    while (remaining := find_marked(marker)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return remaining


def end(
    process: subprocess.Popen[bytes], steps: Sequence[tuple[signal.Signals, float]]
) -> signal.Signals | None:
    """Send one signal after another until the process ends; return the one that did it."""
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
    """Kill the process first, so that it starts no more children, then every marked one left."""
    if process is not None:
        process.kill()
        process.wait()
    deadline = time.monotonic() + timeout_seconds
    while (remaining := find_marked(marker)) and time.monotonic() < deadline:
        for pid in remaining:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
