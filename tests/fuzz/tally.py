"""What a fuzzing run did, and what it found."""

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field

REPORTED_EVERY = 500


@dataclass
class Tally:
    wanted: int = 0
    links: int = 0  # how many cases followed one
    cases: Counter[tuple[str, int]] = field(default_factory=Counter)  # by operation and status
    breaches: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def total(self) -> int:
        return self.cases.total()

    @property
    def is_full(self) -> bool:
        return self.total >= self.wanted

    def expect(self, cases: int) -> None:
        self.wanted = self.total + cases

    def count(self, operation: str, status: int) -> None:
        self.cases[operation, status] += 1
        if self.total % REPORTED_EVERY == 0:
            say(f"{self.total:,} cases, {len(self.breaches)} kinds of breach")

    def breach(self, operation: str, title: str, description: str) -> None:
        found = self.breaches[operation, title]
        found.append(description)
        if len(found) == 1:
            say(f"{operation}: {title}\n{description}")

    @property
    def successful(self) -> set[str]:
        """The operations that succeeded at least once."""
        return {operation for operation, status in self.cases if status < 300}

    def table(self) -> str:
        statuses = sorted({status for _, status in self.cases})
        by_operation: dict[str, dict[int, int]] = defaultdict(dict)
        for (operation, status), count in self.cases.items():
            by_operation[operation][status] = count
        by_operation["all"] = {
            status: sum(counts.get(status, 0) for counts in by_operation.values())
            for status in statuses
        }
        width = max(map(len, by_operation))
        head = f"{'':{width}} {'cases':>6}" + "".join(f"{status:>6}" for status in statuses)
        rows = [
            f"{operation:{width}} {sum(counts.values()):>6}"
            + "".join(f"{counts.get(status, ''):>6}" for status in statuses)
            for operation, counts in sorted(by_operation.items())
        ]
        return "\n".join([head, *rows, f"{self.links:,} cases followed a link"])

    def findings(self) -> str:
        """One of each kind."""
        return "\n\n".join(
            f"{operation}: {title} ({len(found)} times)\n{found[0]}"
            for (operation, title), found in self.breaches.items()
        )


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
