"""Many different queues in one session: the cost of checking the waitlist when nobody can be
promoted. Every release costs about as much."""

import time
from collections.abc import Callable, Sequence

from bench.lab import ORGANIZATION_ID, SESSION_ID, Lab
from bench.loading import load_queues
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan, alternate
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Promoted
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.engine import Admission, Limits

FEW, MANY = 100, 400
# Four times as many queues must cost four times as much, not sixteen times.
MUST = 0.8 * FEW / MANY


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    measured = alternate(
        plan,
        "different queues",
        {str(count): _looking(lab, plan, count) for count in (FEW, MANY)},
    )
    lab.clear()
    lab.set_waitlist(is_on=False)
    few, many = measured.of(str(FEW)), measured.of(str(MANY))
    return [
        Figure(f"looks, {FEW} queues", 1, median(few), spread=relative_spread(few)),
        Figure(
            f"looks, {MANY} queues",
            1,
            median(many),
            versus=f"{FEW} queues",
            base_rate=median(few),
            must=MUST,
            spread=relative_spread(many),
        ),
    ]


def _looking(lab: Lab, plan: Plan, count: int) -> Callable[[], float]:
    command = PromoteWaiting(
        OrganizationId(ORGANIZATION_ID), SessionId(SESSION_ID), Origin("bench", "bench")
    )

    def measure() -> float:
        lab.clear()
        lab.set_waitlist(is_on=True)
        plan.log(f"loading {count} queues")
        load_queues(lab, count)
        engine = Admission(PostgresStore(lab.url), Limits(deadline_seconds=60))
        engine.start()
        looks = 0
        started = time.perf_counter()
        while (seconds := time.perf_counter() - started) < plan.seconds:
            outcome = engine.submit(command).result().outcome
            assert isinstance(outcome, Promoted), outcome
            assert not outcome.count
            looks += 1
        engine.stop()
        return looks / seconds

    return measure
