"""`make bench`: measure everything; exit code 0 if every `must` is met."""

import argparse
import sys
from pathlib import Path

from bench.lab import Lab
from bench.load import wrk_program
from bench.plot import draw
from bench.results import Figure, table, write_json
from bench.rounds import Plan
from bench.scenarios import ALL, QUICK
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import load_settings

PLOT = Path(__file__).parents[1] / "docs" / "bench.svg"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the two main scenarios only")
    parser.add_argument("--only", help="scenarios whose module name contains this")
    options = parser.parse_args()
    settings = load_settings()
    configure_logs(settings)
    wrk_program()
    plan = Plan(is_quick=options.quick)
    chosen = [
        scenario
        for scenario in (QUICK if options.quick else ALL)
        if not options.only or options.only in scenario.__module__
    ]
    figures: list[Figure] = []
    with Lab() as lab:
        for scenario in chosen:
            figures += scenario(lab, plan)
    print(table(figures))  # noqa: T201
    if not options.only:
        path = settings.home / "bench.json"
        write_json(figures, path)
        print(f"\nWritten to {path}")  # noqa: T201
    if not options.quick and not options.only:
        draw(figures, PLOT)
        print(f"Drawn in {PLOT}")  # noqa: T201
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
