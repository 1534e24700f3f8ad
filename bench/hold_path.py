"""`python -m bench.hold_path`: every function of Holdfast that one general admission hold passes
through, from the request to the answer, on all threads of a warm server."""

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx

import holdfast
from bench.lab import SESSION_ID, Lab, ticket_type_id

SOURCES = f"{Path(holdfast.__file__).parent}/"
FUNCTIONS_TARGET, FILES_TARGET = 160, 40
WARM_UP_HOLDS = 5
# Periodic work falls into some of them, the work of a hold into all.
RECORDED_HOLDS = 5
QUIET_SECONDS = 0.05


@dataclass(frozen=True)
class Step:
    """A function that every recorded hold enters. `calls` is the fewest that one of them needs."""

    file: str
    function: str
    thread: str
    calls: int

    @property
    def layer(self) -> str:
        return self.file.partition("/")[0]


@dataclass
class Recorder:
    """Notes the functions that are called while `is_on`, in the order of their first call."""

    is_on: bool = False
    calls: Counter[CodeType] = field(default_factory=Counter)
    threads: dict[CodeType, str] = field(default_factory=dict)
    last_at: float = 0.0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCES):
            return
        self.last_at = time.monotonic()
        # A comprehension is part of its function; a resumed coroutine is no new call.
        is_part = code.co_name.endswith(("comp>", "genexpr>"))
        is_resumed = code.co_code[frame.f_lasti + 1] != 0
        if not self.is_on or is_part or is_resumed:
            return
        self.calls[code] += 1
        self.threads.setdefault(code, threading.current_thread().name)

    def steps(self) -> list[Step]:
        return [
            Step(code.co_filename.removeprefix(SOURCES), code.co_qualname, thread, self.calls[code])
            for code, thread in self.threads.items()
        ]


async def record(secret_key: str) -> list[Step]:
    """Serves some holds inside this process, on the database that the environment names."""
    from holdfast.entrypoints.asgi.app import create_api_only  # noqa: PLC0415

    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    app = create_api_only()
    messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    started = asyncio.Event()

    async def lifespan_sent(message: Any) -> None:
        assert message["type"].endswith(".complete"), message
        started.set()

    life = asyncio.ensure_future(app({"type": "lifespan"}, messages.get, lifespan_sent))
    await messages.put({"type": "lifespan.startup"})
    await started.wait()
    recordings = []
    for number in range(WARM_UP_HOLDS + RECORDED_HOLDS):
        recorder.calls, recorder.threads = Counter(), {}
        recorder.is_on = number >= WARM_UP_HOLDS
        await place_hold(app, secret_key, number)
        while time.monotonic() - recorder.last_at < QUIET_SECONDS:
            await asyncio.sleep(QUIET_SECONDS)
        recorder.is_on = False
        recordings.append(recorder.steps())
    await messages.put({"type": "lifespan.shutdown"})
    await life
    sys.setprofile(None)
    return common(recordings[WARM_UP_HOLDS:])


async def place_hold(app: Any, secret_key: str, number: int) -> None:
    wanted = {
        "session_id": str(SESSION_ID),
        "ticket_type_id": str(ticket_type_id(1)),
        "quantity": 2,
        "customer_email": f"buyer{number}@example.com",
    }
    headers = {"Authorization": f"Bearer {secret_key}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://holdfast") as client:
        answer = await client.post("/api/holds", json=wanted, headers=headers)
    assert answer.status_code == 201, answer.text


def common(recordings: Sequence[Sequence[Step]]) -> list[Step]:
    """The steps of the first that all the others have too."""
    calls = [{(step.file, step.function): step.calls for step in steps} for steps in recordings]
    return [
        Step(
            step.file,
            step.function,
            step.thread,
            min(each[step.file, step.function] for each in calls),
        )
        for step in recordings[0]
        if all((step.file, step.function) in each for each in calls)
    ]


def table(steps: Sequence[Step]) -> str:
    lines = []
    for layer in sorted({step.layer for step in steps}):
        of_layer = [step for step in steps if step.layer == layer]
        files = {step.file for step in of_layer}
        lines.append(f"{layer:<12}{len(of_layer):>4} functions {len(files):>3} files")
    files = {step.file for step in steps}
    lines.append(f"{'all':<12}{len(steps):>4} functions {len(files):>3} files")
    lines.append(f"{'target':<12}{FUNCTIONS_TARGET:>4} functions {FILES_TARGET:>3} files")
    lines += ["", f"{'calls':>5}  function"]
    lines += [f"{step.calls:>5}  {step.file} {step.function}  ({step.thread})" for step in steps]
    return "\n".join(lines)


def recorded() -> list[Step]:
    with Lab() as lab:
        os.environ.update(DATABASE_URL=lab.postgres.server_url, HOLDFAST_DUTIES="none")
        return asyncio.run(record(lab.secret_key))


if __name__ == "__main__":
    print(table(recorded()))  # noqa: T201
