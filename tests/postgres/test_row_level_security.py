"""Behind every filter of the application stands the database: with the filters taken away, a
tenant still sees nothing of another."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres import connecting, statements
from holdfast.adapters.postgres.reading import Database, PostgresHolds
from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.outcomes import Placed, Released
from holdfast.domain.refusals import Refusal, RefusalCode
from holdfast.engine import Admission
from holdfast.ports.holds import HoldFilter
from holdfast.ports.paging import PageRequest
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld

TABLES = (
    "api_key",
    "event",
    "session",
    "pool",
    "pool_lapse",
    "ticket_type",
    "ticket_type_pool",
    "block",
    "block_price",
    "seat",
    "hold",
    "hold_line",
    "outbox",
    "audit",
    "idempotency",
)
READABLE = tuple(table for table in TABLES if table != "api_key")


class Neighbours:
    """Two organizations, each with a hall and a hold, on a database of their own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.world = PostgresWorld(url)
        self.engine = Admission(self.world.store)
        self.engine.start()
        self.mine, self.theirs = self._venue(), self._venue()
        self.my_hold, self.their_hold = self._hold(self.mine), self._hold(self.theirs)

    def _venue(self) -> Venue:
        hall = Hall({"Stalls": {"A": 4}}, {"seat": ()}, sold_in={"Stalls": ("seat",)})
        return self.world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=hall))

    def _hold(self, venue: Venue) -> Hold:
        command = venue.place(("standing", 2), venue.these("Stalls A 1"), key=venue.key())
        outcome = self.engine.submit(command, lambda _: b"answer").result(10).outcome
        assert isinstance(outcome, Placed)
        return outcome.hold

    def app_connection(self) -> psycopg.Connection[tuple[object, ...]]:
        connection = psycopg.connect(self.url, autocommit=True)
        connecting.configure_reader(connection)
        return connection

    def open_the_door(self) -> None:
        """The control: without row-level security the missing filters show."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for table in (*TABLES, "organization"):
                connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())


@pytest.fixture
def neighbours(fresh_database_url: str) -> Iterator[Neighbours]:
    made = Neighbours(fresh_database_url)
    yield made
    made.engine.stop()
    made.world.close()


def test_every_table_with_an_organization_is_guarded(neighbours: Neighbours) -> None:
    with psycopg.connect(neighbours.url) as connection:
        rows = connection.execute(
            "SELECT c.relname, c.relrowsecurity FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'"
            " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert {name for name, _ in rows} == set(TABLES)
    assert all(is_guarded for _, is_guarded in rows)


def test_the_application_owns_nothing_and_cannot_step_around(neighbours: Neighbours) -> None:
    with neighbours.app_connection() as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, (SELECT count(*) FROM pg_class WHERE relowner = r.oid)"
            " FROM pg_roles r WHERE rolname = current_user"
        ).fetchone()
    assert row == (False, False, 0)


@pytest.mark.parametrize("setting", [None, "", "{}"])
def test_without_an_organization_nothing_is_seen(
    neighbours: Neighbours, setting: str | None
) -> None:
    with neighbours.app_connection() as connection:
        if setting is not None:
            connection.execute("SELECT set_config('holdfast.organizations', %s, false)", [setting])
        for table in (*READABLE, "organization"):
            row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            assert row == (0,), table


def test_an_organization_sees_only_itself(neighbours: Neighbours) -> None:
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [neighbours.mine.organization_id])
        for table in READABLE:
            query = f"SELECT DISTINCT organization_id FROM {table}"
            seen = {row[0] for row in connection.execute(query.encode())}
            assert seen == {neighbours.mine.organization_id}, table
        assert connection.execute("SELECT count(*) FROM hold").fetchone() == (1,)


def test_nothing_can_be_written_for_another(neighbours: Neighbours) -> None:
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [neighbours.mine.organization_id])
        changed = connection.execute("UPDATE pool SET held = 0")
        assert changed.rowcount == 1
        changed = connection.execute("UPDATE seat SET x = x + 1")
        assert changed.rowcount == 4
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO event (organization_id, id, name, currency)"
                " VALUES (%s, %s, 'theirs', 'EUR')",
                [neighbours.theirs.organization_id, uuid4()],
            )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "UPDATE outbox SET type = 'hold.created'",
        "DELETE FROM outbox",
        "UPDATE hold_line SET quantity = 1",
        "DELETE FROM hold",
        "DELETE FROM seat",
        "DELETE FROM block",
        "UPDATE block_price SET price_minor = 1",
        "TRUNCATE audit",
        "INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'mine')",
        "ALTER TABLE hold DISABLE ROW LEVEL SECURITY",
        "SELECT secret_hash FROM api_key",
    ],
)
def test_what_the_application_may_not_do_at_all(neighbours: Neighbours, statement: str) -> None:
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [neighbours.mine.organization_id])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


def _without_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the organization out of what the application asks."""
    monkeypatch.setattr(
        statements,
        "SELECT_HOLD",
        statements.SELECT_HOLD.replace("h.organization_id = %s AND", "%s::uuid IS NOT NULL AND"),
    )
    monkeypatch.setattr(
        statements,
        "LIST_PART",
        statements.LIST_PART.replace("WHERE {conditions}", "WHERE true OR {conditions}"),
    )
    for name in ("SURVEY_HOLDS", "LOCK_HOLDS", "EXISTING_HOLDS"):
        filtered = getattr(statements, name)
        bare = filtered.replace("organization_id = wanted.organization_id AND id", "id")
        assert bare != filtered
        monkeypatch.setattr(statements, name, bare)


@pytest.mark.parametrize("is_guarded", [True, False])
def test_reading_without_filters(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    _without_filters(monkeypatch)
    if not is_guarded:
        neighbours.open_the_door()
    database = Database(neighbours.url)
    database.open()
    holds = PostgresHolds(database)
    me, their_hold = neighbours.mine.organization_id, neighbours.their_hold
    found = holds.hold(me, their_hold.id)
    listed = holds.holds(me, HoldFilter(status=HoldStatus.CANCELLED), PageRequest()).items
    database.close()
    assert (found is None) is is_guarded
    # Without any filter the list shows whatever the database lets through.
    assert len(listed) == (1 if is_guarded else 2)


@pytest.mark.parametrize("is_guarded", [True, False])
def test_changing_without_filters(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    """Releasing a neighbour's hold. The control needs the domain's own check to be fooled too: a
    hold is looked up by organization and id, so the row is given out as mine."""
    _without_filters(monkeypatch)
    for name in ("SURVEY_HOLDS", "LOCK_HOLDS"):
        given_out = getattr(statements, name).replace(
            "h.organization_id, h.id, h.session_id", "wanted.organization_id, h.id, h.session_id"
        )
        monkeypatch.setattr(statements, name, given_out)
    if not is_guarded:
        neighbours.open_the_door()
    command = neighbours.mine.release(neighbours.their_hold.id)
    outcome = neighbours.engine.submit(command).result(10).outcome
    if is_guarded:
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.HOLD_NOT_FOUND
    else:
        assert not isinstance(outcome, Refusal) or outcome.code is not RefusalCode.HOLD_NOT_FOUND
    assert not isinstance(outcome, Released) or not is_guarded


@pytest.mark.parametrize("is_guarded", [True, False])
def test_taking_a_seat_without_filters(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    """Asking for a neighbour's seat as if it were in one's own session. In the control the row is
    given out as mine, so that only the database could have stopped it."""
    for name in ("LOCK_SEATS", "EXISTING_SEATS"):
        filtered = getattr(statements, name)
        bare = filtered.replace("organization_id = wanted.organization_id AND id", "id")
        bare = bare.replace(
            "s.organization_id, s.session_id",
            f"wanted.organization_id, '{neighbours.mine.session_id}'::uuid",
        )
        bare = bare.replace("s.block_id", f"'{neighbours.mine.blocks['Stalls']}'::uuid")
        assert bare != filtered
        monkeypatch.setattr(statements, name, bare)
    if not is_guarded:
        neighbours.open_the_door()
    theirs = neighbours.theirs.these("Stalls A 2")
    outcome = neighbours.engine.submit(neighbours.mine.place(theirs)).result(10).outcome
    if is_guarded:
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.INVALID_SEAT
    else:
        assert isinstance(outcome, Placed)
