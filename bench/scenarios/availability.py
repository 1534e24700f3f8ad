"""Reading the availability of 100 ticket types, also with many lapsed holds not yet expired."""

from collections.abc import Callable, Sequence

from bench.lab import POOLS, SESSION_ID, Lab
from bench.load import LoadRun, read_script, run_wrk
from bench.loading import HOUR_SECONDS, load_holds
from bench.placing import figure_of
from bench.results import Figure
from bench.rounds import Plan, alternate

CLIENTS = 16
LAPSED = 200_000
NONE, MANY = "availability read, 100 types", f"the same, {LAPSED:,} lapsed"


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    measured = alternate(
        plan, "availability", {NONE: _reading(lab, plan, 0), MANY: _reading(lab, plan, LAPSED)}
    )
    none, many = measured.of(NONE), measured.of(MANY)
    return [
        figure_of(NONE, CLIENTS, none),
        figure_of(MANY, CLIENTS, many, versus="nothing lapsed", base=none, must=0.5),
    ]


def _reading(lab: Lab, plan: Plan, lapsed: int) -> Callable[[], LoadRun]:
    def measure() -> LoadRun:
        lab.clear()
        if lapsed:
            load_holds(lab, lapsed, ends_in_seconds=-HOUR_SECONDS, pools=POOLS)
        script = read_script(lab, f"/api/sessions/{SESSION_ID}/availability")
        with lab.server(duties="none") as server:
            return run_wrk(lab, server, script, CLIENTS, plan.seconds)

    return measure
