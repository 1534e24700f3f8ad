"""Failed attempts of many organizations are written in one batch: one bad row costs no other."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.audit.attempts import PostgresAttempts
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import HoldId, OrderId, TicketId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from holdfast.ports.audit.attempts import FailedAttempt
from holdfast.services.audit.journal import Journal
from tests.contract.asking import converted, placed, refused
from tests.contract.venues import ORIGIN, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT

SECRET = "a secret of the installation, 32"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url)
    made.open()
    yield made
    made.close()


@pytest.fixture
def world(database_url: str) -> Iterator[PostgresWorld]:
    made = PostgresWorld(database_url)
    yield made
    made.close()


def failed(venue: Venue, hold_id: HoldId | None) -> FailedAttempt:
    # The table rejects a text with a null character.
    code = "x" if hold_id is not None else "\0"
    return FailedAttempt(f"hold.{code}", venue.organization_id, code, ORIGIN, hold_id)


def test_a_row_rejected_by_the_table_costs_no_other(
    database: Database, world: PostgresWorld
) -> None:
    ours, theirs = (world.venue({"floor": 1}, {"standing": ("floor",)}) for _ in range(2))
    journal = Journal(PostgresAttempts(database, HolderHashes(SECRET)))
    for about in (HoldId(uuid4()), HoldId(uuid4()), None, HoldId(uuid4())):
        journal.failed(failed(ours if about is None else theirs, about))
    assert not journal.run_once()
    assert len(world.audit(theirs)) == 3
    assert world.audit(ours) == []


def test_an_attempt_to_cancel_an_order_is_found_under_its_first_hold(
    database: Database, world: PostgresWorld
) -> None:
    """The order's page leads there."""
    venue = world.venue({"floor": 5}, {"standing": ("floor",)})
    journal = Journal(PostgresAttempts(database, HolderHashes(SECRET)))
    engine = Admission(world.store, PATIENT, [journal])
    engine.start()
    try:
        holds = [placed(engine, venue.place(("standing", 1))) for _ in range(2)]
        order = converted(engine, venue.convert(*(hold.id for hold in holds))).order
        unknown = TicketId(uuid4())
        assert refused(engine, venue.cancel(order.id, unknown)).code is RefusalCode.INVALID_TICKET
        assert refused(engine, venue.cancel(order.id, version=7)).code is RefusalCode.ORDER_CHANGED
        refused(engine, venue.cancel(OrderId(uuid4())))
    finally:
        engine.stop()
    assert not journal.run_once()
    with world.connected() as connection:
        found = connection.execute(
            "SELECT hold_id, session_id, new ->> 'error', new ->> 'order_id' FROM audit"
            " WHERE organization_id = %s AND action = 'order.cancel_failed' ORDER BY seq",
            [venue.organization_id],
        ).fetchall()
    about = (holds[0].id, venue.session_id)
    assert found == [
        (*about, "invalid_ticket", str(order.id)),
        (*about, "order_changed", str(order.id)),
        (None, None, "order_not_found", None),
    ]
