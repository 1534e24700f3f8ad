"""Holds that have lapsed, and what became of them."""

from holdfast.domain.group.outcomes import Placed
from holdfast.engine import Admission
from tests.contract.asking import render_plainly
from tests.contract.venues import Venue
from tests.support.auditing import rows


def place_many(engine: Admission, venue: Venue, count: int) -> None:
    futures = [engine.submit(venue.place(("standing", 2)), render_plainly) for _ in range(count)]
    assert all(isinstance(future.result(60).outcome, Placed) for future in futures)


def statuses(url: str) -> dict[str, int]:
    """How many holds have which status."""
    return dict(rows(url, "SELECT status, count(*) FROM hold GROUP BY status"))


def times_expired(url: str) -> dict[int, int]:
    """How many holds were expired how often: told, and written to the audit."""
    told = rows(
        url,
        "SELECT times, count(*) FROM ("
        " SELECT count(*) AS times FROM outbox WHERE type = 'hold.expired' GROUP BY hold_id"
        ") AS each_hold GROUP BY times",
    )
    written = rows(
        url,
        "SELECT times, count(*) FROM ("
        " SELECT count(*) AS times FROM audit WHERE action = 'hold.expired' GROUP BY hold_id"
        ") AS each_hold GROUP BY times",
    )
    assert told == written
    return dict(told)
