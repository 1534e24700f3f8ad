"""One check of the books."""

from typing import NamedTuple


class BookCheck(NamedTuple):
    looks_for: str
    table: str  # whose rows it looks at
    query: str
