"""The integrity check of a busy database sees one snapshot, and reports no false findings."""

import threading
from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from holdfast.adapters.postgres.audit.checks import BOOK_CHECKS
from holdfast.adapters.postgres.audit.integrity import PostgresBooks, run_check
from holdfast.domain.holds.hold import Hold
from holdfast.engine import Admission
from tests.contract.asking import ask, cancelled, converted, placed
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import rows
from tests.support.patience import PATIENT

AUDITS = 5
SHOPPERS = 3
ENOUGH_CHANGES = 50


class Shopper(threading.Thread):
    """Places holds until told to stop. Pays for every second one and releases the others; cancels
    every second order, in turn one ticket of it and all of it."""

    def __init__(self, engine: Admission, venue: Venue, closing: threading.Event) -> None:
        super().__init__(daemon=True)
        self.engine, self.venue, self.closing = engine, venue, closing
        self.problem: Exception | None = None

    def run(self) -> None:
        try:
            for number in count():
                if self.closing.is_set():
                    return
                hold = placed(self.engine, self.venue.place(("standing", 2), ("seat", 1)))
                if number % 2:
                    self._buy(hold, number // 2)
                else:
                    ask(self.engine, self.venue.release(hold.id))
        except Exception as problem:
            self.problem = problem

    def _buy(self, hold: Hold, number: int) -> None:
        order = converted(self.engine, self.venue.convert(hold.id)).order
        if number % 2:
            named = (order.tickets[number % 3].id,) if number % 4 == 1 else ()
            cancelled(self.engine, self.venue.cancel(order.id, *named))


@pytest.fixture
def busy_url(fresh_database_url: str) -> Iterator[str]:
    world = PostgresWorld(fresh_database_url)
    engine = Admission(world.store, PATIENT)
    engine.start()
    hall = Hall({"Stalls": {str(row): 100 for row in range(50)}}, {"seat": ()})
    venue = world.build(Plan({"floor": 1_000_000}, {"standing": ("floor",)}, hall=hall))
    closing = threading.Event()
    shoppers = [Shopper(engine, venue, closing) for _ in range(SHOPPERS)]
    for shopper in shoppers:
        shopper.start()
    yield world.url
    closing.set()
    for shopper in shoppers:
        shopper.join(30)
    engine.stop()
    world.close()
    assert [shopper.problem for shopper in shoppers] == [None] * SHOPPERS


def changes(url: str) -> int:
    ((found,),) = rows(url, "SELECT count(*) FROM audit")
    return int(found)


def statuses(url: str) -> set[str]:
    """Of the orders."""
    return {status for (status,) in rows(url, "SELECT DISTINCT status FROM purchase_order")}


def test_a_busy_database_has_no_findings(busy_url: str) -> None:
    audits, before = 0, changes(busy_url)
    while (
        audits < AUDITS
        or changes(busy_url) < before + ENOUGH_CHANGES
        or not {"cancelled", "partly_cancelled"} <= statuses(busy_url)
    ):
        found = [check for check in PostgresBooks(busy_url).checked(60) if check.found]
        assert found == []
        audits += 1


@pytest.mark.parametrize(
    ("looks_for", "table"),
    [("a pool whose counters", "hold"), ("an order whose status", "ticket")],
)
def test_control_checks_on_different_snapshots_report_false_findings(
    busy_url: str, looks_for: str, table: str
) -> None:
    """Control: counters of a later snapshot do not match holds of an earlier one, nor orders their
    tickets."""
    check = next(check for check in BOOK_CHECKS if looks_for in check.looks_for)
    then = f"{table}_then"
    with psycopg.connect(busy_url, autocommit=True) as connection:
        connection.execute(f"CREATE TEMP TABLE {then} AS TABLE {table}".encode())
        before = changes(busy_url)
        while changes(busy_url) < before + ENOUGH_CHANGES:
            pass
        query = check.query.replace(f" {table} ", f" {then} ")
        assert run_check(connection, check._replace(query=query), 0, 60).found > 0
