"""Changing carts against placing holds, in the same pool."""

from collections.abc import Callable, Sequence
from functools import partial

from bench.lab import Lab
from bench.load import LoadRun, change_script
from bench.placing import by_server, figure_of, load_server
from bench.results import Figure
from bench.rounds import Plan, alternate

CLIENTS = 64
PLACED, CHANGED = "holds, hot pool", "changes of carts"


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    measured = alternate(
        plan,
        "carts",
        {
            PLACED: by_server(lab, plan, is_hot=True, clients=CLIENTS),
            CHANGED: _changing(lab, plan),
        },
    )
    placed, changed = measured.of(PLACED), measured.of(CHANGED)
    return [figure_of(CHANGED, CLIENTS, changed, versus=PLACED, base=placed)]


def _changing(lab: Lab, plan: Plan) -> Callable[[], LoadRun]:
    def measure() -> LoadRun:
        lab.clear()
        with lab.server() as server:
            return load_server(lab, server, partial(change_script, lab), CLIENTS, plan.seconds)

    return measure
