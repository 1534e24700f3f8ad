"""Each client chooses a random seat in an arena."""

from collections.abc import Sequence
from functools import partial

from bench.lab import Lab
from bench.load import random_seat_script
from bench.placing import SEAT_CLIENTS, figure_of, seats_by_pgbench, seats_by_server
from bench.results import Figure
from bench.rounds import Plan, alternate


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    measured = alternate(
        plan,
        "random seats",
        {
            "pgbench": seats_by_pgbench(lab, plan, 1),
            "server": seats_by_server(lab, plan, partial(random_seat_script, lab)),
        },
    )
    base, ours = measured.of("pgbench"), measured.of("server")
    return [
        figure_of("random seats, pgbench", SEAT_CLIENTS, base),
        figure_of("random seats", SEAT_CLIENTS, ours, versus="pgbench", base=base, must=1.3),
    ]
