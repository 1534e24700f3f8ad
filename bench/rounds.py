"""Alternating rounds: each contender is measured once per round, which spreads noise of the machine
over all of them. Their medians are compared."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class Plan:
    """The duration and number of rounds. A quick plan is for a first impression."""

    is_quick: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def rounds(self) -> int:
        return 2 if self.is_quick else 3

    @property
    def seconds(self) -> int:
        return 5 if self.is_quick else 4

    def log(self, text: str) -> None:
        elapsed = time.monotonic() - self.started
        sys.stderr.write(f"[{elapsed:6.1f} s] {text}\n")
        sys.stderr.flush()


@dataclass(frozen=True)
class Measured(Generic[T]):
    runs: Mapping[str, list[T]]

    def of(self, name: str) -> list[T]:
        return self.runs[name]


def alternate(plan: Plan, title: str, contenders: Mapping[str, Callable[[], T]]) -> Measured[T]:
    runs: dict[str, list[T]] = {name: [] for name in contenders}
    for number in range(plan.rounds):
        for name, measure in contenders.items():
            plan.log(f"{title}: {name}, round {number + 1} of {plan.rounds}")
            runs[name].append(measure())
    return Measured(runs)
