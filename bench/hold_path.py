"""`python -m bench.hold_path`: every function of Holdfast that one general admission hold passes
through, from the request to the answer, on all threads of a warm server."""

import asyncio
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import holdfast
from bench.cost.calls import is_call
from bench.lab import SESSION_ID, Lab, ticket_type_id

if TYPE_CHECKING:
    from holdfast.entrypoints.server.connections import Connections

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
        if not self.is_on or not is_call(frame, event):
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
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    recordings = []
    async with serving() as connections:
        client = Client(connections)
        for number in range(WARM_UP_HOLDS + RECORDED_HOLDS):
            recorder.calls, recorder.threads = Counter(), {}
            recorder.is_on = number >= WARM_UP_HOLDS
            await client.send(hold_request(secret_key, number))
            while time.monotonic() - recorder.last_at < QUIET_SECONDS:
                await asyncio.sleep(QUIET_SECONDS)
            recorder.is_on = False
            recordings.append(recorder.steps())
    sys.setprofile(None)
    return common(recordings[WARM_UP_HOLDS:])


@asynccontextmanager
async def serving() -> AsyncIterator["Connections"]:
    """The API inside this process, on the database that the environment names."""
    from holdfast.entrypoints.asgi.app import create_api_only  # noqa: PLC0415
    from holdfast.entrypoints.server.connections import Connections  # noqa: PLC0415

    application = create_api_only()
    async with application.running():
        yield Connections(application.api, application.rest, connections_max=1_000)


def hold_request(secret_key: str, number: int) -> bytes:
    wanted = {
        "session_id": str(SESSION_ID),
        "ticket_type_id": str(ticket_type_id(1)),
        "quantity": 2,
        "customer_email": f"buyer{number}@example.com",
    }
    body = json.dumps(wanted).encode()
    head = (
        "POST /api/holds HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {secret_key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*head, "", "")).encode() + body


class Client(asyncio.Transport):
    """A client without a network: it hands its request to the connection, as the event loop would,
    and takes what the connection writes."""

    def __init__(self, connections: "Connections") -> None:
        from holdfast.entrypoints.server.connection import Connection  # noqa: PLC0415

        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 80)})
        self._answer: asyncio.Future[bytes] | None = None
        self._connection = Connection(connections)
        self._connection.connection_made(self)

    async def send(self, request: bytes) -> None:
        self._answer = asyncio.get_running_loop().create_future()
        self._connection.data_received(request)
        answer = await self._answer
        assert answer.startswith(b"HTTP/1.1 201 "), answer

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        assert self._answer is not None
        self._answer.set_result(bytes(data))

    def is_closing(self) -> bool:
        return False


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
    with lab_for_this_process() as lab:
        return asyncio.run(record(lab.secret_key))


@contextmanager
def lab_for_this_process() -> Iterator[Lab]:
    with Lab() as lab:
        os.environ.update(
            DATABASE_URL=lab.postgres.server_url,
            HOLDFAST_DUTIES="none",
            HOLDFAST_SECRET_KEY="a secret of the installation, 32",  # noqa: S106
        )
        yield lab


if __name__ == "__main__":
    print(table(recorded()))  # noqa: T201
