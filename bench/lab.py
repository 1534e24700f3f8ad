"""The lab: a private PostgreSQL, our server, pgbench and wrk, all on this machine."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen
from uuid import UUID, uuid4

import psycopg

import holdfast
from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.adapters.embedded.installation import find_postgres
from holdfast.adapters.embedded.tcp_ports import free_port
from holdfast.adapters.postgres.access.organizations import PostgresOrganizations
from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.domain.access.keys import NewSecret
from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import OrganizationId
from holdfast.services.access.authentication import new_secret_key

ROOT = Path(__file__).parents[1]
SOURCES = Path(holdfast.__file__).parents[1]

# Ids are made from numbers, as pgbench and wrk can do too.
ORGANIZATION_ID = UUID("b0000000-0000-4000-8000-000000000001")
EVENT_ID = UUID("b0000000-0000-4000-8000-000000000002")
SESSION_ID = UUID("b0000000-0000-4000-8000-000000000003")
POOLS = 100
POOL_TOTAL = 1_000_000_000

POSTGRES_SETTINGS = {
    "shared_buffers": "512MB",
    "max_connections": "400",
    "max_wal_size": "4GB",
    "min_wal_size": "1GB",
    "checkpoint_timeout": "30min",
    "autovacuum": "off",
}
# Without one, the server would not encrypt addresses.
SECRET = "a secret of the installation, 32"  # noqa: S105
NO_SETTINGS: Mapping[str, str] = {}
# Of 16 MB each.
WAL_SEGMENTS = 60


def pool_id(number: int) -> UUID:
    return UUID(f"b0000000-0000-4000-8001-{number:012x}")


def ticket_type_id(number: int) -> UUID:
    return UUID(f"b0000000-0000-4000-8002-{number:012x}")


@dataclass(frozen=True)
class RunningServer:
    base_url: str
    process: "subprocess.Popen[bytes]"
    instruments: Path  # the directory of what they measure


def _switched(switch: str) -> str:
    """Also for versions whose audit has no partitions."""
    return (
        "DO $$ DECLARE part regclass; BEGIN FOR part IN"
        " SELECT 'audit'::regclass UNION SELECT relid FROM pg_partition_tree('audit')"
        f" LOOP EXECUTE format('ALTER TABLE %s {switch} TRIGGER audit_is_append_only', part);"
        " END LOOP; END $$"
    )


class Lab:
    """One session with `POOLS` pools and a ticket type on each. fsync is on. `sources` is the
    version of Holdfast that is measured; the bench itself is always this one."""

    def __init__(self, sources: Path = SOURCES) -> None:
        self._sources = sources
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
        self.postgres = EmbeddedPostgres(self.directory / "pg", settings=POSTGRES_SETTINGS)
        self.secret_key = ""

    def __enter__(self) -> Self:
        self.postgres.start()
        self._prepare_wal()
        self._migrate(self.url)
        self.secret_key = self.add_organization(ORGANIZATION_ID, POOLS)
        return self

    def __exit__(self, *_: object) -> None:
        self.postgres.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def url(self) -> str:
        return self.postgres.url

    def another_database(self, name: str) -> str:
        """A migrated database beside the other; returns the owner's URL."""
        with psycopg.connect(self.postgres.superuser_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER holdfast".encode())
        url = self.url.rpartition("/")[0] + f"/{name}"
        self._migrate(url)
        return url

    def _migrate(self, url: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "holdfast.entrypoints.cli.main", "migrate"],
            env=self._environment(DATABASE_URL=url),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def _prepare_wal(self) -> None:
        """A server that has run for a while reuses the files of its write-ahead log. In a new one,
        every commit waits now and then for another file to be filled with zeros, up to 100 ms."""
        with psycopg.connect(self.postgres.superuser_url, autocommit=True) as connection:
            for _ in range(WAL_SEGMENTS):
                connection.execute("SELECT pg_logical_emit_message(false, 'bench', '')")
                connection.execute("SELECT pg_switch_wal()")
        self.checkpoint()

    def _environment(self, **settings: str) -> dict[str, str]:
        if self._sources != SOURCES:
            # What is compiled from another version goes with it.
            settings["PYTHONPYCACHEPREFIX"] = str(self.directory / "pycache")
        return {
            **{name: value for name, value in os.environ.items() if "HOLDFAST" not in name},
            "PYTHONPATH": f"{self._sources}{os.pathsep}{ROOT}",
            **settings,
        }

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """As the superuser, because COPY does not load rows under row-level security."""
        name = urlsplit(self.url).path.removeprefix("/")
        superuser = self.postgres.superuser_url
        with psycopg.connect(superuser, dbname=name, autocommit=True) as connection:
            connection.execute(OWNER_AT_WORK)  # for triggers, which run as the owner
            yield connection

    def add_organization(self, organization_id: UUID, pools: int) -> str:
        """Returns its secret key. All organizations use the same ids, so one load fits all."""
        secret_key, key = new_secret_key(Mode.TEST)
        if self._has_sides():
            PostgresOrganizations(self.url).create(OrganizationId(organization_id), "Bench", [key])
        else:
            self._add_organization_without_sides(organization_id, key)
        self._put_on_sale(organization_id, pools)
        return secret_key

    def _has_sides(self) -> bool:
        """Versions before 2026-11-17 had no test and live side."""
        query = "SELECT FROM information_schema.columns WHERE column_name = 'account_id'"
        with self.connected() as connection:
            return connection.execute(query).fetchone() is not None

    def _add_organization_without_sides(self, organization_id: UUID, key: NewSecret) -> None:
        scopes = ["holds:read", "holds:write", "catalog:read"]
        with self.connected() as connection:
            query = "INSERT INTO organization (id, name) VALUES (%s, 'Bench')"
            connection.execute(query, [organization_id])
            connection.execute(
                "INSERT INTO api_key (organization_id, id, name, prefix, secret_hash, scopes)"
                " VALUES (%s, %s, 'bench', %s, %s, %s)",
                [organization_id, uuid4(), key.prefix, key.secret_hash, scopes],
            )

    def _put_on_sale(self, organization_id: UUID, pools: int) -> None:
        with self.connected() as connection:
            names = {"o": organization_id, "e": EVENT_ID, "s": SESSION_ID}
            connection.execute(
                "INSERT INTO event (organization_id, id, name, currency)"
                " VALUES (%(o)s, %(e)s, 'Bench', 'EUR')",
                names,
            )
            connection.execute(
                "INSERT INTO session (organization_id, id, event_id, name)"
                " VALUES (%(o)s, %(s)s, %(e)s, 'Bench')",
                names,
            )
            for number in range(1, pools + 1):
                ids = names | {"p": pool_id(number), "t": ticket_type_id(number)}
                connection.execute(
                    "INSERT INTO pool (organization_id, id, session_id, name, total)"
                    f" VALUES (%(o)s, %(p)s, %(s)s, 'pool', {POOL_TOTAL})",
                    ids,
                )
                connection.execute(
                    "INSERT INTO ticket_type (organization_id, id, session_id, name, price_minor)"
                    " VALUES (%(o)s, %(t)s, %(s)s, 'type', 4500)",
                    ids,
                )
                connection.execute("INSERT INTO ticket_type_pool VALUES (%(o)s, %(t)s, %(p)s)", ids)

    def clear(self) -> None:
        """Empty the tables before a measurement, and write everything to disk."""
        with self.connected() as connection:
            # Only the table's owner can empty the audit, and only without its triggers: every
            # partition has one.
            connection.execute(
                f"{_switched('DISABLE')};"
                "TRUNCATE hold, hold_line, outbox, audit, idempotency, pool_lapse, relay_cursor,"
                " waiting_line, waiting_place, checkout, purchase_order, ticket;"
                f"{_switched('ENABLE')};"
                f"UPDATE pool SET held = 0, sold = 0, total = {POOL_TOTAL}"
            )
            connection.execute("VACUUM (FULL, ANALYZE) pool")
        self.checkpoint()

    def set_waitlist(self, is_on: bool) -> None:
        """Raises the version, like any change of the catalog. No server runs in the meantime."""
        with self.connected() as connection:
            connection.execute("UPDATE event SET waitlist = %s", (is_on,))
            connection.execute("UPDATE session SET version = version + 1")

    def checkpoint(self) -> None:
        with psycopg.connect(self.postgres.superuser_url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    @contextmanager
    def server(
        self,
        processes: int = 1,
        group_max: int = 128,
        *,
        duties: str = "threads",
        command: Sequence[str] = ("serve", "--api"),
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[RunningServer]:
        """`holdfast serve` with everything enabled: validation, keys, audit, outbox, logs."""
        port = free_port("127.0.0.1")
        own = {
            "DATABASE_URL": self.postgres.server_url,
            "HOLDFAST_PORT": str(port),
            "HOLDFAST_PROCESSES": str(processes),
            "HOLDFAST_GROUP_MAX": str(group_max),
            "HOLDFAST_DUTIES": duties,
            "HOLDFAST_SECRET_KEY": SECRET,
        }
        environment = self._environment(**own | dict(settings))
        instruments = Path(tempfile.mkdtemp(prefix="instruments-", dir=self.directory))
        program = [sys.executable, "-m", "bench.cost.instruments", str(instruments)]
        with (self.directory / "server.log").open("wb") as output:
            process = subprocess.Popen(
                [*program, *command],
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            base_url = f"http://127.0.0.1:{port}"
            self._wait_until_ready(base_url, process)
            yield RunningServer(base_url, process, instruments)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def _wait_until_ready(self, base_url: str, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urlopen(f"{base_url}/readyz", timeout=5):  # noqa: S310
                    return
            except (URLError, ConnectionError):
                time.sleep(0.05)
        log = (self.directory / "server.log").read_text(errors="replace")
        raise RuntimeError(f"the server did not start:\n{log[-2000:]}")


def pgbench_program() -> Path:
    """It comes with the wheel of the embedded PostgreSQL."""
    return find_postgres().server.with_name("pgbench")
