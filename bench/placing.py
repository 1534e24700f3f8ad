"""Placing holds with pgbench and with our server, under the same conditions."""

from collections.abc import Callable, Sequence
from functools import partial

from bench.cost.figures import median_cost
from bench.hall import empty_halls
from bench.lab import Lab, RunningServer
from bench.load import LoadRun, place_script, run_wrk, with_counts
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan
from bench.yardstick import PgbenchRun, hold_script, run_pgbench, seats_script

WARM_UP_SECONDS = 1
SEAT_CLIENTS = 64


def by_pgbench(
    lab: Lab, plan: Plan, *, is_hot: bool, clients: int
) -> Callable[[], PgbenchRun | LoadRun]:
    def measure() -> PgbenchRun:
        lab.clear()
        run_pgbench(lab, hold_script(is_hot), clients, WARM_UP_SECONDS)
        return run_pgbench(lab, hold_script(is_hot), clients, plan.seconds)

    return measure


def by_server(
    lab: Lab,
    plan: Plan,
    *,
    is_hot: bool,
    clients: int,
    group_max: int = 128,
    processes: int = 1,
    prepare: Callable[[], None] | None = None,
) -> Callable[[], PgbenchRun | LoadRun]:
    def measure() -> LoadRun:
        (prepare or lab.clear)()
        with lab.server(processes, group_max) as server:
            script = partial(_place_script, lab, is_hot)
            return load_server(lab, server, script, clients, plan.seconds)

    return measure


def _place_script(lab: Lab, is_hot: bool, seed: int) -> str:
    return place_script(lab, is_hot=is_hot, seed=seed)


def load_server(
    lab: Lab, server: RunningServer, script: Callable[[int], str], clients: int, seconds: float
) -> LoadRun:
    """Warm up, measure, count. `script` makes the load from a seed."""
    run_wrk(lab, server, script(1), clients, WARM_UP_SECONDS)
    measured = run_wrk(lab, server, script(2), clients, seconds)
    return with_counts(measured, lab, server, script(3), clients)


def seats_by_pgbench(lab: Lab, plan: Plan, count: int) -> Callable[[], PgbenchRun | LoadRun]:
    def measure() -> PgbenchRun:
        empty_halls(lab)
        run_pgbench(lab, seats_script(count), SEAT_CLIENTS, WARM_UP_SECONDS)
        return run_pgbench(lab, seats_script(count), SEAT_CLIENTS, plan.seconds)

    return measure


def seats_by_server(
    lab: Lab, plan: Plan, script: Callable[[int], str]
) -> Callable[[], PgbenchRun | LoadRun]:
    """`script` makes the load from a seed."""

    def measure() -> LoadRun:
        empty_halls(lab)
        with lab.server() as server:
            return load_server(lab, server, script, SEAT_CLIENTS, plan.seconds)

    return measure


def figure_of(
    name: str,
    clients: int,
    runs: Sequence[PgbenchRun | LoadRun],
    *,
    versus: str | None = None,
    base: Sequence[PgbenchRun | LoadRun] = (),
    must: float | None = None,
) -> Figure:
    """The medians of both sides, and the latencies if there are any."""
    rates = [run.rate for run in runs]
    loads = [run for run in runs if isinstance(run, LoadRun)]
    refused = sum(run.refused + run.broken for run in loads)
    return Figure(
        name=name,
        clients=clients,
        rate=median(rates),
        spread=relative_spread(rates),
        versus=versus,
        base_rate=median([run.rate for run in base]) if base else None,
        must=must,
        p50_ms=median([run.p50_ms for run in loads]) if loads else None,
        p95_ms=median([run.p95_ms for run in loads]) if loads else None,
        p99_ms=median([run.p99_ms for run in loads]) if loads else None,
        note=f" {refused} refused or broken" if refused else "",
        cost=median_cost([run.cost for run in loads if run.cost is not None]),
    )
