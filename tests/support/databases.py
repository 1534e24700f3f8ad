"""Private databases on one private PostgreSQL."""

import itertools
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import psycopg

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.adapters.embedded.cluster import ROLE, SERVER_ROLE, server_password
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.settings import Settings


def server_url(owner_url: str) -> str:
    """The same database with the server's login."""
    password = urlsplit(owner_url).password
    assert password is not None
    return owner_url.replace(
        f"//{ROLE}:{password}@", f"//{SERVER_ROLE}:{server_password(password)}@"
    )


def own_environment() -> dict[str, str]:
    """The environment for our processes, without the tests' setting to read rows as owner."""
    return {
        name: value
        for name, value in os.environ.items()
        if "HOLDFAST" not in name and name != "PGOPTIONS"
    }


@dataclass
class DatabaseFactory:
    """Migrates once; every further database is a copy."""

    postgres: EmbeddedPostgres
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _is_migrated: bool = False

    @property
    def template_url(self) -> str:
        return self.postgres.url

    def migrated(self) -> str:
        """The shared database; tests that use it make their own organizations."""
        if not self._is_migrated:
            migrate(Settings(database_url=self.template_url), report=lambda _: None)
            self._is_migrated = True
            self._run("CREATE DATABASE pristine TEMPLATE holdfast OWNER holdfast")
        return self.template_url

    def fresh(self) -> str:
        """A separate database, for tests that break things."""
        self.migrated()
        name = f"fresh_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE pristine OWNER holdfast")
        return self.template_url.rpartition("/")[0] + f"/{name}"

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.postgres.superuser_url, autocommit=True) as connection:
            connection.execute(statement.encode())


def is_engine_blocked(url: str) -> bool:
    """Whether an engine waits for a lock in this database. Locks are visible to the owner of the
    tables, unlike the activity of the server's login, and in a test nobody else waits."""
    query = (
        "SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
        " WHERE a.datname = current_database() AND NOT l.granted"
    )
    with psycopg.connect(url) as connection:
        return bool(connection.execute(query).fetchall())
