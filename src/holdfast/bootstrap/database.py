"""Django's database connections, and the migrations.

Two connections lead to the same tables. `default` serves the pages: it acts as the role
`holdfast_operator`, which reads every organization and writes nothing but log-ins. `owner` is the
plain login that owns the tables: migrations run on it.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import django
import psycopg
from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from psycopg.conninfo import conninfo_to_dict

from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.adapters.postgres.connections.logins import login_problem
from holdfast.adapters.postgres.facts.rebase import rebase_log
from holdfast.bootstrap.settings import Settings, SettingsError

OWNER = "owner"
_OPERATOR_ROLE = "holdfast_operator"

# Without DATABASE_URL, Django can be set up (for type checking), but every connection is refused.
_NO_DATABASE = "postgresql://holdfast@127.0.0.1:1/database_url_is_not_set"

# The most time that a page may cost the database.
_PAGE_LIMITS = "-c statement_timeout=10s -c lock_timeout=2s"

# The same as OWNER_AT_WORK, for Django's connections.
_AT_WORK = "-c holdfast.owner=on"

# Any number that nothing else in this database locks.
_MIGRATION_LOCK = 4_741_836_059_215_102_001
_LOCK_POLL_SECONDS = 0.2

# Servers can only keep entries longer than the owner says.
_KEEP_AUDIT = "UPDATE audit_horizon SET kept_days = %s"

_Connection = psycopg.Connection[tuple[Any, ...]]


class MigrationBusy(Exception):
    """Another process is still migrating this database after the maximum wait."""


def databases(settings: Settings) -> dict[str, dict[str, Any]]:
    """The value of Django's DATABASES."""
    pages = _connection(settings.database_url or _NO_DATABASE)
    options = pages["OPTIONS"]
    options["assume_role"] = _OPERATOR_ROLE
    options["options"] = f"{options.get('options', '')} {_PAGE_LIMITS}".strip()
    owner = _connection(settings.owner_url or _NO_DATABASE)
    options = owner["OPTIONS"]
    options["options"] = f"{options.get('options', '')} {_AT_WORK}".strip()
    return {"default": pages, OWNER: owner}


def _connection(url: str) -> dict[str, Any]:
    options = {"application_name": "holdfast-django", "connect_timeout": 10}
    options |= conninfo_to_dict(url)
    user = options.pop("user", "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        # PostgreSQL's rule for a URL without a database name.
        "NAME": options.pop("dbname", user),
        "USER": user,
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        "OPTIONS": options,
    }


def setup_django(settings: Settings) -> None:
    """Set up Django for the database of `settings`; the rest of its configuration comes from the
    environment. It can be called again, also with another database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holdfast.bootstrap.django_settings")
    django.setup()
    for alias, wanted in databases(settings).items():
        # All threads read this dictionary when they connect.
        current = connections.settings[alias]
        if any(current[name] != value for name, value in wanted.items()):
            connections[alias].close()
            current.update(wanted)


def migrate(
    settings: Settings, *, report: Callable[[str], None], wait_seconds: float = 120.0
) -> None:
    """Migrate the tables, as their owner, and rebase the fact log after a restore. If several
    processes call it, one works; the others wait up to `wait_seconds` and then find nothing to
    do."""
    if settings.owner_url is None:
        raise SettingsError("DATABASE_URL: must be set to migrate the database")
    setup_django(settings)
    with _migration_lock(settings.owner_url, report, wait_seconds) as connection:
        try:
            executor = MigrationExecutor(connections[OWNER])
            missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
            if missing:
                report(f"Applying {len(missing)} database migrations.")
            # Even if no migration is missing: an earlier run may have been interrupted before
            # Django stored the permissions of the models.
            call_command("migrate", database=OWNER, interactive=False, verbosity=0)
        finally:
            connections[OWNER].close()
        connection.execute(_KEEP_AUDIT, [settings.holdfast_audit_kept_days or None])
        facts = rebase_log(connection)
        if facts is not None:
            report(f"Restored from another PostgreSQL: {facts} facts have new cursors.")
    report("The database is up to date.")


@contextmanager
def _migration_lock(
    url: str, report: Callable[[str], None], wait_seconds: float
) -> Iterator[_Connection]:
    """Hold the lock on its own connection, so that the server releases it even if we crash."""
    deadline = time.monotonic() + wait_seconds
    waiting = False
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        # Poll: a statement that waits for the lock would keep a snapshot open, and CREATE INDEX
        # CONCURRENTLY would wait for us while we wait for it.
        while not _try_lock(connection):
            if time.monotonic() >= deadline:
                raise MigrationBusy(
                    f"Another process has been migrating the database for {wait_seconds:.0f} s."
                )
            if not waiting:
                report("Another process is migrating the database; waiting for it.")
                waiting = True
            time.sleep(_LOCK_POLL_SECONDS)
        connection.execute(OWNER_AT_WORK)
        yield connection
        # Unlock explicitly: the server notices a closed connection only a moment later.
        connection.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATION_LOCK])


def _try_lock(connection: _Connection) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [_MIGRATION_LOCK]).fetchone()
    return row is not None and bool(row[0])


def refuse_unsafe_login(settings: Settings) -> None:
    """Call before serving: a login that bypasses row-level security could leak data between
    tenants."""
    assert settings.database_url is not None
    problem = login_problem(settings.database_url)
    if problem is not None:
        raise SettingsError(
            f"DATABASE_URL: this login {problem}. Serve with a login that owns nothing, and set "
            "HOLDFAST_OWNER_DATABASE_URL for `migrate`: see docs/configuration.md"
        )
