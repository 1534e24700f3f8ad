"""The same load, spread over a hundred pools."""

from collections.abc import Sequence

from bench.lab import Lab
from bench.results import Figure
from bench.rounds import Plan
from bench.scenarios.pools import compare


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    return compare(lab, plan, "spread pools", is_hot=False, must_at_64=1.6)
