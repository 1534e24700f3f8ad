"""Processes that own an embedded service, so that tests can kill the owner."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.adapters.embedded.processes import kill_all

_SCRIPT = """
import json, sys, time
from pathlib import Path
from holdfast.adapters import embedded

service = getattr(embedded, sys.argv[1])(Path(sys.argv[2]))
print("starting", flush=True)
service.start()
print(json.dumps({"pid": service.pid, "url": service.url, "marker": service._marker}), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def leave_no_data_behind(tmp_path: Path) -> Iterator[None]:
    """Remove each test's files: a data directory takes 40 MB, and pytest keeps three runs."""
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a stopped PostgreSQL.

    Creating one takes longer than most tests, so they share it in turn and read only their own
    rows."""
    shared = tmp_path_factory.mktemp("home")
    with EmbeddedPostgres(shared):
        pass
    yield shared
    shutil.rmtree(shared, ignore_errors=True)


@dataclass
class Owner:
    """A separate process that starts a service and then sleeps."""

    process: subprocess.Popen[str]
    pid: int = 0
    url: str = ""
    marker: str = ""

    def wait_until_started(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "starting\n"
        line = self.process.stdout.readline()
        assert line, "the owner ended before its service started"
        for name, value in json.loads(line).items():
            setattr(self, name, value)

    def kill(self) -> None:
        """Kill -9 the owner alone; the kernel ends its service."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class OwnerFactory(Protocol):
    """Start an owner, optionally after shell code that changes its environment."""

    def __call__(
        self, service: str, directory: Path, *, shell: str = "", wait: bool = True
    ) -> Owner: ...


@pytest.fixture
def start_owner() -> Iterator[OwnerFactory]:
    """A function that starts owners; all are removed afterwards."""
    owners: list[Owner] = []

    def start(service: str, directory: Path, *, shell: str = "", wait: bool = True) -> Owner:
        command = [sys.executable, "-c", _SCRIPT, service, str(directory)]
        if shell:
            command = under_shell(shell, command)
        owner = Owner(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        owners.append(owner)
        if wait:
            owner.wait_until_started()
        return owner

    yield start
    for owner in owners:
        owner.kill()
        if owner.process.stdout is not None:
            owner.process.stdout.close()
        if owner.marker:
            kill_all(None, owner.marker, 5.0)


def under_shell(code: str, command: Sequence[str]) -> list[str]:
    """Run shell code in its own mount namespace; it ends by executing the command."""
    script = f"set -e; {code} {shlex.join(command)}"
    return ["unshare", "--mount", "--propagation=private", "sh", "-c", script]
