"""Best available for four seats together, against pgbench with four given seats."""

from collections.abc import Sequence
from functools import partial

from bench.lab import Lab
from bench.load import found_seats_script
from bench.placing import SEAT_CLIENTS, figure_of, seats_by_pgbench, seats_by_server
from bench.results import Figure
from bench.rounds import Plan, alternate

SEATS_TOGETHER = 4


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    measured = alternate(
        plan,
        "best available for 4",
        {
            "pgbench": seats_by_pgbench(lab, plan, SEATS_TOGETHER),
            "server": seats_by_server(lab, plan, partial(found_seats_script, lab, SEATS_TOGETHER)),
        },
    )
    base, ours = measured.of("pgbench"), measured.of("server")
    return [
        figure_of("4 named seats, pgbench", SEAT_CLIENTS, base),
        figure_of(
            "best available for 4", SEAT_CLIENTS, ours, versus="pgbench", base=base, must=1.0
        ),
    ]
