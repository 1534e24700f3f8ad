"""The facts of the catalog are in the order of its changes, whatever else is under way."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.catalog.changes import CatalogChange, ChangeEvent, ChangeSession
from holdfast.domain.ids import EventId
from holdfast.domain.refusal_codes import Refusal
from tests.contract.venues import ORIGIN, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.databases import is_engine_blocked
from tests.support.patience import PATIENCE_SECONDS, wait_until

CHANGES = 12


@dataclass
class Office:
    """Changes the event and the session of a venue, several at once."""

    url: str
    venue: Venue
    catalog: PostgresCatalog
    event_id: EventId

    def apply(self, change: CatalogChange) -> None:
        outcome = self.catalog.apply(change, ORIGIN, None, lambda _: b"").outcome
        assert not isinstance(outcome, Refusal), outcome

    def rename_event(self, name: str) -> None:
        self.apply(ChangeEvent(self.venue.organization_id, self.event_id, name))

    def rename_session(self, name: str) -> None:
        self.apply(ChangeSession(self.venue.organization_id, self.venue.session_id, name))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as owner:
            return owner.execute(query, [self.venue.organization_id]).fetchall()


@pytest.fixture
def office(quiet_database_url: str) -> Iterator[Office]:
    world, database = PostgresWorld(quiet_database_url), Database(quiet_database_url)
    database.open()
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    ((event_id,),) = world._rows("SELECT event_id FROM session WHERE id = %s", venue.session_id)
    yield Office(quiet_database_url, venue, PostgresCatalog(database), EventId(event_id))
    database.close()
    world.close()


@pytest.mark.parametrize("rename", [Office.rename_event, Office.rename_session])
def test_changes_at_once_are_told_one_by_one_each_with_the_state_before(
    office: Office, rename: Callable[[Office, str], None]
) -> None:
    with ThreadPoolExecutor(CHANGES) as pool:
        list(pool.map(lambda number: rename(office, f"Name {number}"), range(CHANGES)))
    told = office.rows(
        "SELECT version, payload -> 'old' ->> 'name', payload -> 'new' ->> 'name' FROM outbox"
        " WHERE organization_id = %s ORDER BY xid, seq"
    )
    assert [version for version, _, _ in told] == list(range(1, CHANGES + 1))
    assert [old for _, old, _ in told] == ["test", *(new for *_, new in told[:-1])]


def test_a_change_that_meets_new_positions_of_the_log_comes_after_them(office: Office) -> None:
    """Migrating a restored database gives the log new positions. A change that had its number
    before would be passed over."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(office.url) as owner:
        owner.execute("LOCK TABLE pool, seat, hold, outbox IN EXCLUSIVE MODE")
        change = pool.submit(office.rename_event, "Great gala")
        wait_until(lambda: is_engine_blocked(office.url), "the change waits")
        row = owner.execute("SELECT pg_current_xact_id()::text").fetchone()
        assert row is not None
        owner.commit()
        change.result(PATIENCE_SECONDS)
    ((xid,),) = office.rows("SELECT xid::text FROM outbox WHERE organization_id = %s")
    assert int(xid) > int(row[0])
