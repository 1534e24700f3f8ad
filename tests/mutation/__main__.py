"""Mutation testing: `make mutants SECONDS=600 SEED=7`.

The fast tests are collected once. Each mutant runs in a forked process, which replaces the code of
the changed function and runs the tests that execute it, quickest first, until one fails. No file is
written, so it can be interrupted at any time."""

import argparse
import random
import sys

import pytest

from tests.mutation.runs import MutationRun

FAST_TESTS = ("tests/domain", "tests/engine", "tests/contract")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--only", default="", help="part of a path, or path:line")
    arguments = parser.parse_args()
    run = MutationRun(arguments.seed, arguments.seconds, arguments.only)
    quiet = ("-q", "-s", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-p", "no:xdist")
    status = pytest.main(
        [*FAST_TESTS, *quiet, "-k", "not postgres", "-m", "not alone"], plugins=[run]
    )
    return 0 if run.is_complete else int(status) or 1


if __name__ == "__main__":
    sys.exit(main())
