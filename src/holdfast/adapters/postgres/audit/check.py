"""One check of the integrity check."""

from typing import NamedTuple


class BookCheck(NamedTuple):
    looks_for: str
    table: str  # the table that it reads
    query: str
