"""CSV that spreadsheets read correctly and do not execute."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

# So that Excel reads UTF-8.
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"

# A cell that begins with one of these would be executed as a formula, also in full width, and after
# characters that a spreadsheet skips.
_FORMULA_STARTS = (
    *("=", "+", "-", "@"),
    *("\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}"),
    *("\N{FULLWIDTH HYPHEN-MINUS}", "\N{FULLWIDTH COMMERCIAL AT}"),
)
_SKIPPED = "\t\0 \N{NO-BREAK SPACE}"
_AFTER_SEPARATOR = re.compile(rf"([;|]\s*)(?=[{re.escape(''.join(_FORMULA_STARTS))}])")

Cell = str | int | datetime | None


def csv_text(rows: Iterable[Sequence[Cell]], zone: tzinfo) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([_written(cell, zone) for cell in row] for row in rows)
    return text.getvalue()


def _written(cell: Cell, zone: tzinfo) -> str | int:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.astimezone(zone).isoformat(" ", "seconds")
    return cell if isinstance(cell, int) else without_formula(cell)


def without_formula(text: str) -> str:
    """An apostrophe makes a spreadsheet take the rest as text. Some split cells at semicolons, and
    take a line break in such a cell for the end of the row."""
    text = " ".join(text.splitlines())
    text = _AFTER_SEPARATOR.sub(r"\1'", text)
    is_unsafe = text.startswith("\t") or text.lstrip(_SKIPPED).startswith(_FORMULA_STARTS)
    return f"'{text}" if is_unsafe else text
