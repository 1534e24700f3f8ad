"""Bursts of holds and trades against an engine, and the checks that follow any fault."""

import time
from collections import Counter
from collections.abc import Sequence, Set
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from uuid import UUID

from holdfast.adapters.postgres.connections.connection import RECONNECT_PAUSE_SECONDS
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Converted, OrderCancelled, Outcome, Placed, Waiting
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
# Of four commands one names a seat, one takes two best seats, and two are general admission; once
# the hall is full, all are.
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
# Time to notice a silent server and to resolve an unknown commit on a busy machine.
BOUND_SECONDS = 60.0


def render(outcome: Outcome) -> bytes:
    """A body that differs for each hold."""
    match outcome:
        case Placed(hold=hold):
            return b"placed " + hold.id.bytes
        case Waiting() | Converted() | OrderCancelled():
            return b"done"
        case _:
            return b"refused"


@dataclass
class Arena:
    """`url` connects to PostgreSQL directly; the engine may use a proxy."""

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
        self.trades: list[list[Command]] = []  # the steps that are left

    def close(self) -> None:
        self.engine.stop()
        self.world.close()

    def burst(self, count: int) -> list[Future[Answer]]:
        """Submit new commands, each with its own key."""
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

    def begin_trades(self, numbers: range) -> None:
        """Of the holds that were placed: they are to be paid for, and then their orders cancelled,
        each with a key of its own."""
        for number in numbers:
            if number in self.seen:
                hold_id = HoldId(UUID(bytes=self.seen[number].removeprefix(b"placed ")))
                sale = self.venue.convert(hold_id, key=self.venue.key())
                order_id = sale.purchase.order_id
                self.trades.append([sale, self.venue.cancel(order_id, key=self.venue.key())])

    def next_steps(self) -> list[tuple[list[Command], Future[Answer]]]:
        """Submit the next step of each trade. One that was not answered is repeated."""
        return [(each, self.engine.submit(each[0], render)) for each in self.trades if each]

    def take_steps(self, under_way: Sequence[tuple[list[Command], Future[Answer]]]) -> None:
        for steps, future in under_way:
            kind = self._kind(future.result(BOUND_SECONDS))
            assert kind in {"waiting", "sold", "cancelled", "replayed", UNAVAILABLE}, kind
            if kind != UNAVAILABLE:
                steps.pop(0)

    def finish_trades(self) -> None:
        """Repeat steps until all were answered; then every hold was sold once, and every order
        cancelled once."""
        give_up_at = time.monotonic() + BOUND_SECONDS
        while under_way := self.next_steps():
            assert time.monotonic() < give_up_at, "steps that are never answered"
            self.take_steps(under_way)
        for kind in ("order.confirmed", "order.cancelled"):
            query = "SELECT count(*) FROM outbox WHERE type = %s"
            assert rows(self.url, query, kind) == [(len(self.trades),)]

    def answered(self, futures: list[Future[Answer]], first: int = 0) -> Counter[str]:
        """Wait for all answers within the bound, and remember them."""
        give_up_at = time.monotonic() + BOUND_SECONDS
        answers: Counter[str] = Counter()
        for number, future in enumerate(futures, first):
            answer = future.result(max(0.1, give_up_at - time.monotonic()))
            answers[self._kind(answer)] += 1
            if answer.body is not None and answer.body.startswith(b"placed"):
                known = self.seen.setdefault(number, answer.body)
                assert known == answer.body, "one key, two answers"
        return answers

    @staticmethod
    def _kind(answer: Answer) -> str:
        match answer.outcome:
            case Placed():
                return "placed"
            case Waiting():
                return "waiting"
            case Converted():
                return "sold"
            case OrderCancelled():
                return "cancelled"
            case Refusal(code=code):
                return code.value
            case _:
                return "replayed"

    def assert_nothing_lost_and_nothing_twice(self, besides: Set[HoldId] = frozenset()) -> None:
        """Check that counters match rows, every placed answer is in the database, repeated keys get
        their missed answers, no key had two effects, and the next group works. `besides` are holds
        outside the bursts."""
        self.world.close()  # its connection may be broken too
        assert_sound(self.url)
        in_database = {
            row[0].bytes
            for row in rows(
                self.url,
                "SELECT id FROM hold WHERE organization_id = %s",
                self.venue.organization_id,
            )
        }
        answers = {body.removeprefix(b"placed ") for body in self.seen.values()}
        assert answers <= in_database
        time.sleep(RECONNECT_PAUSE_SECONDS)  # a failed connection is not retried sooner
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
