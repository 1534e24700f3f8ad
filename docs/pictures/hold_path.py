"""Draws the path of a general admission hold, checked against a recorded one."""

from dataclasses import dataclass

from bench.hold_path import Step, recorded
from docs.pictures.svg import COLORS, FAINT, arrow, box, picture, words

LOOP, LANE = "MainThread", "holdfast-lane"


@dataclass(frozen=True)
class Stop:
    """A module on the path, and its step."""

    file: str
    thread: str
    what: str

    @property
    def layer(self) -> str:
        return self.file.partition("/")[0]


# In the order in which a hold first enters them.
STOPS = (
    Stop("entrypoints/server/connection.py", LOOP, "reads the request from the socket"),
    Stop("entrypoints/api/http/routing.py", LOOP, "gives the request an id, finds the route"),
    Stop("entrypoints/api/access/authentication.py", LOOP, "checks the key and its scope"),
    Stop("entrypoints/api/http/parsing.py", LOOP, "reads the body and checks its form"),
    Stop("entrypoints/api/holds/handlers.py", LOOP, "turns the request into a command"),
    Stop("engine/queue.py", LOOP, "queues it; the loop serves others"),
    Stop("engine/group.py", LANE, "takes a group of commands"),
    Stop("domain/holds/place_hold.py", LANE, "names what to look up and to lock"),
    Stop("adapters/postgres/engine/store.py", LANE, "finds the catalog in memory"),
    Stop("adapters/postgres/engine/group.py", LANE, "locks and reads: one round trip"),
    Stop("engine/verdicts.py", LANE, "decides command by command"),
    Stop("domain/holds/preconditions.py", LANE, "is it on sale, and is enough left?"),
    Stop("domain/group/ledger.py", LANE, "applies the change in memory"),
    Stop("adapters/postgres/engine/writes.py", LANE, "writes, commits; then the answer"),
    Stop("entrypoints/api/http/replies.py", LOOP, "turns the outcome into a reply"),
    Stop("entrypoints/api/holds/answers.py", LOOP, "writes the hold as JSON"),
)
COLUMNS = {LOOP: 20, LANE: 440}
TITLES = {LOOP: "on the event loop's thread", LANE: "on the engine's thread"}
WIDTH, BOX_WIDTH, BOX, STEP, TOP = 810, 350, 42, 58, 84


class WrongPath(Exception):
    """The picture is out of date. Change `STOPS`."""


def draw() -> str:
    check(recorded())
    title = "The path of a general admission hold"
    parts = [words(20, 34, title, 18, is_bold=True)]
    parts += [
        words(COLUMNS[thread], 66, TITLES[thread], color=FAINT, is_bold=True) for thread in COLUMNS
    ]
    rows = _rows()
    for number, (stop, row) in enumerate(zip(STOPS, rows, strict=True)):
        if number:
            parts.append(_way(STOPS[number - 1], rows[number - 1], stop, row))
        x, y = COLUMNS[stop.thread], TOP + STEP * row
        parts.append(box(x, y, BOX_WIDTH, BOX, COLORS[stop.layer]))
        parts.append(words(x + 12, y + 18, f"{number + 1}. {stop.what}", is_bold=True))
        parts.append(words(x + 12, y + 34, stop.file, 11, color="#455a64", is_code=True))
    return picture(WIDTH, TOP + STEP * (max(rows) + 1) + 4, title, parts)


def _rows() -> list[int]:
    """Place each thread's stops from the top; those after the engine's end in its last row."""
    threads = [stop.thread for stop in STOPS]
    rows = [threads[:number].count(thread) for number, thread in enumerate(threads)]
    last_of_lane = len(threads) - 1 - threads[::-1].index(LANE)
    shift = rows[last_of_lane] - rows[-1]
    return [row + shift if n > last_of_lane else row for n, row in enumerate(rows)]


def _way(before: Stop, from_row: int, after: Stop, to_row: int) -> str:
    """Straight down, or through the gap to the other thread."""
    here, there = COLUMNS[before.thread], COLUMNS[after.thread]
    if here == there:
        x = here + BOX_WIDTH - 30
        return arrow((x, TOP + STEP * from_row + BOX), (x, TOP + STEP * to_row))
    gap = (min(here, there) + BOX_WIDTH + max(here, there)) / 2
    start, end = TOP + STEP * from_row + BOX / 2, TOP + STEP * to_row + BOX / 2
    leaving, entering = (here + BOX_WIDTH, there) if there > here else (here, there + BOX_WIDTH)
    return arrow((leaving, start), (gap, start), (gap, end), (entering, end))


def check(steps: list[Step]) -> None:
    threads: dict[str, str] = {}
    for step in steps:
        threads.setdefault(step.file, step.thread)
    for stop in STOPS:
        if threads.get(stop.file) != stop.thread:
            raise WrongPath(f"{stop.file} is not on the path of a hold, or not on {stop.thread}")
    drawn = [stop.file for stop in STOPS]
    found = [file for file in threads if file in drawn]
    if found != drawn:
        raise WrongPath(f"A hold passes the modules in this order: {', '.join(found)}")
