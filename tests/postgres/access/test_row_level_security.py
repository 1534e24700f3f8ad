"""Row-level security backs up every filter of the application: without the filters, an organization
still sees nothing of another."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.connections import connection as connecting
from holdfast.adapters.postgres.engine import statements
from holdfast.adapters.postgres.holds import statements as hold_statements
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.orders import statements as order_statements
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain.group.origin import IdempotencyKey, Receipt
from holdfast.domain.group.outcomes import (
    AwaitsInventory,
    CheckoutStarted,
    Converted,
    Placed,
    Released,
)
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.orders.order import Order
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission, Limits
from holdfast.ports.holds import HoldFilter
from holdfast.ports.paging import PageRequest
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.people import Staff, add_staff

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
    "inventory_task",
    "waitlist",
    "waiting_line",
    "waiting_place",
    "outbox",
    "audit",
    "idempotency",
    "checkout",
    "purchase_order",
    "ticket",
    "inbox",
    "holder_revocation",
    "member",
    "member_session",
    "mail_template",
)
READABLE = tuple(table for table in TABLES if table != "api_key")


class Neighbours:
    """Two organizations in their own database, each with a hall, a hold, an order from a message,
    and a waiting party."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.world = PostgresWorld(url)
        self.engine = Admission(self.world.store, Limits(deadline_seconds=5))
        self.engine.start()
        self.mine, self.theirs = self._venue(), self._venue()
        self.my_hold, self.their_hold = self._hold(self.mine, 1), self._hold(self.theirs, 1)
        self.my_order, self.their_order = self._order(self.mine), self._order(self.theirs)
        self._let_wait(self.my_hold)
        self._let_wait(self.their_hold)
        self._ask_inventory(self.mine)
        self._ask_inventory(self.theirs)
        self._revoke_tokens()
        self._write_mails()
        self.my_people, self.their_people = self._hire(self.mine), self._hire(self.theirs)

    def _venue(self) -> Venue:
        hall = Hall({"Stalls": {"A": 4}}, {"seat": ()}, sold_in={"Stalls": ("seat",)})
        return self.world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=hall))

    def _hold(self, venue: Venue, seat: int) -> Hold:
        command = venue.place(("standing", 2), venue.these(f"Stalls A {seat}"), key=venue.key())
        outcome = self.engine.submit(command, lambda _: b"answer").result(60).outcome
        assert isinstance(outcome, Placed)
        return outcome.hold

    def _order(self, venue: Venue) -> Order:
        hold = self._hold(venue, 4)
        started = self.engine.submit(venue.check_out(hold.id)).result(60).outcome
        assert isinstance(started, CheckoutStarted)
        receipt = Receipt("orders", uuid4())
        key = IdempotencyKey(venue.organization_id, uuid4(), b"", receipt)
        command = venue.convert(hold.id, checkout_id=started.checkout_id, key=key)
        outcome = self.engine.submit(command, lambda _: b"answer").result(60).outcome
        assert isinstance(outcome, Converted)
        return outcome.order

    def _ask_inventory(self, venue: Venue) -> None:
        intent = replace(venue.place(("standing", 1)), is_remote=True)
        assert isinstance(self.engine.submit(intent).result(60).outcome, AwaitsInventory)

    def _let_wait(self, hold: Hold) -> None:
        """Insert a queue and a place in it."""
        line_id = uuid4()
        with psycopg.connect(self.url) as owner:
            owner.execute(
                "INSERT INTO waiting_line VALUES (%s, %s, %s, ARRAY[gen_random_uuid()], 1, 0, 0,"
                " now())",
                [*hold.session_key, line_id],
            )
            owner.execute(
                "INSERT INTO waiting_place VALUES (%s, %s, %s, %s, now(), 0)",
                [*hold.key, hold.session_id, line_id],
            )

    def _revoke_tokens(self) -> None:
        with psycopg.connect(self.url) as owner:
            owner.execute("SELECT set_config('holdfast.owner', 'on', true)")
            for venue in (self.mine, self.theirs):
                owner.execute(
                    "INSERT INTO holder_revocation VALUES (%s, gen_random_uuid(), now())",
                    [venue.organization_id],
                )

    def _write_mails(self) -> None:
        with psycopg.connect(self.url) as owner:
            owner.execute("SELECT set_config('holdfast.owner', 'on', true)")
            for venue in (self.mine, self.theirs):
                owner.execute(
                    "INSERT INTO mail_template VALUES (%s, 'warning', 'subject', 'body', 1, now())",
                    [venue.organization_id],
                )

    def _hire(self, venue: Venue) -> Staff:
        staff = add_staff(self.url, str(venue.organization_id), "viewer")
        with psycopg.connect(self.url) as owner:
            owner.execute(
                "INSERT INTO member_session (organization_id, id, member_id, secret_hash,"
                " created_at, last_used_at, ends_at) VALUES (%s, gen_random_uuid(), %s, %s, now(),"
                " now(), now() + interval '1 hour')",
                [venue.organization_id, staff.member_id, uuid4().bytes],
            )
        return staff

    def app_connection(self) -> psycopg.Connection[tuple[object, ...]]:
        connection = psycopg.connect(self.url, autocommit=True)
        connecting.configure_reader(connection)
        return connection

    def disable_row_security(self) -> None:
        """Control: without row-level security the missing filters show."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for table in (*TABLES, "organization"):
                connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())


@pytest.fixture
def neighbours(fresh_database_url: str) -> Iterator[Neighbours]:
    made = Neighbours(fresh_database_url)
    yield made
    made.engine.stop()
    made.world.close()


def test_every_table_with_an_organization_has_row_level_security(neighbours: Neighbours) -> None:
    with psycopg.connect(neighbours.url) as connection:
        rows = connection.execute(
            "SELECT c.relname, c.relispartition, c.relrowsecurity AND c.relforcerowsecurity"
            " FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'"
            " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert {name for name, is_partition, _ in rows if not is_partition} == set(TABLES)
    assert {name for name, is_partition, _ in rows if is_partition} > {"audit_start", "audit_rest"}
    assert all(is_guarded for _, _, is_guarded in rows)


def test_the_application_owns_nothing_and_cannot_bypass_it(neighbours: Neighbours) -> None:
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


def test_an_organization_sees_only_its_own_rows(neighbours: Neighbours) -> None:
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [neighbours.mine.organization_id])
        for table in READABLE:
            query = f"SELECT DISTINCT organization_id FROM {table}"
            seen = {row[0] for row in connection.execute(query.encode())}
            assert seen == {neighbours.mine.organization_id}, table
        assert connection.execute("SELECT count(*) FROM hold").fetchone() == (3,)


def test_an_organization_sees_only_its_own_people(neighbours: Neighbours) -> None:
    """Control: without row-level security, it sees everybody."""
    query = "SELECT username FROM auth_user WHERE username LIKE 'staff-%' ORDER BY 1"
    people = sorted((neighbours.my_people.username, neighbours.their_people.username))
    for seen in ([neighbours.my_people.username], people):
        with neighbours.app_connection() as connection:
            connecting.begin(connection, [neighbours.mine.organization_id])
            assert [name for (name,) in connection.execute(query)] == seen
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT password FROM auth_user")
        with psycopg.connect(neighbours.url) as owner:
            owner.execute("ALTER TABLE auth_user DISABLE ROW LEVEL SECURITY")


def test_nothing_can_be_written_for_another_organization(neighbours: Neighbours) -> None:
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


ORDERING = {
    "checkout": "(%s, gen_random_uuid(), ARRAY[gen_random_uuid()], now())",
    "purchase_order": """(%s, gen_random_uuid(), NULL, ARRAY[gen_random_uuid()], 'ann', 0,
        'EUR', NULL, now())""",
    "ticket": """(%s, gen_random_uuid(), (SELECT order_id FROM ticket LIMIT 1), 99,
        gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), NULL, 0, repeat('X', 26))""",
    "inbox": "(%s, 'orders', gen_random_uuid())",
}


@pytest.mark.parametrize("table", ORDERING)
def test_no_order_can_be_made_for_another_organization(neighbours: Neighbours, table: str) -> None:
    """Control: for the own organization the same statement is allowed."""
    statement = f"INSERT INTO {table} VALUES {ORDERING[table]}"
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [neighbours.mine.organization_id])
        connection.execute(statement.encode(), [neighbours.mine.organization_id])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode(), [neighbours.theirs.organization_id])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "UPDATE outbox SET type = 'hold.created'",
        "DELETE FROM outbox",
        "UPDATE hold_line SET quantity = 1",
        "DELETE FROM hold_line",
        "INSERT INTO waitlist VALUES (gen_random_uuid(), gen_random_uuid())",
        "DELETE FROM waitlist",
        "DELETE FROM hold",
        "DELETE FROM seat",
        "DELETE FROM block",
        "UPDATE block_price SET price_minor = 1",
        "TRUNCATE audit",
        "UPDATE checkout SET hold_ids = ARRAY[gen_random_uuid()]",
        "DELETE FROM checkout",
        "UPDATE purchase_order SET total_minor = 0",
        "DELETE FROM purchase_order",
        "UPDATE ticket SET code = repeat('X', 26)",
        "DELETE FROM ticket",
        "DELETE FROM inbox",
        "UPDATE relay_cursor SET seq = 0",
        "UPDATE fact_horizon SET xid = '1'",
        "INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'mine')",
        "ALTER TABLE hold DISABLE ROW LEVEL SECURITY",
        "SELECT secret_hash FROM api_key",
        "UPDATE api_key SET scopes = '{}'",
        "UPDATE api_key SET organization_id = gen_random_uuid()",
        "DELETE FROM api_key",
        "UPDATE organization SET mode = 'live'",
        "UPDATE organization SET account_id = gen_random_uuid()",
    ],
)
def test_the_application_lacks_these_privileges(neighbours: Neighbours, statement: str) -> None:
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [neighbours.mine.organization_id])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"],
)
def test_not_even_the_owner_can_change_the_audit(neighbours: Neighbours, statement: str) -> None:
    with psycopg.connect(neighbours.url, autocommit=True) as owner:
        before = owner.execute("SELECT * FROM audit ORDER BY seq").fetchall()
        assert before
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="never changed or deleted"):
            owner.execute(statement.encode())
        assert owner.execute("SELECT * FROM audit ORDER BY seq").fetchall() == before


def test_operators_see_all_tickets_but_no_codes_or_names(neighbours: Neighbours) -> None:
    with psycopg.connect(neighbours.url, autocommit=True) as operator:
        operator.execute("SET ROLE holdfast_operator")
        seen = {row[0] for row in operator.execute("SELECT DISTINCT order_id FROM ticket")}
        assert seen == {neighbours.my_order.id, neighbours.their_order.id}
        for column in ("code", "attendee", "attendee_key", "*"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                operator.execute(f"SELECT {column} FROM ticket".encode())


def _without_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the organization from the application's queries."""
    monkeypatch.setattr(
        hold_statements,
        "SELECT_HOLD",
        hold_statements.SELECT_HOLD.replace(
            "h.organization_id = %s AND", "%s::uuid IS NOT NULL AND"
        ),
    )
    monkeypatch.setattr(
        hold_statements,
        "LIST_PART",
        hold_statements.LIST_PART.replace("WHERE {conditions}", "WHERE true OR {conditions}"),
    )
    for name in ("SURVEY_HOLDS", "LOCK_HOLDS", "EXISTING_HOLDS"):
        filtered = getattr(statements, name)
        bare = filtered.replace("organization_id = wanted.organization_id AND id", "id")
        assert bare != filtered
        monkeypatch.setattr(statements, name, bare)


@pytest.mark.parametrize("is_guarded", [True, False])
def test_reading_holds_without_filters_shows_only_your_own(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    _without_filters(monkeypatch)
    if not is_guarded:
        neighbours.disable_row_security()
    database = Database(neighbours.url)
    database.open()
    holds = PostgresHolds(database)
    me, their_hold = neighbours.mine.organization_id, neighbours.their_hold
    found = holds.hold(me, their_hold.id)
    listed = holds.holds(me, HoldFilter(status=HoldStatus.CANCELLED), PageRequest()).items
    database.close()
    assert (found is None) is is_guarded
    # Without a filter the list has every row that the database lets through.
    assert len(listed) == (3 if is_guarded else 6)


@pytest.mark.parametrize("is_guarded", [True, False])
def test_reading_orders_without_filters_shows_only_your_own(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    for name, alias in (("ORDER", "o."), ("CHECKOUT", ""), ("HOLDS", "h.")):
        filtered = getattr(order_statements, name)
        bare = filtered.replace(f"{alias}organization_id = %s AND", "%s::uuid IS NOT NULL AND")
        assert bare != filtered
        monkeypatch.setattr(order_statements, name, bare)
    if not is_guarded:
        neighbours.disable_row_security()
    me, theirs = neighbours.mine.organization_id, neighbours.their_order
    assert theirs.checkout_id is not None
    database = Database(neighbours.url)
    database.open()
    orders = PostgresOrders(database)
    found = orders.order(me, theirs.id), orders.checkout(me, theirs.checkout_id)
    own = orders.order(me, neighbours.my_order.id)
    database.close()
    assert [each is None for each in found] == [is_guarded] * 2
    assert own is not None


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_foreign_hold_cannot_be_released_without_filters(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    """Release a neighbour's hold. The control must also deceive the domain's check by organization
    and id, so the row is returned as mine."""
    _without_filters(monkeypatch)
    for name in ("SURVEY_HOLDS", "LOCK_HOLDS"):
        given_out = getattr(statements, name).replace(
            "h.organization_id, h.id, h.session_id", "wanted.organization_id, h.id, h.session_id"
        )
        monkeypatch.setattr(statements, name, given_out)
    if not is_guarded:
        neighbours.disable_row_security()
    command = neighbours.mine.release(neighbours.their_hold.id)
    outcome = neighbours.engine.submit(command).result(60).outcome
    if is_guarded:
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.HOLD_NOT_FOUND
    else:
        assert not isinstance(outcome, Refusal) or outcome.code is not RefusalCode.HOLD_NOT_FOUND
    assert not isinstance(outcome, Released) or not is_guarded


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_foreign_seat_cannot_be_taken_without_filters(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    """Request a neighbour's seat as if it were in my session. In the control the row is returned as
    mine, so only the database could stop it."""
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
        neighbours.disable_row_security()
    theirs = neighbours.theirs.these("Stalls A 2")
    outcome = neighbours.engine.submit(neighbours.mine.place(theirs)).result(60).outcome
    if is_guarded:
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.INVALID_SEAT
    else:
        assert isinstance(outcome, Placed)


def test_keys_and_settings_of_another_organization_cannot_be_changed(
    neighbours: Neighbours,
) -> None:
    """Control: those of the own organization can."""
    mine, theirs = neighbours.mine.organization_id, neighbours.theirs.organization_id
    insert = (
        "INSERT INTO api_key (organization_id, id, name, prefix, secret_hash, scopes)"
        " VALUES (%s, gen_random_uuid(), 'x', 'hk_test_x', sha256(random()::text::bytea), '{}')"
    )
    with psycopg.connect(neighbours.url) as owner:
        owner.execute(insert, [theirs])
    with neighbours.app_connection() as connection:
        connecting.begin(connection, [mine])
        connection.execute(insert, [mine])
        assert connection.execute("UPDATE api_key SET revoked_at = now()").rowcount == 1
        assert connection.execute("UPDATE organization SET ttl_seconds = 1").rowcount == 1
        seen = connection.execute("SELECT DISTINCT organization_id FROM api_key").fetchall()
        assert seen == [(mine,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(insert, [theirs])
