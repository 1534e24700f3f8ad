"""Runs all checks, one after the other, with the same item."""

from collections.abc import Iterator

from holdfast.domain.immutable import immutable
from holdfast.entrypoints.inventory.conformance.probe import Broken, Service
from holdfast.entrypoints.inventory.conformance.races import RACES
from holdfast.entrypoints.inventory.conformance.rules import RULES
from holdfast.entrypoints.inventory.conformance.states import STATES, takes_all_lines_or_none

TICKETS_MIN, TICKETS_MAX = 10, 99_999


class Unsuitable(Exception):
    """The item cannot be used for the checks."""


@immutable
class Result:
    check: str
    problem: str | None = None
    is_skipped: bool = False


def check_item(service: Service) -> None:
    """Raises Unsuitable."""
    try:
        available = service.counts().available
    except Broken as broken:
        raise Unsuitable(str(broken)) from None
    if not TICKETS_MIN <= available <= TICKETS_MAX:
        raise Unsuitable(
            f"{available} tickets are available; the checks need {TICKETS_MIN} to {TICKETS_MAX}"
        )


def results(service: Service) -> Iterator[Result]:
    before = service.counts()
    for check in (*STATES, *RULES, *RACES):
        name = check.__doc__ or check.__name__
        if check is takes_all_lines_or_none and service.other_type_id is None:
            yield Result(name, is_skipped=True)
            continue
        problem = None
        try:
            check(service)
        except Broken as broken:
            problem = str(broken)
        try:
            service.give_back()
            if problem is None:
                service.expect_counts(before, held=0, committed=0)
        except Broken as broken:
            problem = problem or f"afterwards, {broken}"
        yield Result(name, problem)
