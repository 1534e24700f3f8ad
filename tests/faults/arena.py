"""A burst of holds against an engine, and what must be true afterwards, whatever happened."""

import time
from collections import Counter
from collections.abc import Set
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from holdfast.adapters.postgres.connections.connection import RECONNECT_PAUSE_SECONDS
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Outcome, Placed
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.ids import HoldId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission, Limits
from holdfast.ports.engine import Answer
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows

PLACES = 100_000
# Of four commands one names a seat, one has two found for it, and two are for general admission;
# when the hall is full, all are.
ROWS, SEATS_IN_ROW = 20, 50
HALL = Hall(
    {
        "Stalls": {f"R{number}": SEATS_IN_ROW for number in range(ROWS)},
        "Balcony": {f"B{number}": SEATS_IN_ROW for number in range(ROWS)},
    },
    {"seat": ()},
    capacities={"Balcony": ROWS * SEATS_IN_ROW - 1},
)
REPEATED_AT_ONCE = 1_000
# The time to notice a silent server and to resolve an unknown commit, on a machine that is busy.
BOUND_SECONDS = 60.0


def render(outcome: Outcome) -> bytes:
    """Something that tells two effects apart."""
    return b"placed " + outcome.hold.id.bytes if isinstance(outcome, Placed) else b"refused"


@dataclass
class Arena:
    """`url` leads straight to PostgreSQL; the engine may go another way."""

    url: str
    engine_url: str
    limits: Limits = field(default_factory=lambda: Limits(deadline_seconds=BOUND_SECONDS / 2))

    def __post_init__(self) -> None:
        self.world = PostgresWorld(self.url)
        self.venue: Venue = self.world.build(
            Plan({"floor": PLACES}, {"standing": ("floor",)}, hall=HALL)
        )
        self.engine = Admission(PostgresStore(self.engine_url), self.limits)
        self.engine.start()
        self.commands: list[PlaceHold] = []
        self.seen: dict[int, bytes] = {}

    def close(self) -> None:
        self.engine.stop()
        self.world.close()

    def burst(self, count: int) -> list[Future[Answer]]:
        """New commands, each with a key of its own."""
        first = len(self.commands)
        for number in range(first, first + count):
            command = self.venue.place(self._ask(number), key=self.venue.key())
            origin = Origin("test", f"request-{number}", "127.0.0.1", "pytest")
            self.commands.append(replace(command, origin=origin))
        return self.submit(range(first, first + count))

    def _ask(self, number: int) -> Ask | SeatAsk:
        turn, kind = divmod(number, 4)
        if kind == 1 and turn < ROWS * SEATS_IN_ROW:
            row, seat = divmod(turn, SEATS_IN_ROW)
            return self.venue.these(f"Stalls R{row} {seat + 1}")
        if kind == 2 and 2 * turn < ROWS * SEATS_IN_ROW - 2:
            return self.venue.some("seat", 2, block="Balcony")
        return self.venue.some("standing", 1)

    def submit(self, numbers: range) -> list[Future[Answer]]:
        return [self.engine.submit(self.commands[number], render) for number in numbers]

    def answered(self, futures: list[Future[Answer]], first: int = 0) -> Counter[str]:
        """Wait for all, within the bound; remember what the clients were told."""
        give_up_at = time.monotonic() + BOUND_SECONDS
        told: Counter[str] = Counter()
        for number, future in enumerate(futures, first):
            answer = future.result(max(0.1, give_up_at - time.monotonic()))
            told[self._kind(answer)] += 1
            if answer.body is not None and answer.body.startswith(b"placed"):
                known = self.seen.setdefault(number, answer.body)
                assert known == answer.body, "one key, two answers"
        return told

    @staticmethod
    def _kind(answer: Answer) -> str:
        match answer.outcome:
            case Placed():
                return "placed"
            case Refusal(code=code):
                return code.value
            case _:
                return "replayed"

    def assert_nothing_lost_and_nothing_twice(self, besides: Set[HoldId] = frozenset()) -> None:
        """Counters equal rows; every answer that a client saw is in the database; whoever repeats a
        key gets the answer that it missed; no key had two effects; the next group works. Holds
        besides those of the bursts are named."""
        self.world.close()  # its connection may have been a victim too
        assert_sound(self.url)
        in_database = {
            row[0].bytes
            for row in rows(
                self.url,
                "SELECT id FROM hold WHERE organization_id = %s",
                self.venue.organization_id,
            )
        }
        told = {body.removeprefix(b"placed ") for body in self.seen.values()}
        assert told <= in_database
        time.sleep(RECONNECT_PAUSE_SECONDS)  # a connection that failed is not tried again before
        repeated: Counter[str] = Counter()
        for first in range(0, len(self.commands), REPEATED_AT_ONCE):
            some = range(first, min(first + REPEATED_AT_ONCE, len(self.commands)))
            repeated += self.answered(self.submit(some), first)
        assert set(repeated) <= {"replayed", "placed"}, repeated
        assert len(self.seen) == len(self.commands)
        assert len(set(self.seen.values())) == len(self.commands)
        ids = {command.hold_id for command in self.commands}
        assert ids | besides == set(self.world.holds(self.venue)), "one hold per key"
        assert self.answered(self.burst(3), len(self.commands) - 3) == {"placed": 3}
        assert_sound(self.url)


UNAVAILABLE = RefusalCode.SERVICE_UNAVAILABLE.value
BROKEN = RefusalCode.INTERNAL_ERROR.value
