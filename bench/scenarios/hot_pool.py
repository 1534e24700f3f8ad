"""All clients want the same pool."""

from collections.abc import Sequence

from bench.lab import Lab
from bench.results import Figure
from bench.rounds import Plan
from bench.scenarios.pools import compare


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    return compare(lab, plan, "hot pool", is_hot=True, must_at_64=4.0)
