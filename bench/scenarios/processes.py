"""A second server process on the same hot pool must not slow the sale down."""

from collections.abc import Sequence

from bench.lab import Lab
from bench.placing import by_server, figure_of
from bench.results import Figure
from bench.rounds import Plan, alternate

CLIENTS = 64


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    measured = alternate(
        plan,
        "server processes",
        {
            "one process": by_server(lab, plan, is_hot=True, clients=CLIENTS),
            "two processes": by_server(lab, plan, is_hot=True, clients=CLIENTS, processes=2),
        },
    )
    one, two = measured.of("one process"), measured.of("two processes")
    return [
        figure_of("hot pool, one process", CLIENTS, one),
        figure_of(
            "hot pool, two processes", CLIENTS, two, versus="one process", base=one, must=1.0
        ),
    ]
