"""Buyers and waiters of all kinds on one small pool, over two engines, drawn from a seed; and the
order in which the facts say that they were served."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import CartChanged, Placed, Waiting
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.ports.engine import Answer
from holdfast.ports.store import StoreUnavailable
from holdfast.services.holds.reaper import Reaper
from holdfast.services.waitlist import Promoter
from tests.contract.venues import Plan, Venue
from tests.race.guards import TwoEngines
from tests.race.lines import ANSWER_SECONDS, empty, fill, renew, run_to_the_end, somebody
from tests.support.auditing import rows

PLACES = 12
CARTS = 16
BURST_MAX = 24
REMEMBERED = 60
# Short, so that promotions that nobody takes lapse, and waiters lose patience.
HASTY = HoldPolicy(ttl_seconds=2, warning_seconds=0, waitlist=True, waiting_seconds=3)
# Unavailable is what people are told when the machine stands still for seconds, and does no harm.
BROKEN = {RefusalCode.INTERNAL_ERROR}

FACTS = """
SELECT type, hold_id, occurred_at,
    (payload ->> 'quantity')::integer - (payload ->> 'previous_quantity')::integer
FROM outbox WHERE organization_id = %s ORDER BY occurred_at, xid, seq
"""


@dataclass
class WaitingStorm:
    two_engines: TwoEngines
    seed: int
    venue: Venue = field(init=False)
    told: Counter[str] = field(default_factory=Counter)
    _dice: random.Random = field(init=False)
    _known: list[HoldId] = field(default_factory=list)

    def __post_init__(self) -> None:
        world, _ = self.two_engines
        self._dice = random.Random(self.seed)
        self.venue = world.build(Plan({"floor": PLACES}, {"standing": ("floor",)}, HASTY))

    def rage(self, bursts: int) -> None:
        with self._duties():
            for _ in range(bursts):
                commands = [self._draw() for _ in range(self._dice.randint(1, BURST_MAX))]
                futures = [self._submit(command) for command in commands]
                for future in futures:
                    self._listen(future.result(ANSWER_SECONDS))

    def _draw(self) -> Command:
        cart, wanted = f"cart-{self._dice.randrange(CARTS)}", self._dice.randint(1, 3)
        draws: dict[Callable[[], Command], int] = {
            lambda: self.venue.place(("standing", wanted), holder=somebody()): 6,
            lambda: fill(self.venue, cart, ("standing", wanted)): 6,
            lambda: renew(self.venue, cart): 2,
            lambda: empty(self.venue, cart): 2,
            lambda: self.venue.release(self._dice.choice(self._known)): 6 if self._known else 0,
            lambda: self.venue.expire(self._dice.choice(self._known)): 2 if self._known else 0,
            self._promote: 1,
        }
        (draw,) = self._dice.choices(list(draws), list(draws.values()))
        return draw()

    def _promote(self) -> PromoteWaiting:
        origin = Origin("storm", "request-1")
        return PromoteWaiting(self.venue.organization_id, self.venue.session_id, origin)

    def _submit(self, command: Command) -> Future[Answer]:
        _, engines = self.two_engines
        return self._dice.choice(engines).submit(command)

    def _listen(self, answer: Answer) -> None:
        outcome = answer.outcome
        if isinstance(outcome, Placed | Waiting | CartChanged):
            self._known = [*self._known[-REMEMBERED:], outcome.hold.id]
        if isinstance(outcome, Refusal):
            assert outcome.code not in BROKEN, outcome
        self.told[type(outcome).__name__] += 1

    @contextmanager
    def _duties(self) -> Iterator[None]:
        """The reaper and the promoter are at work on the second engine."""
        stopped = threading.Event()
        background = threading.Thread(target=self._tend, args=(stopped,))
        background.start()
        try:
            yield
        finally:
            stopped.set()
            background.join()

    def _tend(self, stopped: threading.Event) -> None:
        world, engines = self.two_engines
        database = Database(world.url)
        database.open()
        holds = PostgresHolds(database)
        reaper, promoter = Reaper(holds, engines[1]), Promoter(holds, engines[1])
        while not stopped.wait(0.02):
            with suppress(StoreUnavailable):  # a duty goes on after that, too
                reaper.run_once()
                promoter.run_once()
        run_to_the_end(promoter)
        database.close()

    def assert_first_come_first_served(self) -> list[UUID]:
        """Played again from the facts, with nothing but the moments since when people wait; who
        still does in the end. Under the lock of the line the clock only goes forwards, so it tells
        the order of all of them."""
        world, _ = self.two_engines
        since: dict[UUID, datetime] = {}
        for kind, hold_id, at, added in rows(world.url, FACTS, self.venue.organization_id):
            match kind:
                case "hold.waiting":
                    since[hold_id] = at
                case "hold.promoted":
                    assert in_order(since)[0] == hold_id, "somebody was passed"
                    del since[hold_id]
                case "hold.created":
                    assert not since, "a newcomer took what others wait for"
                case "hold.changed" if added > 0 and hold_id in since:
                    since[hold_id] = at
                case "hold.changed" if added > 0:
                    assert not since, "a cart grew by what others wait for"
                case "hold.cancelled" | "hold.expired":
                    since.pop(hold_id, None)
        return in_order(since)


def in_order(since: dict[UUID, datetime]) -> list[UUID]:
    """Who came at the same instant stands by id."""
    return sorted(since, key=lambda hold_id: (since[hold_id], hold_id))
