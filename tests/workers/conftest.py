"""Commands as processes, and expired holds."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from holdfast.domain.policy import HoldPolicy
from holdfast.engine import Admission
from tests.contract.asking import waiting
from tests.contract.venues import Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT
from tests.workers.commands import PROGRAM, RunningCommand
from tests.workers.lapsing import place_many

Start = Callable[..., RunningCommand]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A function that starts a command that runs until stopped."""
    started: list[RunningCommand] = []

    def make(*arguments: str, program: Sequence[str] = PROGRAM, **settings: str) -> RunningCommand:
        log = tmp_path / f"{arguments[0]}-{len(started)}.log"
        started.append(RunningCommand(arguments, log, settings, program))
        return started[-1]

    yield make
    for command in started:
        command.kill()


@pytest.fixture
def world(fresh_database_url: str) -> Iterator[PostgresWorld]:
    world = PostgresWorld(fresh_database_url)
    yield world
    world.close()


@pytest.fixture
def lapse(world: PostgresWorld) -> Callable[[int], Venue]:
    """A function that makes holds of two tickets, expired a minute ago."""

    def make(count: int) -> Venue:
        engine = Admission(world.store, PATIENT)
        engine.start()
        venue = world.venue({"floor": 2 * count}, {"standing": ("floor",)})
        place_many(engine, venue, count)
        engine.stop()
        world.let_pass(venue, 660)
        return venue

    return make


@pytest.fixture
def lapse_waitlist(world: PostgresWorld) -> Callable[[], None]:
    """A function that makes a hold of two tickets and two parties of four waiting for them, all
    expired."""

    def make() -> None:
        engine = Admission(world.store, PATIENT)
        engine.start()
        policy = HoldPolicy(waitlist=True, waiting_seconds=600)
        venue = world.build(Plan({"floor": 4}, {"standing": ("floor",)}, policy))
        place_many(engine, venue, 1)
        for _ in range(2):
            waiting(engine, venue.place(("standing", 4)))
        engine.stop()
        world.let_pass(venue, 660)

    return make


@pytest.fixture(autouse=True)
def _logs_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program configures the loggers of its process, which other tests watch."""
    monkeypatch.setattr("holdfast.entrypoints.cli.main.configure_logs", lambda _: None)
