"""A thousand live holds against a million: the cost of a hold must stay constant."""

from collections.abc import Callable, Sequence

from bench.lab import Lab
from bench.loading import HOUR_SECONDS, load_holds
from bench.placing import by_server, figure_of
from bench.results import Figure
from bench.rounds import Plan, alternate

FEW, MANY = 1_000, 1_000_000
CLIENTS = 64


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    contenders = {
        f"{count:,} live holds": by_server(
            lab, plan, is_hot=True, clients=CLIENTS, prepare=_loaded(lab, plan, count)
        )
        for count in (FEW, MANY)
    }
    measured = alternate(plan, "live holds", contenders)
    few, many = (measured.of(name) for name in contenders)
    few_name, many_name = contenders
    return [
        figure_of(few_name, CLIENTS, few),
        figure_of(many_name, CLIENTS, many, versus=few_name, base=few, must=0.95),
    ]


def _loaded(lab: Lab, plan: Plan, count: int) -> Callable[[], None]:
    def load() -> None:
        lab.clear()
        plan.log(f"loading {count:,} live holds")
        # They expire in an hour, after the measurement.
        load_holds(lab, count, ends_in_seconds=HOUR_SECONDS)

    return load
