"""Real processes of the command line: workers, beat, and commands that end by themselves."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.databases import own_environment
from tests.support.patience import wait_until

PROGRAM = [sys.executable, "-m", "holdfast.entrypoints.cli.main"]
CELERY = [sys.executable, "-m", "celery", "-A", "holdfast.entrypoints.workers"]


def environment_of(settings: Mapping[str, str]) -> dict[str, str]:
    return {**own_environment(), **settings}


def run_command(
    *arguments: str, program: Sequence[str] = PROGRAM, **settings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program, *arguments],
        env=environment_of(settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@dataclass
class RunningCommand:
    """A `holdfast ...` command with its children, in its own process group; or Celery's."""

    arguments: tuple[str, ...]
    log: Path
    settings: Mapping[str, str]
    program: Sequence[str] = tuple(PROGRAM)
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*self.program, *self.arguments],
                env=environment_of(self.settings),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Its log entries with this event name so far."""
        found = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in map(json.loads, found) if line["event"] == event]

    def wait_for(self, event: str, times: int = 1) -> None:
        try:
            wait_until(lambda: len(self.lines(event)) >= times, event)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log.read_text()[-4_000:]}") from error

    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def kill(self) -> None:
        """Kill -9 all its processes."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)

    def stop(self) -> int:
        """Stop it gracefully; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)
