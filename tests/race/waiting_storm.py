"""Random buyers and waiting parties on one small pool, over two engines, and a check of the order
in which they were served."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
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
from tests.support.patience import PATIENCE_SECONDS

PLACES = 12
CARTS = 16
BURST_MAX = 24
REMEMBERED = 60
# Short, so that some promotions and waiting holds expire.
HASTY = HoldPolicy(ttl_seconds=2, warning_seconds=0, waitlist=True, waiting_seconds=3)
# SERVICE_UNAVAILABLE is harmless: it is the answer when the machine stalls for seconds.
BROKEN = {RefusalCode.INTERNAL_ERROR}

FACTS = """
SELECT type, hold_id, occurred_at,
    (payload ->> 'quantity')::integer - (payload ->> 'previous_quantity')::integer
FROM outbox WHERE organization_id = %s ORDER BY occurred_at, xid, seq
"""
EXPIRED = "SELECT 1 FROM outbox WHERE organization_id = %s AND type = 'hold.expired' LIMIT 1"


@dataclass
class WaitingStorm:
    two_engines: TwoEngines
    seed: int
    venue: Venue = field(init=False)
    outcomes: Counter[str] = field(default_factory=Counter)
    _dice: random.Random = field(init=False)
    _known: list[HoldId] = field(default_factory=list)

    def __post_init__(self) -> None:
        world, _ = self.two_engines
        self._dice = random.Random(self.seed)
        self.venue = world.build(Plan({"floor": PLACES}, {"standing": ("floor",)}, HASTY))

    def run(self, bursts: int) -> None:
        """At least so many, and on until a hold has run out of time: machines are fast or slow."""
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        with self._duties():
            for number in count():
                if number >= bursts and (self._has_expired() or time.monotonic() > give_up_at):
                    return
                commands = [self._draw() for _ in range(self._dice.randint(1, BURST_MAX))]
                futures = [self._submit(command) for command in commands]
                for future in futures:
                    self._record(future.result(ANSWER_SECONDS))

    def _has_expired(self) -> bool:
        world, _ = self.two_engines
        return bool(rows(world.url, EXPIRED, self.venue.organization_id))

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

    def _record(self, answer: Answer) -> None:
        outcome = answer.outcome
        if isinstance(outcome, Placed | Waiting | CartChanged):
            self._known = [*self._known[-REMEMBERED:], outcome.hold.id]
        if isinstance(outcome, Refusal):
            assert outcome.code not in BROKEN, outcome
        self.outcomes[type(outcome).__name__] += 1

    @contextmanager
    def _duties(self) -> Iterator[None]:
        """Run the reaper and the promoter on the second engine."""
        stopped = threading.Event()
        background = threading.Thread(target=self._run_duties, args=(stopped,))
        background.start()
        try:
            yield
        finally:
            stopped.set()
            background.join()

    def _run_duties(self, stopped: threading.Event) -> None:
        world, engines = self.two_engines
        database = Database(world.url)
        database.open()
        holds = PostgresHolds(database)
        reaper, promoter = Reaper(holds, engines[1]), Promoter(holds, engines[1])
        while not stopped.wait(0.02):
            with suppress(StoreUnavailable):  # as a duty does
                reaper.run_once()
                promoter.run_once()
        run_to_the_end(promoter)
        database.close()

    def assert_first_come_first_served(self) -> list[UUID]:
        """Replay the facts by time and return the parties still waiting. The waitlist is locked, so
        its clock never goes backwards and gives the order of all facts."""
        world, _ = self.two_engines
        since: dict[UUID, datetime] = {}
        for kind, hold_id, at, added in rows(world.url, FACTS, self.venue.organization_id):
            match kind:
                case "hold.waiting":
                    since[hold_id] = at
                case "hold.promoted":
                    assert in_order(since)[0] == hold_id, "somebody was overtaken"
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
    """By time, then by id."""
    return sorted(since, key=lambda hold_id: (since[hold_id], hold_id))
