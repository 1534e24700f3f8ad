"""The integrity check of a busy database sees one snapshot, and reports no false findings."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.audit.checks import BOOK_CHECKS
from holdfast.adapters.postgres.audit.integrity import PostgresBooks, run_check
from holdfast.domain.group.outcomes import Converted, Placed
from holdfast.engine import Admission
from tests.contract.asking import ask
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import rows
from tests.support.patience import PATIENT

AUDITS = 5
SHOPPERS = 3
ENOUGH_CHANGES = 50


class Shopper(threading.Thread):
    """Places holds, and releases or pays for every second one, until told to stop."""

    def __init__(self, engine: Admission, venue: Venue, closing: threading.Event) -> None:
        super().__init__(daemon=True)
        self.engine, self.venue, self.closing = engine, venue, closing
        self.problem: object = None

    def run(self) -> None:
        engine, venue = self.engine, self.venue
        is_paid = False
        while not self.closing.is_set():
            outcome = ask(engine, venue.place(("standing", 2), ("seat", 1)))
            if not isinstance(outcome, Placed):
                self.problem = outcome
                return
            is_paid = not is_paid
            hold_id = outcome.hold.id
            done = ask(engine, venue.convert(hold_id) if is_paid else venue.release(hold_id))
            if is_paid and not isinstance(done, Converted):
                self.problem = done
                return


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


def test_a_busy_database_has_no_findings(busy_url: str) -> None:
    audits, before = 0, changes(busy_url)
    while audits < AUDITS or changes(busy_url) < before + ENOUGH_CHANGES:
        found = [check for check in PostgresBooks(busy_url).checked(60) if check.found]
        assert found == []
        audits += 1


def test_control_checks_on_different_snapshots_report_false_findings(busy_url: str) -> None:
    """Control: counters of a later snapshot do not match holds of an earlier one."""
    counters = next(check for check in BOOK_CHECKS if "a pool whose counters" in check.looks_for)
    with psycopg.connect(busy_url, autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE hold_then AS TABLE hold")
        before = changes(busy_url)
        while changes(busy_url) < before + ENOUGH_CHANGES:
            pass
        torn = counters._replace(query=counters.query.replace("FROM hold h", "FROM hold_then h"))
        assert run_check(connection, torn, 0, 60).found > 0
