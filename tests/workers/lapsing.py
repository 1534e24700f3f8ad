"""Lapsed holds, and their status afterwards."""

from holdfast.domain.group.outcomes import Placed
from holdfast.engine import Admission
from tests.contract.asking import render_plainly
from tests.contract.venues import Venue
from tests.support.auditing import rows


def place_many(engine: Admission, venue: Venue, count: int) -> None:
    futures = [engine.submit(venue.place(("standing", 2)), render_plainly) for _ in range(count)]
    assert all(isinstance(future.result(60).outcome, Placed) for future in futures)


def statuses(url: str) -> dict[str, int]:
    """The number of holds by status."""
    return dict(rows(url, "SELECT status, count(*) FROM hold GROUP BY status"))


def times_expired(url: str) -> dict[int, int]:
    """The number of holds by how often they expired, according to facts and audit."""
    in_facts = rows(
        url,
        "SELECT times, count(*) FROM ("
        " SELECT count(*) AS times FROM outbox WHERE type = 'hold.expired' GROUP BY hold_id"
        ") AS each_hold GROUP BY times",
    )
    in_audit = rows(
        url,
        "SELECT times, count(*) FROM ("
        " SELECT count(*) AS times FROM audit WHERE action = 'hold.expired' GROUP BY hold_id"
        ") AS each_hold GROUP BY times",
    )
    assert in_facts == in_audit
    return dict(in_facts)
