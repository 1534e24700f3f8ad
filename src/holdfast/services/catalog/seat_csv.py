"""Reads seats from CSV in UTF-8: one seat per line, with a header."""

import csv
import re
from collections.abc import Iterator, Sequence
from io import StringIO

from holdfast.domain.catalog.seat_import import (
    BLOCKS_PER_IMPORT_MAX,
    POSITION_MAX,
    SEATS_PER_IMPORT_MAX,
    DraftBlock,
    DraftSeat,
    Flaw,
    Source,
    flaws_within,
    refuse_flaws,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SEAT_LABEL_LENGTH_MAX
from holdfast.domain.slices import giving_way_longer

BLOCK_NAME_LENGTH_MAX = 200
COORDINATE_MAX = 1_000_000

REQUIRED_COLUMNS = ("block", "row", "number")
OPTIONAL_COLUMNS = ("position", "x", "y", "accessible", "companion", "restricted_view")

_COLUMNS = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
_TRUTHS = {"": False, "true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}(?:\.[0-9]{0,10})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class _Wrong(Exception):
    """An invalid line."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


def draft_csv(content: bytes) -> tuple[DraftBlock, ...] | Refusal:
    """Every block with its seats, or all invalid lines. Blocks, rows and seats are ordered by first
    appearance."""
    reading = _Reading()
    try:
        # Spreadsheets often write a byte order mark.
        reading.read(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = "Must be UTF-8; in a spreadsheet, save it as CSV UTF-8"
        reading.wrong(line, "invalid_characters", message)
    drafted = reading.blocks()
    return refuse_flaws([*reading.flaws, *flaws_within(drafted)]) or drafted


class _Reading:
    def __init__(self) -> None:
        self.flaws: list[Flaw] = []
        self._seats: dict[str, list[DraftSeat]] = {}

    def wrong(self, line: int, code: str, message: str) -> None:
        self.flaws.append(Flaw(Source(line, f"line {line}"), code, message))

    def blocks(self) -> tuple[DraftBlock, ...]:
        return tuple(
            DraftBlock(seats[0].source, name, tuple(seats)) for name, seats in self._seats.items()
        )

    def read(self, text: str) -> None:
        lines = self._lines(text)
        line, header = next(lines, (1, []))
        columns = [name.lower() for name in header]
        problem = _header_problem(columns)
        if problem is not None:
            # If the header is unreadable, only the flaw recorded before this one counts.
            self.wrong(line, *problem)
            return
        count = 0
        for line, cells in giving_way_longer(lines):
            count += 1
            if count > SEATS_PER_IMPORT_MAX:
                self.wrong(line, "too_many", f"At most {SEATS_PER_IMPORT_MAX} seats in one call")
                return
            self._read_seat(line, columns, cells)
        if not count and not self.flaws:
            self.wrong(2, "required", "The file has no seats after its header")

    def _lines(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """The rows with the number of their first line; blank ones are skipped."""
        reader = csv.reader(StringIO(text, newline=""), strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = [cell.strip() for cell in next(reader)]
            except StopIteration:
                return
            except csv.Error:
                message = "Unbalanced quotes; the rest of the file was not read"
                self.wrong(line, "invalid_value", message)
                return
            if any(cells):
                yield line, cells

    def _read_seat(self, line: int, columns: Sequence[str], cells: Sequence[str]) -> None:
        if len(cells) != len(columns):
            self.wrong(line, "invalid_value", f"Must have {len(columns)} values, like the header")
            return
        fields = dict(zip(columns, cells, strict=True))
        try:
            block = self._block(fields)
            seat = _seat(Source(line, f"line {line}"), fields)
        except _Wrong as wrong:
            self.wrong(line, wrong.code, wrong.message)
        else:
            self._seats.setdefault(block, []).append(seat)

    def _block(self, fields: dict[str, str]) -> str:
        name = _text(fields, "block", BLOCK_NAME_LENGTH_MAX)
        if name not in self._seats and len(self._seats) == BLOCKS_PER_IMPORT_MAX:
            raise _Wrong("too_many", f"At most {BLOCKS_PER_IMPORT_MAX} blocks in one call")
        return name


def _header_problem(columns: Sequence[str]) -> tuple[str, str] | None:
    missing = [name for name in REQUIRED_COLUMNS if name not in columns]
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(columns) == 1 and separator in columns[0]:
            return "unknown_field", f"Separate the values with commas, not with {name}"
    if set(columns) - set(_COLUMNS):
        known = ", ".join(_COLUMNS)
        return (
            "unknown_field",
            f"The header may contain only these columns, separated by commas: {known}",
        )
    if missing:
        return "required", f"The header lacks the column(s): {', '.join(missing)}"
    if len(set(columns)) != len(columns):
        return "duplicate", "The header has a column twice"
    return None


def _seat(source: Source, fields: dict[str, str]) -> DraftSeat:
    return DraftSeat(
        source,
        _text(fields, "row", SEAT_LABEL_LENGTH_MAX),
        _text(fields, "number", SEAT_LABEL_LENGTH_MAX),
        _position(fields),
        _coordinate(fields, "x"),
        _coordinate(fields, "y"),
        _truth(fields, "accessible"),
        _truth(fields, "companion"),
        _truth(fields, "restricted_view"),
    )


def _text(fields: dict[str, str], name: str, longest: int) -> str:
    text = fields[name]
    if not text:
        raise _Wrong("required", f"{name} is required")
    if len(text) > longest:
        raise _Wrong("invalid_value", f"{name} must be 1 to {longest} characters")
    if not text.isprintable() and _CONTROL.search(text):
        raise _Wrong("invalid_characters", f"{name} has control characters, such as a line break")
    return text


def _position(fields: dict[str, str]) -> int | None:
    text = fields.get("position", "")
    if not text:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(POSITION_MAX))
    if not (is_number and 1 <= int(text) <= POSITION_MAX):
        raise _Wrong("invalid_value", f"position must be a whole number from 1 to {POSITION_MAX}")
    return int(text)


def _coordinate(fields: dict[str, str], name: str) -> float | None:
    text = fields.get(name, "")
    if not text:
        return None
    if not (_NUMBER.fullmatch(text) and abs(float(text)) <= COORDINATE_MAX):
        message = f"{name} must be a number from -{COORDINATE_MAX} to {COORDINATE_MAX}"
        raise _Wrong("invalid_value", message)
    return float(text)


def _truth(fields: dict[str, str], name: str) -> bool:
    truth = _TRUTHS.get(fields.get(name, "").lower())
    if truth is None:
        raise _Wrong("invalid_value", f"{name} must be true, false, yes, no, 1, 0 or empty")
    return truth
