"""The integrity check: proves from the rows that nothing was lost or counted twice."""

from collections.abc import Iterator

import structlog

from holdfast.domain.immutable import immutable
from holdfast.ports.audit.books import Books, Checked

_log = structlog.get_logger("holdfast.books")


@immutable
class BookAudit:
    books: Books
    grace_seconds: int

    def checked(self) -> Iterator[Checked]:
        """The result of each check as it finishes. May raise StoreError."""
        return self.books.checked(self.grace_seconds)

    def run_once(self) -> bool:
        """Run and log all checks; returns whether they all passed. May raise StoreError."""
        checks = tuple(self.checked())
        unsound = [check for check in checks if check.found]
        for check in unsound:
            _log.error(
                "books.unsound",
                looks_for=check.looks_for,
                found=check.found,
                examples=check.examples,
            )
        _log.info(
            "books.audited",
            checks=len(checks),
            unsound=len(unsound),
            rows=sum(check.rows for check in checks),
            duration_ms=int(sum(check.seconds for check in checks) * 1000),
        )
        return not unsound
