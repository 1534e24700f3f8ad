"""A thousand clients want one seat. Exactly one must win, without server errors."""

from collections.abc import Sequence

from bench.hall import empty_halls, seat_id
from bench.lab import EVENT_ID, Lab
from bench.load import run_wrk, stampede_script
from bench.placing import figure_of
from bench.results import Figure
from bench.rounds import Plan

CLIENTS = 1_000
P99_MS_MAX = 500.0


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    path = f"/api/events/{EVENT_ID}/seats/{seat_id(1)}/reserve"
    runs = []
    for number in range(plan.rounds):
        plan.log(f"one seat, {CLIENTS:,} clients, round {number + 1} of {plan.rounds}")
        empty_halls(lab)
        with lab.server() as server:
            runs.append(run_wrk(lab, server, stampede_script(lab, path), CLIENTS, plan.seconds))
    won = sum(run.counted["won"] for run in runs)
    failed = sum(run.counted["failed"] + run.broken for run in runs)
    lost = sum(run.counted["lost"] for run in runs)
    is_sound = won == len(runs) and not failed
    shown = figure_of("one seat, answers", CLIENTS, runs)
    return [
        Figure(
            "one seat, winners per sale",
            CLIENTS,
            won / len(runs),
            versus="exactly one",
            base_rate=1.0 if is_sound else float("inf"),
            must=1.0,
            note=f" {lost:,} clear refusals, {failed} failures",
        ),
        Figure(
            shown.name,
            CLIENTS,
            sum(sum(run.counted.values()) for run in runs) / len(runs) / plan.seconds,
            p50_ms=shown.p50_ms,
            p95_ms=shown.p95_ms,
            p99_ms=shown.p99_ms,
            p99_ms_max=P99_MS_MAX,
        ),
    ]
