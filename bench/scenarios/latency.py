"""The latency of a hold at half of the server's peak rate."""

from collections.abc import Sequence

from bench.lab import Lab
from bench.load import place_script, run_wrk, with_counts
from bench.placing import WARM_UP_SECONDS, figure_of
from bench.results import Figure
from bench.rounds import Plan

CLIENTS = 64


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    runs = []
    for number in range(plan.rounds):
        plan.log(f"latency at half of the peak, round {number + 1} of {plan.rounds}")
        lab.clear()
        with lab.server() as server:
            run_wrk(lab, server, place_script(lab, is_hot=True, seed=1), CLIENTS, WARM_UP_SECONDS)
            peak = run_wrk(lab, server, place_script(lab, is_hot=True, seed=2), CLIENTS, 3)
            # Clients pause to halve the rate; a trial run shows how long the response itself takes.
            round_ms = 1000 * CLIENTS / (peak.rate / 2)
            trial = place_script(lab, is_hot=True, pause_ms=round_ms, seed=3)
            answer_ms = run_wrk(lab, server, trial, CLIENTS, WARM_UP_SECONDS).p50_ms
            pause_ms = max(1.0, round_ms - answer_ms)
            script = place_script(lab, is_hot=True, pause_ms=pause_ms, seed=4)
            measured = run_wrk(lab, server, script, CLIENTS, plan.seconds)
            counted = place_script(lab, is_hot=True, pause_ms=pause_ms, seed=5)
            runs.append(with_counts(measured, lab, server, counted, CLIENTS))
    return [figure_of("latency at half of the peak", CLIENTS, runs)]
