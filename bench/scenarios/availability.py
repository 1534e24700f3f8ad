"""Reading what is left of a session with a hundred ticket types."""

from collections.abc import Sequence

from bench.lab import SESSION_ID, Lab
from bench.load import read_script, run_wrk
from bench.placing import figure_of
from bench.results import Figure
from bench.rounds import Plan

CLIENTS = 16


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    lab.clear()
    script = read_script(lab, f"/api/sessions/{SESSION_ID}/availability")
    runs = []
    with lab.server() as server:
        for number in range(plan.rounds):
            plan.tell(f"availability, round {number + 1} of {plan.rounds}")
            runs.append(run_wrk(lab, server, script, CLIENTS, plan.seconds))
    return [figure_of("availability read, 100 types", CLIENTS, runs)]
