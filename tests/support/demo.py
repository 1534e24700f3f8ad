"""A demo with its own home directory, which tests start, kill and stop."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from holdfast.adapters.embedded.files import marker_for
from tests.support.databases import own_environment

# A demo starts in four seconds, but a busy machine needs longer.
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60


class Demo:
    def __init__(self, home: Path, port: int) -> None:
        self.home, self.port = home, port
        self.output = home.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str, command: str = "demo") -> "Demo":
        environment = {
            **own_environment(),
            "HOLDFAST_HOME": str(self.home),
            "HOLDFAST_PORT": str(self.port),
        }
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "holdfast.entrypoints.cli.main", command, *arguments],
                stdin=subprocess.DEVNULL,
                env=environment,
                stdout=output,
                stderr=output,
            )
        return self

    def until_ready(self) -> "Demo":
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, self.output.read_text()
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/readyz").status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(self.output.read_text())

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(STOP_SECONDS_MAX)

    @property
    def facts(self) -> dict[str, Any]:
        return dict(json.loads((self.home / "demo.json").read_text()))

    def server_of(self, service: str) -> int:
        """The process id of an embedded service that the demo started itself."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        for pid in (pid for path in children for pid in path.read_text().split()):
            if marker_for(service, self.home / service).encode() in _command_line(pid):
                return int(pid)
        raise AssertionError(f"no {service} among the children of the demo")

    def processes(self) -> list[str]:
        """Every process whose command line or environment names this home."""
        found = []
        for directory in Path("/proc").iterdir():
            try:
                command = (directory / "cmdline").read_bytes()
                environment = (directory / "environ").read_bytes()
            except OSError:
                continue
            if directory.name.isdigit() and str(self.home).encode() in command + environment:
                found.append(command.replace(b"\0", b" ").decode(errors="replace"))
        return found

    def assert_nothing_is_left(self) -> None:
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not left

    @property
    def client(self) -> httpx.Client:
        facts = self.facts
        headers = {"Authorization": f"Bearer {facts['secret_key']}"}
        return httpx.Client(base_url=facts["base_url"], headers=headers)

    def hold(self, ticket_type: str, quantity: int) -> httpx.Response:
        return self.ask(ticket_type_id=self.facts[ticket_type], quantity=quantity)

    def ask(self, email: str = "user@example.com", **wanted: Any) -> httpx.Response:
        whose = {"session_id": self.facts["session_id"], "customer_email": email}
        return self.client.post("/api/holds", json=whose | wanted)


def _command_line(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
