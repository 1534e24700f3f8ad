"""`make bench AGAINST=<git ref>`: the working tree against another version, in turns."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.cost.figures import COLUMNS, Cost
from bench.lab import ROOT, Lab
from bench.load import LoadRun
from bench.placing import by_server
from bench.results import median
from bench.rounds import Measured, Plan, alternate
from bench.yardstick import PgbenchRun

NEW, OLD = "new", "old"
LOCK = "requirements.lock"
# Whether all clients want the same pool, and how many there are.
LOADS: Mapping[str, tuple[bool, int]] = {
    "hot pool, 64 clients": (True, 64),
    "spread pools, 64 clients": (False, 64),
    "hot pool, 8 clients": (True, 8),
    "hot pool, 1 client": (True, 1),
}

Reading = Callable[[LoadRun], float | None]


def _of_cost(figure: Callable[[Cost], float | None]) -> Reading:
    return lambda run: None if run.cost is None else figure(run.cost)


READINGS: Mapping[str, tuple[Reading, str]] = {
    "holds/s": (lambda run: run.rate, ",.0f"),
    "p50 ms": (lambda run: run.p50_ms, ".1f"),
    "p99 ms": (lambda run: run.p99_ms, ".1f"),
    **{name: (_of_cost(figure), shape) for name, (figure, shape) in COLUMNS.items()},
}


def compare(ref: str, plan: Plan, only: str) -> str:
    """The tables of all loads whose name contains `only`."""
    tables = []
    with checked_out(ref) as tree, Lab() as new, Lab(tree / "src") as old:
        if (tree / LOCK).read_text() != (ROOT / LOCK).read_text():
            plan.log(f"{LOCK} differs: both sides use the libraries of the working tree")
        for name, (is_hot, clients) in LOADS.items():
            if only in name:
                sides = {
                    side: by_server(lab, plan, is_hot=is_hot, clients=clients)
                    for side, lab in ((NEW, new), (OLD, old))
                }
                tables.append(table(name, ref, alternate(plan, name, sides)))
    return "\n\n".join(tables)


@contextmanager
def checked_out(ref: str) -> Iterator[Path]:
    """A worktree of that version, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="holdfast-against-") as directory:
        tree = Path(directory) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(tree), ref)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True)  # noqa: S607


def table(name: str, ref: str, measured: Measured[PgbenchRun | LoadRun]) -> str:
    """The medians, the median of the ratios within a round, and the lowest and highest of them."""
    head = f"{name + ', against ' + ref:<46}{NEW:>10}{OLD:>10}{'new/old':>9}  rounds"
    lines = [head, "-" * len(head)]
    for label, (reading, shape) in READINGS.items():
        new, old = (_values(measured.of(side), reading) for side in (NEW, OLD))
        if not new or len(new) != len(old):
            continue
        row = f"{label:<46}{median(new):>10{shape}}{median(old):>10{shape}}"
        if all(old):
            ratios = sorted(one / other for one, other in zip(new, old, strict=True))
            row += f"{median(ratios):>9.2f}  {ratios[0]:.2f} to {ratios[-1]:.2f}"
        lines.append(row)
    refused = [sum(run.refused + run.broken for run in _loads(measured.of(s))) for s in (NEW, OLD)]
    if any(refused):
        lines.append(f"{'refused or broken':<46}{refused[0]:>10}{refused[1]:>10}")
    return "\n".join(lines)


def _loads(runs: Sequence[PgbenchRun | LoadRun]) -> list[LoadRun]:
    return [run for run in runs if isinstance(run, LoadRun)]


def _values(runs: Sequence[PgbenchRun | LoadRun], reading: Reading) -> list[float]:
    return [value for run in _loads(runs) if (value := reading(run)) is not None]
