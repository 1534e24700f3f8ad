"""Names of seats, as people write and read them."""

import re
from collections.abc import Iterator

from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX

# Pages write `Parterre, row B, seat 12`.
_SPELLED_OUT = re.compile(r",?\s*\b(?:row|seat)\b\s*", re.IGNORECASE)
_RANGE = re.compile(r"(.*?)(\d+)\s*-\s*(\d+)")
_BEFORE_NUMBER = re.compile(r"(.*\D)\d+")
_NUMBERS = re.compile(r"\d+(\s*-\s*\d+)?")


def names_in(text: str) -> Iterator[str]:
    """The names in capitals, without superfluous words, and with ranges written out. A number alone
    is in the row of the name before it: `B 12, 13`."""
    row = ""
    for part in re.split(r"[,;\n]", _SPELLED_OUT.sub(" ", text)):
        name = " ".join(part.upper().split())
        if _NUMBERS.fullmatch(name):
            name = row + name
        match = _RANGE.fullmatch(name)
        if match is None:
            names = [name] if name else []
        else:
            before, first, last = match[1], int(match[2]), int(match[3])
            last = min(last, first + SEATS_PER_HOLD_MAX)  # too many for any form
            names = [f"{before}{number}" for number in range(first, last + 1)]
        for each in names:
            numbered = _BEFORE_NUMBER.fullmatch(each)
            row = numbered[1] if numbered else row
            yield each


def runs_of(seats: list[tuple[str, int]]) -> str:
    """For example `1, 4-7`: seats next to each other with consecutive numbers."""
    runs: list[list[tuple[str, int]]] = []
    for number, position in seats:
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and position == last[1] + 1
            and number.isdecimal()
            and last[0].isdecimal()
            and int(number) == int(last[0]) + 1
        ):
            runs[-1].append((number, position))
        else:
            runs.append([(number, position)])
    return ", ".join(run[0][0] if len(run) == 1 else f"{run[0][0]}-{run[-1][0]}" for run in runs)
