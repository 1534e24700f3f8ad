"""Retries with the same idempotency keys."""

from collections.abc import Sequence

from bench.lab import Lab
from bench.load import replay_script, run_wrk
from bench.placing import WARM_UP_SECONDS, figure_of
from bench.results import Figure
from bench.rounds import Plan

CLIENTS = 64


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    runs = []
    for number in range(plan.rounds):
        plan.log(f"replay of keys, round {number + 1} of {plan.rounds}")
        lab.clear()
        with lab.server() as server:
            run_wrk(lab, server, replay_script(lab), CLIENTS, WARM_UP_SECONDS)
            runs.append(run_wrk(lab, server, replay_script(lab), CLIENTS, plan.seconds))
    return [figure_of("idempotent replay", CLIENTS, runs)]
