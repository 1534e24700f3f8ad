"""The results of a scenario, and their table."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.cost.figures import Cost, cost_table


@dataclass(frozen=True)
class Figure:
    """A row of the table. `ratio` is `rate` divided by `base_rate`, the rate of `versus`. `must` is
    the smallest ratio that passes; None is only shown. `p99_ratio` is a ratio of latencies instead,
    and `at_most` the largest that passes. `p99_ms_max` is a latency."""

    name: str
    clients: int
    rate: float
    versus: str | None = None
    base_rate: float | None = None
    must: float | None = None
    spread: float = 0.0
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    note: str = ""
    p99_ratio: float | None = None
    at_most: float | None = None
    p99_ms_max: float | None = None
    cost: Cost | None = None

    @property
    def ratio(self) -> float | None:
        if self.p99_ratio is not None:
            return self.p99_ratio
        return self.rate / self.base_rate if self.base_rate else None

    @property
    def holds(self) -> bool:
        if self.p99_ms_max is not None:
            return self.p99_ms is not None and self.p99_ms <= self.p99_ms_max
        if self.at_most is not None:
            return self.ratio is not None and self.ratio <= self.at_most
        return self.must is None or (self.ratio is not None and self.ratio >= self.must)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def relative_spread(values: Sequence[float]) -> float:
    """Half the range, relative to the median."""
    return (max(values) - min(values)) / 2 / median(values) if len(values) > 1 else 0.0


def table(figures: Sequence[Figure]) -> str:
    head = (
        f"{'scenario':<38}{'clients':>8}{'per s':>9}{'+/-':>6}  {'against':<24}{'per s':>8}"
        f"{'ratio':>7}{'must':>6}{'p50':>7}{'p95':>7}{'p99':>7}  (ms)"
    )
    lines = [head, "-" * len(head)]
    for figure in figures:
        ratio = f"{figure.ratio:.2f}" if figure.ratio is not None else ""
        must = f"{figure.must:.2f}" if figure.must is not None else ""
        must = must if figure.at_most is None else f"<={figure.at_most:.1f}"
        must = must if figure.p99_ms_max is None else f"<={figure.p99_ms_max:.0f}"
        base = f"{figure.base_rate:,.0f}" if figure.base_rate is not None else ""
        lines.append(
            f"{figure.name:<38}{figure.clients:>8}{figure.rate:>9,.0f}{figure.spread:>6.0%}"
            f"  {figure.versus or '':<24}{base:>8}{ratio:>7}{must:>6}"
            f"{_ms(figure.p50_ms):>7}{_ms(figure.p95_ms):>7}{_ms(figure.p99_ms):>7}"
            f"  {'' if figure.holds else 'FAILS'}{figure.note}"
        )
    rows = [(each.name, each.clients, each.cost) for each in figures if each.cost is not None]
    return "\n".join([*lines, "", cost_table(rows)] if rows else lines)


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def write_json(figures: Sequence[Figure], path: Path) -> None:
    scenarios = [
        {
            **{key: value for key, value in asdict(figure).items() if key != "base_rate"},
            "pgbench_rate": figure.base_rate if figure.versus == "pgbench" else None,
            "base_rate": figure.base_rate,
            "ratio": figure.ratio,
            "holds": figure.holds,
        }
        for figure in figures
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"scenarios": scenarios}, indent=2) + "\n")
