"""The audit is kept in partitions by month: made in time, dropped when nobody needs them any more,
and otherwise never changed."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from threading import Timer
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, connections
from structlog.testing import capture_logs

from holdfast.adapters.postgres.audit.integrity import PostgresBooks
from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.audit.retention import PostgresAuditPartitions
from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.bootstrap.database import OWNER, migrate, setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holder_hash import NO_HASHES
from holdfast.domain.ids import OrganizationId
from holdfast.engine import Admission
from holdfast.ports.audit.reader import AuditFilter
from holdfast.ports.store import Contended
from holdfast.services.audit.retention import MONTHS_AHEAD, AuditRetention
from tests.contract.worlds import PostgresWorld
from tests.relay.restoring import migrated

ENTRY = """
INSERT INTO audit (organization_id, at, action, hold_id, actor, request_id, new)
VALUES (%s, %s, %s, gen_random_uuid(), 'test', 'r', '{}')
"""
NAMES = """
SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit'::regclass ORDER BY 1
"""
# 65 MB, not compressed.
LARGE = """
ALTER TABLE audit_rest ALTER COLUMN request_id SET STORAGE PLAIN;
INSERT INTO audit_rest (organization_id, seq, at, action, actor, request_id, new)
SELECT organization_id, seq + n, at, action, actor, repeat('r', 7000), new
FROM audit_rest, generate_series(1, 8400) AS n;
"""
# As if Holdfast had been installed in 2024, and the duty had never run since.
NEGLECTED = """
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT inhrelid::regclass::text FROM pg_inherits
        WHERE inhparent = 'audit'::regclass AND inhrelid NOT IN (
            'audit_start'::regclass, 'audit_rest'::regclass)
    LOOP
        EXECUTE format('DROP TABLE %s', name);
    END LOOP;
END
$$;
ALTER TABLE audit DETACH PARTITION audit_start;
ALTER TABLE audit ATTACH PARTITION audit_start FOR VALUES FROM (MINVALUE) TO ('2025-01-01 00:00Z');
"""


class Months:
    """An audit in a database of its own, with the duty that keeps it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.owner: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)
        self.owner.execute(OWNER_AT_WORK)
        self.database = Database(url)
        self.database.open()
        self.partitions = PostgresAuditPartitions(self.database)
        self.organization_id = OrganizationId(uuid4())

    def add(self, at: str, action: str = "hold.created") -> None:
        ((moment,),) = self.owner.execute("SELECT now() + %s::interval", [at])
        self.owner.execute(ENTRY, [self.organization_id, moment, action])

    def keep(self, days: int, *, owner_days: int | None = None) -> list[str]:
        """Run the duty as the server, with what the owner has set; returns its log."""
        self.owner.execute("UPDATE audit_horizon SET kept_days = %s", [owner_days or days or None])
        with capture_logs() as logs:
            AuditRetention(self.partitions, days).run_once()
        return [entry["event"] for entry in logs]

    def actions(self) -> list[str]:
        audit = PostgresAudit(self.database, NO_HASHES)
        found = audit.entries(self.organization_id, AuditFilter(), 100).entries
        return [entry.action for entry in found]

    def names(self) -> list[str]:
        return [name for (name,) in self.owner.execute(NAMES)]

    def close(self) -> None:
        self.owner.close()
        self.database.close()


@pytest.fixture
def months(fresh_database_url: str) -> Iterator[Months]:
    with closing(Months(fresh_database_url)) as made:
        yield made


def test_partitions_are_made_ahead_and_only_once(months: Months) -> None:
    before = months.names()
    assert months.keep(0) == []
    assert months.names() == before
    assert months.partitions.make(MONTHS_AHEAD + 2) == 2
    ends = [each.ends_at for each in months.partitions.all()]
    assert ends == sorted(ends)
    ((ahead,),) = months.owner.execute("SELECT now() + make_interval(months => %s)", [MONTHS_AHEAD])
    assert ends[-1] > ahead


def test_an_entry_is_never_refused_because_its_partition_is_missing(months: Months) -> None:
    """Entries of a month that nobody has made go to the default partition, which then becomes the
    partition of that time."""
    months.add("10 months", "much.later")
    assert months.actions() == ["much.later"]
    assert months.owner.execute("SELECT count(*) FROM audit_rest").fetchone() == (1,)
    assert months.keep(0) == ["audit.partitions_made"]
    assert months.owner.execute("SELECT count(*) FROM audit_rest").fetchone() == (0,)
    assert months.actions() == ["much.later"]
    months.add("10 months", "again")
    assert months.owner.execute("SELECT count(*) FROM audit_rest").fetchone() == (0,)


def test_a_large_default_partition_is_left_to_the_owner(months: Months) -> None:
    """Reading it would keep all writers out, and proving its bound beside them would keep all
    readers of facts behind."""
    months.add("10 months", "much.later")
    months.owner.execute(LARGE)
    before = months.names()
    assert months.keep(0) == ["audit.rest_too_large"]
    assert months.names() == before
    months.add("10 years", "much.later")
    assert len(months.actions()) == 100, "entries are still taken"
    with psycopg.connect(months.url, autocommit=True) as application:
        application.execute("SET ROLE holdfast_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            application.execute("SELECT holdfast_adopt_audit_rest()")
    months.owner.execute("SELECT holdfast_adopt_audit_rest()")
    assert months.owner.execute("SELECT count(*) FROM audit_rest").fetchone() == (0,)
    assert months.keep(0) == []


def test_a_server_that_would_keep_entries_shorter_than_the_owner_says_so(months: Months) -> None:
    assert months.keep(400, owner_days=500) == ["audit.kept_longer"]
    assert months.keep(400, owner_days=400) == months.keep(400, owner_days=300) == []
    months.owner.execute("UPDATE audit_horizon SET kept_days = NULL")
    with capture_logs() as logs:
        AuditRetention(months.partitions, 400).run_once()
    assert [(each["event"], each["recorded_days"]) for each in logs] == [
        ("audit.kept_longer", None)
    ]


def test_old_partitions_are_dropped_whole_and_logged(months: Months) -> None:
    months.owner.execute(NEGLECTED)
    months.keep(0)
    for at in ("-3 years", "-400 days", "-300 days", "-1 hour"):
        months.add(at, at)
    log = months.keep(365)
    assert set(log) == {"audit.partition_dropped"}
    assert months.actions() == ["-1 hour", "-300 days"]
    ((horizon, kept),) = months.owner.execute(
        "SELECT reaches_to, (SELECT min(ends_at) FROM holdfast_audit_partitions())"
        " FROM audit_horizon"
    )
    assert horizon < kept
    assert months.keep(365) == []


def test_nothing_is_dropped_without_a_policy_and_nothing_younger_than_a_month(
    months: Months,
) -> None:
    months.owner.execute(NEGLECTED)
    months.keep(0)
    months.add("-20 days", "young")
    months.add("-3 years", "old")
    months.keep(0)
    assert months.actions() == ["young", "old"]
    months.keep(1)
    assert months.actions() == ["young"]


def test_a_server_keeps_entries_no_shorter_than_the_owner_says(months: Months) -> None:
    months.owner.execute(NEGLECTED)
    months.keep(0)
    months.add("-400 days", "kept")
    months.add("-3 years", "old")
    months.keep(31, owner_days=600)
    assert months.actions() == ["kept"]
    months.keep(600, owner_days=31)
    assert months.actions() == ["kept"], "but may keep them longer"
    months.owner.execute("UPDATE audit_horizon SET kept_days = NULL")
    assert months.partitions.drop_oldest(0) is None
    months.owner.execute("UPDATE audit_horizon SET kept_days = 31")
    assert months.partitions.drop_oldest(0) is not None, "control"
    with psycopg.connect(months.url) as application:
        application.execute("SET ROLE holdfast_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            application.execute("UPDATE audit_horizon SET kept_days = 31")


def test_migrating_records_how_long_entries_are_kept(fresh_database_url: str) -> None:
    for days, recorded in ((400, 400), (0, None)):
        settings = Settings(database_url=fresh_database_url, holdfast_audit_kept_days=days)
        migrate(settings, report=lambda _: None)
        with psycopg.connect(fresh_database_url) as owner:
            found = owner.execute("SELECT kept_days FROM audit_horizon").fetchone()
        assert found == (recorded,)


@pytest.mark.parametrize("at", ["9999-01-01", "2019-01-01"])
def test_the_application_writes_entries_of_now_only(months: Months, at: str) -> None:
    own = months.organization_id
    with psycopg.connect(months.url) as application:
        application.execute("SET ROLE holdfast_app")
        application.execute("SELECT set_config('holdfast.organizations', %s, true)", [f"{{{own}}}"])
        application.execute(ENTRY, [own, datetime.now(UTC), "control"])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            application.execute(ENTRY, [own, at, "forged"])


def test_the_integrity_check_passes_without_the_dropped_entries(fresh_database_url: str) -> None:
    with closing(PostgresWorld(fresh_database_url)) as world:
        venue = world.venue({"floor": 5}, {"standing": ("floor",)})
        engine = Admission(world.store)
        engine.start()
        placed = engine.submit(venue.place(("standing", 1))).result(60).outcome
        engine.stop()
        assert isinstance(placed, Placed)
    with closing(Months(fresh_database_url)) as months:
        # All entries so far are in the partition that is dropped: as if this were next year.
        months.owner.execute("DROP TABLE audit_start")
        books = PostgresBooks(months.url)
        unsound = [check for check in books.checked(10**6) if check.found]
        assert unsound, "control: entries are missing"
        months.owner.execute("UPDATE audit_horizon SET reaches_to = now()")
        assert [check for check in books.checked(10**6) if check.found] == []


@pytest.mark.parametrize("table", ["audit", "audit_start"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET actor = 'x'", "DELETE FROM {}", "TRUNCATE {}"]
)
def test_nobody_changes_an_entry(months: Months, table: str, statement: str) -> None:
    months.add("0 days")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        months.owner.execute(statement.format(table).encode())
    assert months.actions() == ["hold.created"]


def test_the_application_reaches_no_partition_directly(months: Months) -> None:
    with psycopg.connect(months.url, autocommit=True) as application:
        application.execute("SET ROLE holdfast_app")
        for name in months.names():
            for statement in (f"SELECT FROM {name}", f"DROP TABLE {name}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    application.execute(statement.encode())


def test_a_partition_is_made_beside_writers_and_dropped_only_without_them(months: Months) -> None:
    months.owner.execute(NEGLECTED)
    with psycopg.connect(months.url) as writer:
        writer.execute(OWNER_AT_WORK)
        writer.execute("SET LOCAL lock_timeout = '5s'")
        writer.execute(ENTRY, [months.organization_id, "2019-05-05", "old"])
        assert months.partitions.make(MONTHS_AHEAD) == 6
        months.owner.execute("UPDATE audit_horizon SET kept_days = 31")
        with pytest.raises(Contended):
            months.partitions.drop_oldest(365)
        writer.commit()
    assert months.partitions.drop_oldest(365) is not None


def test_an_upgrade_keeps_the_entries_where_they_are(fresh_database_url: str) -> None:
    _migrate_to(fresh_database_url, "0016")
    organization_id = uuid4()
    with psycopg.connect(fresh_database_url, autocommit=True) as owner:
        owner.execute(OWNER_AT_WORK)
        for at in ("2019-01-01", "2026-01-01"):
            owner.execute(ENTRY, [organization_id, at, "hold.created"])
        before = owner.execute("SELECT seq, at FROM audit ORDER BY seq").fetchall()
        file = owner.execute("SELECT pg_relation_filenode('audit')").fetchone()
    migrated(fresh_database_url)
    with psycopg.connect(fresh_database_url, autocommit=True) as owner:
        owner.execute(OWNER_AT_WORK)
        assert owner.execute("SELECT seq, at FROM audit ORDER BY seq").fetchall() == before
        assert owner.execute("SELECT pg_relation_filenode('audit_start')").fetchone() == file
        owner.execute(ENTRY, [organization_id, "2026-06-01", "later"])
        ((seq,),) = owner.execute("SELECT seq FROM audit WHERE action = 'later'")
        assert seq == before[-1][0] + 1
    _migrate_to(fresh_database_url, "0016")
    with psycopg.connect(fresh_database_url, autocommit=True) as owner:
        owner.execute(OWNER_AT_WORK)
        assert owner.execute("SELECT count(*) FROM audit").fetchone() == (3,)
        owner.execute(ENTRY, [organization_id, "2026-07-01", "last"])
        ((last,),) = owner.execute("SELECT seq FROM audit WHERE action = 'last'")
        assert last > seq


def test_an_upgrade_gives_up_rather_than_stop_all_holds_behind_a_long_reader(
    fresh_database_url: str,
) -> None:
    _migrate_to(fresh_database_url, "0021")
    _migrate_to(fresh_database_url, "0022")
    with psycopg.connect(fresh_database_url) as reader:
        reader.execute("SELECT FROM audit")
        # Without a limit, the upgrade would go on then.
        end = Timer(10, reader.rollback)
        end.start()
        with pytest.raises(OperationalError, match="lock timeout"):
            migrated(fresh_database_url)
        end.cancel()
    migrated(fresh_database_url)


def _migrate_to(url: str, target: str) -> None:
    setup_django(Settings(database_url=url))
    try:
        call_command("migrate", "holdfast", target, database=OWNER, verbosity=0)
    finally:
        connections.close_all()
