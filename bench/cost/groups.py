"""`python -m bench.cost.groups`: counts what general admission holds need, alone and in a group of
32, inside this process. Counts do not depend on the machine, so `make test` compares them with a
budget."""

import asyncio
import itertools
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import uvloop

from bench.cost.calls import is_call, is_ours
from bench.cost.instruments import ENGINE, wrap
from bench.cost.traffic import Trace, traffic_in
from bench.hold_path import Client, hold_request, lab_for_this_process, serving

SIZES = (1, 32)
WARM_UP_GROUPS = 3
# Now and then a group does periodic work too, so the fewest count.
COUNTED_GROUPS = 5
LOOP, LANE = "MainThread", "holdfast-lane"
PAUSE_SECONDS = 0.001


@dataclass(frozen=True)
class GroupCounts:
    """Function calls for one hold, on the event loop's thread and on the engine's; statements and
    round trips of the group."""

    front_calls: float
    engine_calls: float
    statements: int
    round_trips: int


class Lane:
    """Stops the engine's main lane before each group until all its commands are in the queue, and
    counts from there to the next stop."""

    def __init__(self, trace_path: Path) -> None:
        self._trace_path = trace_path
        self._is_paused = False
        self._has_stopped = threading.Event()
        self.calls: Counter[str] = Counter()
        self.group_size = 1
        self._numbers = itertools.count()

    def count(self, frame: FrameType, event: str, _: object) -> None:
        if is_call(frame, event) and not is_ours(frame):
            name = threading.current_thread().name
            self.calls[name] += not (self._is_paused and name == LANE)

    def connect(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        connection = original(*args, **kwargs)
        if kwargs.get("application_name") == ENGINE and threading.current_thread().name == LANE:
            Trace(connection, self._trace_path).start()
        return connection

    def take(self, original: Callable[..., Any], queue: Any, count_max: int) -> Any:
        self._is_paused = True
        self._has_stopped.set()
        while queue.unanswered() < self.group_size:
            time.sleep(PAUSE_SECONDS)
        self._is_paused = False
        return original(queue, count_max)

    async def counts(self, clients: Sequence[Client], secret_key: str) -> GroupCounts:
        """The counts of one group."""
        # Always other buyers: what is remembered of one is no saving in a sale.
        requests = [hold_request(secret_key, next(self._numbers)) for _ in range(self.group_size)]
        create_task = asyncio.get_running_loop().create_task
        self._trace_path.write_bytes(b"")
        self._has_stopped.clear()
        self.calls.clear()
        sent_by = zip(clients, requests, strict=False)
        for task in [create_task(client.send(request)) for client, request in sent_by]:
            await task
        front_calls = self.calls[LOOP]
        self._has_stopped.wait()
        sent = traffic_in(self._trace_path)
        return GroupCounts(
            front_calls / self.group_size,
            self.calls[LANE] / self.group_size,
            sent.statements,
            sent.round_trips,
        )


async def count(lane: Lane, secret_key: str) -> dict[int, GroupCounts]:
    counted = {}
    async with serving() as connections:
        clients = [Client(connections) for _ in range(max(SIZES))]
        for lane.group_size in SIZES:
            groups = [
                await lane.counts(clients, secret_key)
                for _ in range(WARM_UP_GROUPS + COUNTED_GROUPS)
            ]
            counted[lane.group_size] = fewest(groups[WARM_UP_GROUPS:])
        lane.group_size = 0  # lets the lane end
    return counted


def fewest(groups: Sequence[GroupCounts]) -> GroupCounts:
    return GroupCounts(
        min(group.front_calls for group in groups),
        min(group.engine_calls for group in groups),
        min(group.statements for group in groups),
        min(group.round_trips for group in groups),
    )


def main() -> None:
    with lab_for_this_process() as lab:
        lane = Lane(lab.directory / "trace")
        wrap("psycopg", "connect", lane.connect)
        wrap("holdfast.engine.queue", "FairQueue.take", lane.take)
        threading.setprofile(lane.count)
        sys.setprofile(lane.count)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            counted = runner.run(count(lane, lab.secret_key))
        sys.setprofile(None)
    print(json.dumps({size: asdict(counts) for size, counts in counted.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
