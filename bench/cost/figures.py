"""The cost of one answer, and its table."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Counts:
    """Statements and round trips of a group, and Python functions called for one answer."""

    statements: float | None = None
    round_trips: float | None = None
    calls: float | None = None


@dataclass(frozen=True)
class Cost(Counts):
    """CPU time of one answer in microseconds, and of one calibration loop beside it. `locked_us` is
    the wall time of its group's transaction, divided by the size of the group. None: there were no
    groups, or nothing was counted."""

    front_us: float = 0.0
    engine_us: float = 0.0
    duties_us: float = 0.0
    postgres_us: float = 0.0
    loop_us: float = 0.0
    locked_us: float | None = None
    group_size: float | None = None

    @property
    def ours_us(self) -> float:
        return self.front_us + self.engine_us + self.duties_us

    @property
    def in_postgres(self) -> float | None:
        """Our CPU time relative to PostgreSQL's."""
        return self.ours_us / self.postgres_us if self.postgres_us else None

    @property
    def in_loops(self) -> float | None:
        """Our CPU time relative to the calibration loop's."""
        return self.ours_us / self.loop_us if self.loop_us else None


COLUMNS: Mapping[str, tuple[Callable[[Cost], float | None], str]] = {
    "front us": (lambda cost: cost.front_us, ",.0f"),
    "engine us": (lambda cost: cost.engine_us, ",.0f"),
    "PostgreSQL us": (lambda cost: cost.postgres_us, ",.0f"),
    "locked us": (lambda cost: cost.locked_us, ",.0f"),
    "ours/PostgreSQL": (lambda cost: cost.in_postgres, ".2f"),
    "ours/loop": (lambda cost: cost.in_loops, ".2f"),
    "group": (lambda cost: cost.group_size, ".1f"),
    "statements": (lambda cost: cost.statements, ".1f"),
    "trips": (lambda cost: cost.round_trips, ".1f"),
    "calls": (lambda cost: cost.calls, ",.0f"),
}


def median_cost(costs: Sequence[Cost]) -> Cost | None:
    """The median of each figure."""
    if not costs:
        return None
    medians = {}
    for field in fields(Cost):
        known = [value for cost in costs if (value := getattr(cost, field.name)) is not None]
        medians[field.name] = statistics.median(known) if known else None
    return Cost(**medians)  # type: ignore[arg-type]


def cost_table(rows: Sequence[tuple[str, int, Cost]]) -> str:
    """One row for each scenario and number of clients."""
    head = f"{'cost of one answer':<38}{'clients':>8}"
    head += "".join(f"  {name}" for name in COLUMNS)
    lines = [head, "-" * len(head)]
    for name, clients, cost in rows:
        line = f"{name:<38}{clients:>8}"
        for column, (figure, shape) in COLUMNS.items():
            value = figure(cost)
            line += f"  {'' if value is None else format(value, shape):>{len(column)}}"
        lines.append(line)
    return "\n".join(lines)
