"""`make bench`: measure everything; exit code 0 if every `must` is met."""

import argparse
import sys
from pathlib import Path

from bench.against import compare
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
    options = _options()
    settings = load_settings()
    configure_logs(settings)
    wrk_program()
    plan = _plan(options)
    if options.against:
        print(compare(options.against, plan, options.only))  # noqa: T201
        return 0
    chosen = [
        scenario
        for scenario in (QUICK if options.quick else ALL)
        if options.only in scenario.__module__
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


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the two main scenarios only")
    parser.add_argument("--against", metavar="REF", help="compare with this version, in turns")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--rounds", type=int, help="measurements of each side")
    parser.add_argument("--seconds", type=int, help="duration of each measurement")
    return parser.parse_args()


def _plan(options: argparse.Namespace) -> Plan:
    rounds, seconds = 3, 4
    if options.against:
        rounds, seconds = 5, 3
    elif options.quick:
        rounds, seconds = 2, 5
    return Plan(options.quick, options.rounds or rounds, options.seconds or seconds)


if __name__ == "__main__":
    sys.exit(main())
