"""Makes the two services agree about each hold that has a task: asks the Inventory Service, and
finishes or undoes what was interrupted.

Every step can be repeated, so several reconcilers can run at once. If one is killed, others take
its tasks after their lease.
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from enum import Enum, auto
from functools import partial

import structlog

from holdfast.domain.immutable import immutable
from holdfast.ports.inventory.reconciliation import (
    InventoryTask,
    InventoryTasks,
    OurSide,
    OurSides,
    ReconcilerState,
)
from holdfast.ports.inventory.service import InventoryConflict, InventoryUnavailable
from holdfast.ports.store import StoreError
from holdfast.services.inventory.agreement import Step
from holdfast.services.inventory.circuit import Circuit, CircuitState
from holdfast.services.inventory.mending import Mender, NotMended

# Few, compared with the calls for buyers' holds. A slow call delays none of the others.
CALLS_AT_ONCE_MAX = 4
RUN_SECONDS_MAX = 10.0
# More than the calls about one hold usually take.
LEASE_SECONDS = 30.0
# Before jitter. Adds to the time until both services agree again.
PAUSE_SECONDS_MAX = 15.0
CONTRADICTION_PAUSE_SECONDS = 600.0
CALLS_ARRIVE_WITHIN = timedelta(minutes=1)
_NOT_SOLD_THERE = {"invalid_session", "invalid_ticket_type"}
# A pending hold needs two steps; one that still differs after four is left for later.
STEPS_MAX = 4

_log = structlog.get_logger("holdfast.reconciler")


class Settled(Enum):
    AGREED = auto()
    POSTPONED = auto()
    CONTRADICTED = auto()


@immutable
class Outcome:
    """What became of a task, and the steps taken for it."""

    settled: Settled
    steps: tuple[Step, ...] = ()
    problem: str | None = None


@immutable
class Run:
    """The result of one run. `steps` counts what was done."""

    agreed: int = 0
    postponed: int = 0
    contradicted: int = 0
    steps: tuple[tuple[Step, int], ...] = ()


class Reconciler:
    def __init__(
        self, tasks: InventoryTasks, our_sides: OurSides, mender: Mender, circuit: Circuit
    ) -> None:
        self._tasks = tasks
        self._our_sides = our_sides
        self._mender = mender
        self._circuit = circuit

    def tend(self, interval_seconds: float) -> float:
        """Run once; returns the seconds to wait for the next run."""
        try:
            run = self.run_once()
        except StoreError as error:
            _log.warning("reconciler.failed", problem=error.problem)
            return interval_seconds
        return 0.0 if run.agreed else interval_seconds

    def state(self) -> ReconcilerState:
        return self._tasks.state()

    def run_once(self, seconds_max: float = RUN_SECONDS_MAX) -> Run:
        """Settle due tasks. Stops early if the Inventory Service is unavailable. May raise
        StoreError: what is unfinished then is taken again after its lease."""
        started = time.monotonic()
        if not self._circuit.may_try():
            return Run()
        is_trial = self._circuit.state is not CircuitState.CLOSED
        first = self._tasks.take(1 if is_trial else CALLS_AT_ONCE_MAX, LEASE_SECONDS)
        if not first:
            self._circuit.withdrew()
            return Run()
        work = partial(self._work, until=started + seconds_max)
        with ThreadPoolExecutor(CALLS_AT_ONCE_MAX, "holdfast-reconciler") as threads:
            outcomes = [each for some in threads.map(work, first) for each in some]
        counted = Counter(each.settled for each in outcomes)
        steps = Counter(step for each in outcomes for step in each.steps)
        run = Run(
            counted[Settled.AGREED],
            counted[Settled.POSTPONED],
            counted[Settled.CONTRADICTED],
            tuple(steps.items()),
        )
        self._log_run(run, started)
        return run

    def _work(self, first: InventoryTask, until: float) -> list[Outcome]:
        """Settle this task, then others, one at a time."""
        outcomes = [self.settle(first)]
        while time.monotonic() < until and self._circuit.state is CircuitState.CLOSED:
            more = self._tasks.take(1, LEASE_SECONDS)
            if not more:
                break
            outcomes.append(self.settle(more[0]))
        return outcomes

    def settle(self, task: InventoryTask) -> Outcome:
        """Make both sides agree about the hold of a task that was taken. May raise StoreError."""
        steps: list[Step] = []
        try:
            contradiction = self._agree(task, steps)
        except InventoryUnavailable as error:
            self._circuit.failed()
            _log.warning("reconciler.unavailable", **_named(task), problem=error.reason)
            return self._postpone(task, steps, error.reason)
        except NotMended as error:
            self._circuit.succeeded()
            return self._postpone(task, steps, str(error))
        except StoreError:
            raise
        except Exception as error:  # one hold must not keep the others from being settled
            _log.exception("reconciler.hold_failed", **_named(task))
            return self._postpone(task, steps, type(error).__name__)
        self._circuit.succeeded()
        if contradiction is None:
            self._tasks.done(task)
            return Outcome(Settled.AGREED, tuple(steps))
        _log.error("reconciler.contradiction", **_named(task), problem=contradiction)
        pause = CONTRADICTION_PAUSE_SECONDS
        self._tasks.postpone(task, pause, contradiction, is_contradiction=True)
        return Outcome(Settled.CONTRADICTED, tuple(steps), contradiction)

    def _agree(self, task: InventoryTask, steps: list[Step]) -> str | None:
        """Take steps until both sides agree. Returns the contradiction, if there is one."""
        read = partial(self._our_sides.of_hold, task.organization_id, task.hold_id)
        for _ in range(STEPS_MAX):
            seen = self._mender.look(task.hold_id, read)
            remedy = seen.remedy
            if seen.ours is None or remedy.step is Step.NOTHING:
                return None
            if remedy.step is Step.ALARM:
                return remedy.difference
            try:
                steps.append(self._mender.take(remedy.step, seen.ours))
            except InventoryConflict as error:
                if remedy.step is Step.RELEASE and error.reason in _NOT_SOLD_THERE:
                    _await_calls(seen.ours)
                    return None
                return f"{remedy.difference}; {remedy.step.name.lower()} refused: {error.reason}"
        raise NotMended("the two sides differ after each step")

    def _postpone(self, task: InventoryTask, steps: Sequence[Step], problem: str) -> Outcome:
        pause = min(PAUSE_SECONDS_MAX, 2.0 ** min(task.attempts, 10))
        pause *= random.uniform(0.5, 1.5)  # noqa: S311
        self._tasks.postpone(task, pause, problem, is_contradiction=False)
        return Outcome(Settled.POSTPONED, tuple(steps), problem)

    def _log_run(self, run: Run, started: float) -> None:
        state = self._tasks.state()
        _log.info(
            "reconciler.run",
            agreed=run.agreed,
            postponed=run.postponed,
            contradicted=run.contradicted,
            steps={step.name.lower(): count for step, count in run.steps},
            tasks=state.tasks,
            contradictions=state.contradictions,
            lag_seconds=round(state.lag_seconds, 1),
            duration_ms=int((time.monotonic() - started) * 1000),
        )


def _await_calls(ours: OurSide) -> None:
    """The session or ticket type is not sold there, so there is nothing to release, unless a call
    is still on its way."""
    if ours.at - ours.hold.updated_at < CALLS_ARRIVE_WITHIN:
        raise NotMended("its session or ticket type is unknown there")


def _named(task: InventoryTask) -> dict[str, str]:
    return {"organization_id": str(task.organization_id), "hold_id": str(task.hold_id)}
