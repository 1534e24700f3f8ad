"""Buyers come and go in a nearly sold-out hall, over two engines: everybody gets seats or a clear
refusal."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from holdfast.domain.group.outcomes import Outcome, Placed, Released
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from tests.contract.venues import Hall, Plan
from tests.race.guards import TwoEngines
from tests.support.auditing import assert_sound

CLIENTS = 24
ORDERS_OF_EACH = 12
CLEAR_ANSWERS = {
    "Placed",
    "no_available_seats",
    "insufficient_inventory",
    "lock_not_available",
}


def test_best_available_works_in_a_small_hall_under_churn(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 6, "B": 6}}, {"seat": ()})))

    def come_and_go(number: int) -> list[Outcome | None]:
        """Hold and release on either engine."""
        dice, holder = random.Random(number), Holder(user_id=f"user-{number}")
        outcomes = []
        for _ in range(ORDERS_OF_EACH):
            wish = venue.place(("seat", dice.randint(1, 4)), holder=holder)
            outcome = dice.choice(engines).submit(wish).result(60).outcome
            outcomes.append(outcome)
            if isinstance(outcome, Placed):
                leaving = dice.choice(engines).submit(venue.release(outcome.hold.id))
                assert isinstance(leaving.result(60).outcome, Released)
        return outcomes

    with ThreadPoolExecutor(CLIENTS) as clients:
        outcomes = [each for some in clients.map(come_and_go, range(CLIENTS)) for each in some]
    kinds = Counter(
        outcome.code.value if isinstance(outcome, Refusal) else type(outcome).__name__
        for outcome in outcomes
    )
    assert set(kinds) <= CLEAR_ANSWERS, kinds
    assert kinds["Placed"] > CLIENTS
    assert {seat.status for seat in world.seats(venue).values()} == {"available"}
    assert_sound(world.url)
