"""Requests for holds at the moment they end: one engine serves buyers, the other runs the
reaper."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Expired, Outcome, Placed
from holdfast.domain.ids import HoldId
from holdfast.engine import Admission
from holdfast.ports.engine import Answer, Render
from holdfast.ports.store import StoreUnavailable
from holdfast.services.holds.reaper import Reaper
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import rows

BATCH = 200
ANSWER_SECONDS = 60

SET_ENDS = """
WITH wanted AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(ends)s::timestamptz[]) AS wanted (id, ends_at)
), held AS (
    UPDATE hold SET warn_at = NULL, expires_at = wanted.ends_at, due_at = wanted.ends_at
    FROM wanted WHERE hold.organization_id = %(organization)s AND hold.id = wanted.id
), waited AS (
    UPDATE waitlist SET version = NULL WHERE organization_id = %(organization)s
)
UPDATE seat SET held_until = wanted.ends_at
FROM wanted, hold_line l
WHERE l.organization_id = %(organization)s AND l.hold_id = wanted.id
    AND seat.organization_id = l.organization_id AND seat.id = l.seat_id
"""


@dataclass
class RecordingEngine:
    """An engine that records which holds it expired."""

    engine: Admission
    expired: list[HoldId]

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        future = self.engine.submit(command, render)
        future.add_done_callback(self._record)
        return future

    def _record(self, future: Future[Answer]) -> None:
        outcome = future.result().outcome
        if isinstance(outcome, Expired):
            self.expired += outcome.hold_ids


@dataclass
class Race:
    """The answers to buyers, and the holds that the reaper says it expired."""

    venue: Venue
    answers: dict[HoldId, Outcome | None] = field(default_factory=dict)
    reaped: list[HoldId] = field(default_factory=list)


@dataclass
class LastMoment:
    """Holds end spread over about the time the previous batch took to serve, so on any machine
    about half of the requests come too late. The random numbers are seeded."""

    world: PostgresWorld
    engines: list[Admission]
    seed: int = 1459
    span_seconds: float = 0.2

    def run(self, rounds: int, make_command: Callable[[Venue, HoldId], Command]) -> Race:
        """Run the race; `make_command` makes what a buyer sends at the end of the hold."""
        venue, names = self.hall_of(rounds)
        race = Race(venue)
        dice = random.Random(self.seed)
        with self._reaping(race), psycopg.connect(self.world.url, autocommit=True) as owner:
            for start in range(0, rounds, BATCH):
                hold_ids = self.hold_seats(venue, names[start : start + BATCH])
                ends = set_ends(owner, venue, hold_ids, 0.005, self.span_seconds)
                self._ask(race, _near(ends, self.span_seconds, dice), make_command)
            self._await_the_last(venue)
        return race

    def hall_of(self, seats: int) -> tuple[Venue, list[str]]:
        """A hall without pools, so commands contend only for a hold and its seat."""
        hall_rows = {f"R{number}": BATCH for number in range(-(-seats // BATCH))}
        hall = Hall({"Stalls": hall_rows}, {"seat": ()})
        venue = self.world.build(Plan({}, {}, hall=hall))
        return venue, list(venue.places)[:seats]

    def hold_seats(self, venue: Venue, names: list[str]) -> list[HoldId]:
        futures = [self.engines[0].submit(venue.seats(name)) for name in names]
        outcomes = [future.result(ANSWER_SECONDS).outcome for future in futures]
        holds = [outcome.hold for outcome in outcomes if isinstance(outcome, Placed)]
        assert len(holds) == len(names)
        return [hold.id for hold in holds]

    def _ask(
        self, race: Race, hold_ids: list[HoldId], make_command: Callable[[Venue, HoldId], Command]
    ) -> None:
        started = time.monotonic()
        futures = {
            hold_id: self.engines[0].submit(make_command(race.venue, hold_id))
            for hold_id in hold_ids
        }
        for hold_id, future in futures.items():
            race.answers[hold_id] = future.result(ANSWER_SECONDS).outcome
        self.span_seconds = time.monotonic() - started

    @contextmanager
    def _reaping(self, race: Race) -> Iterator[None]:
        stopped = threading.Event()
        background = threading.Thread(target=self._reap, args=(race, stopped))
        background.start()
        try:
            yield
        finally:
            stopped.set()
            background.join()

    def _reap(self, race: Race, stopped: threading.Event) -> None:
        database = Database(self.world.url)
        database.open()
        reaper = Reaper(PostgresHolds(database), RecordingEngine(self.engines[1], race.reaped))
        while not stopped.wait(0.002):
            with suppress(StoreUnavailable):  # as a duty does
                reaper.run_once()
        database.close()

    def _await_the_last(self, venue: Venue) -> None:
        query = (
            "SELECT count(*) FROM hold WHERE organization_id = %s AND status = 'active'"
            " AND expires_at <= clock_timestamp() + interval '60 seconds'"
        )
        give_up_at = time.monotonic() + ANSWER_SECONDS
        while rows(self.world.url, query, venue.organization_id) != [(0,)]:
            assert time.monotonic() < give_up_at, "nobody expired them"
            time.sleep(0.02)


def _near(ends: dict[HoldId, datetime], span_seconds: float, dice: random.Random) -> list[HoldId]:
    """The holds roughly in the order of their ends."""
    reach = span_seconds / 3
    moments = {id_: end.timestamp() + dice.uniform(-reach, reach) for id_, end in ends.items()}
    return sorted(moments, key=moments.__getitem__)


def set_ends(
    owner: "psycopg.Connection[tuple[Any, ...]]",
    venue: Venue,
    hold_ids: list[HoldId],
    first_in_seconds: float,
    span_seconds: float = 0.0,
) -> dict[HoldId, datetime]:
    row = owner.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    first, step = row[0] + timedelta(seconds=first_in_seconds), span_seconds / len(hold_ids)
    ends = {id_: first + timedelta(seconds=n * step) for n, id_ in enumerate(hold_ids)}
    owner.execute(
        SET_ENDS,
        {"organization": venue.organization_id, "ids": hold_ids, "ends": list(ends.values())},
    )
    return ends
