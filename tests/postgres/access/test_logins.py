"""A connection that lost its SET ROLE sees nothing, whatever its login; and no server starts with a
login that bypasses row-level security."""

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations
from holdfast.adapters.postgres.connections import connection as connecting
from holdfast.adapters.postgres.connections.logins import login_problem
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.pruner import PostgresPruning
from holdfast.bootstrap.database import migrate, refuse_unsafe_login
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.domain.ids import OrganizationId
from holdfast.engine import Admission
from holdfast.ports.facts.log import PARTITIONS
from tests.contract.asking import placed
from tests.contract.venues import Venue
from tests.contract.worlds import PostgresWorld
from tests.postgres.access.test_row_level_security import TABLES
from tests.support.auditing import rows
from tests.support.databases import DatabaseFactory, server_url
from tests.support.servers import free_port
from tests.workers.commands import run_command

Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def sale(databases: DatabaseFactory) -> Iterator[tuple[PostgresWorld, Venue]]:
    """A hold with all its rows."""
    with closing(PostgresWorld(databases.fresh())) as world:
        engine = Admission(world.store)
        engine.start()
        venue = world.venue({"floor": 10}, {"standing": ("floor",)})
        placed(engine, venue.place(("standing", 2), key=venue.key()))
        engine.stop()
        yield world, venue


@pytest.fixture
def url(sale: tuple[PostgresWorld, Venue]) -> str:
    return sale[0].url


@pytest.fixture
def organization_id(sale: tuple[PostgresWorld, Venue]) -> OrganizationId:
    return sale[1].organization_id


def without_owner_setting(url: str) -> str:
    """The owner's URL, without the option that lets tests read rows."""
    return f"{url}?options=-c%20holdfast.owner%3Doff"


def seen(connection: Connection) -> dict[str, object]:
    counts = {}
    for table in (*TABLES, "organization"):
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
        assert row is not None
        counts[table] = row[0]
    return counts


def test_the_owner_sees_nothing_without_its_setting(url: str) -> None:
    """Control: with the setting the owner sees everything."""
    with psycopg.connect(without_owner_setting(url), autocommit=True) as connection:
        assert set(seen(connection).values()) == {0}
        assert connection.execute("UPDATE pool SET held = 0").rowcount == 0
        assert connection.execute("DELETE FROM hold").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(
                "INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'mine')"
            )
        connection.execute(connecting.OWNER_AT_WORK)
        counts = seen(connection)
        assert counts["hold"] == counts["organization"] == 1


def test_functions_see_nothing_without_the_role(url: str) -> None:
    """Control: in the right role the same functions see rows."""
    questions = (
        "SELECT count(*) FROM holdfast_unpublished(%s::smallint, 10, 100000)",
        "SELECT coalesce(holdfast_seconds_until_due() > 0, false)::integer + 0 * %s",
    )
    found = {}
    for role in ("none", "holdfast_app"):
        with psycopg.connect(without_owner_setting(url), autocommit=True) as connection:
            connection.execute(f"SET ROLE {role}".encode())
            found[role] = [
                sum(
                    int(str(row[0]))
                    for partition in range(PARTITIONS)
                    for row in connection.execute(question.encode(), [partition])
                )
                for question in questions
            ]
    assert found["none"] == [0, 0]
    assert min(found["holdfast_app"]) > 0


def test_a_member_of_the_operator_role_sees_nothing_before_set_role(
    url: str, databases: DatabaseFactory
) -> None:
    """Even for a login with INHERIT, since the policy checks the current role."""
    login = f"inheriting_{uuid4().hex[:8]}"
    with psycopg.connect(databases.postgres.superuser_url, autocommit=True) as superuser:
        superuser.execute(
            f"CREATE ROLE {login} LOGIN INHERIT PASSWORD 'x' IN ROLE holdfast_operator".encode()
        )
    address = url.replace(url.partition("//")[2].partition("@")[0], f"{login}:x")
    with psycopg.connect(address, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM hold").fetchone() == (0,)
        connection.execute("SET ROLE holdfast_operator")
        assert connection.execute("SELECT count(*) FROM hold").fetchone() == (1,)
    assert login_problem(address) == "inherits the rights of holdfast_operator: make it NOINHERIT"


def test_the_server_login_has_no_privileges_of_its_own(
    url: str, organization_id: OrganizationId
) -> None:
    with psycopg.connect(server_url(url), autocommit=True) as connection:
        connecting.begin(connection, [organization_id])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
            connection.execute("SELECT count(*) FROM hold")


def test_a_reader_that_lost_its_role_reads_nothing(
    url: str, organization_id: OrganizationId, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a pooler had handed out another connection without our settings. Control: without FORCE
    ROW LEVEL SECURITY the foreign hold is visible."""
    monkeypatch.setattr(connecting, "_SESSION_SETTINGS", "SET TIME ZONE 'UTC'")
    query = "SELECT count(*) FROM hold WHERE organization_id = %s"
    with closing(Database(without_owner_setting(url))) as database:
        database.open()
        stranger = OrganizationId(uuid4())
        with database.transaction(stranger) as connection:
            assert connection.execute(query, [organization_id]).fetchone() == (0,)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("ALTER TABLE hold NO FORCE ROW LEVEL SECURITY")
        try:
            with psycopg.connect(without_owner_setting(url)) as connection:
                assert connection.execute(query, [organization_id]).fetchone() == (1,)
        finally:
            owner.execute("ALTER TABLE hold FORCE ROW LEVEL SECURITY")


def test_owner_commands_and_functions_apply_the_owner_setting(url: str) -> None:
    made = OrganizationId(uuid4())
    PostgresOrganizations(without_owner_setting(url)).create(made, "Made by the owner", [])
    assert rows(url, "SELECT name FROM organization WHERE id = %s", made) == [
        ("Made by the owner",)
    ]
    migrate(Settings(database_url=without_owner_setting(url)), report=lambda _: None)
    with closing(Database(server_url(url))) as database:
        database.open()
        assert PostgresHolds(database).seconds_until_due() is not None
        with database.transaction() as connection:
            query = "SELECT waiting FROM holdfast_relay_lag(%s, 10)"
            assert connection.execute(query, [PARTITIONS]).fetchone() == (1,)


@pytest.mark.parametrize("kept_seconds", [0, -1, 3600])
def test_nothing_younger_than_a_day_is_ever_pruned(url: str, kept_seconds: int) -> None:
    """Whatever retention is requested. Control: older rows are deleted at once."""
    age = "UPDATE idempotency SET created_at = created_at - %s * interval '1 hour'"
    with closing(Database(server_url(url))) as database, psycopg.connect(url) as owner:
        database.open()
        pruning = PostgresPruning(database)
        owner.execute(
            "INSERT INTO idempotency SELECT organization_id, gen_random_uuid(), fingerprint, body,"
            " clock_timestamp() FROM idempotency LIMIT 1"
        )
        owner.execute(age, [23])
        owner.execute("INSERT INTO inbox VALUES (gen_random_uuid(), 'orders', gen_random_uuid())")
        owner.commit()
        assert pruning.prune_answers(kept_seconds, 100) == 0
        assert pruning.prune_receipts(kept_seconds, 100) == 0
        assert sum(pruning.prune_facts(each, kept_seconds, 100) for each in range(PARTITIONS)) == 0
        owner.execute("UPDATE inbox SET received_at = received_at - interval '25 hours'")
        owner.commit()
        assert pruning.prune_receipts(kept_seconds, 100) == 1
        owner.execute(age, [-23])


def test_a_server_refuses_an_unsafe_login(url: str, databases: DatabaseFactory) -> None:
    superuser = databases.postgres.superuser_url.rpartition("/")[0] + "/" + url.rpartition("/")[2]
    bypassing = f"bypassing_{uuid4().hex[:8]}"
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {bypassing} LOGIN BYPASSRLS PASSWORD 'x'".encode())
    refused = {
        superuser: "is a superuser",
        url.replace(url.partition("//")[2].partition("@")[0], f"{bypassing}:x"): "has BYPASSRLS",
        url: "owns the tables",
    }
    for address, problem in refused.items():
        with pytest.raises(SettingsError, match=problem):
            refuse_unsafe_login(Settings(database_url=address))
    refuse_unsafe_login(Settings(database_url=server_url(url)))
    # A server starts without its database and waits for it.
    refuse_unsafe_login(Settings(database_url="postgresql://nobody@127.0.0.1:1/none"))


@pytest.mark.parametrize("part", [[], ["--api"], ["--pages"]])
def test_serve_reports_why_it_does_not_start(url: str, part: list[str]) -> None:
    ended = run_command(
        "serve", *part, DATABASE_URL=url, HOLDFAST_PORT=str(free_port()), HOLDFAST_HOST="127.0.0.1"
    )
    assert ended.returncode == 1
    assert "DATABASE_URL: this login owns the tables" in ended.stderr
    assert "HOLDFAST_OWNER_DATABASE_URL" in ended.stderr
    assert url not in ended.stderr
