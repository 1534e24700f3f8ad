"""A database dumped here and restored into another PostgreSQL."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.adapters.embedded.installation import find_postgres
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.settings import Settings

# Far more transactions than a new PostgreSQL has seen.
AHEAD = 20_000

Restore = Callable[[str], str]


def restorer(elsewhere: EmbeddedPostgres, directory: Path) -> Restore:
    """A function that restores a database there, under the name of its dump."""

    def restore(url: str) -> str:
        name = "restored_" + url.rpartition("/")[2]
        restored_url = elsewhere.url.rpartition("/")[0] + f"/{name}"
        with psycopg.connect(elsewhere.superuser_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER holdfast".encode())
        dump = directory / name
        _run("pg_dump", "--enable-row-security", "--format=custom", f"--file={dump}", url)
        _run("pg_restore", "--exit-on-error", f"--dbname={restored_url}", str(dump))
        return restored_url

    return restore


def _run(program: str, *arguments: str) -> None:
    path = find_postgres().server.with_name(program)
    done = subprocess.run(
        [path, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


def use_up_transactions(url: str) -> None:
    """Move positions here ahead of those in a new PostgreSQL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            f"DO $$ BEGIN FOR n IN 1..{AHEAD} LOOP"
            " PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$".encode()
        )


def migrated(url: str) -> list[str]:
    """Migrate and return the report."""
    report_lines: list[str] = []
    migrate(Settings(database_url=url), report=report_lines.append)
    return report_lines


def pretend_to_be_restored(url: str) -> None:
    """Shift positions as a restore does, without another PostgreSQL."""
    with psycopg.connect(url) as connection:
        for table, column in (
            ("outbox", "xid"),
            ("relay_cursor", "xid"),
            ("hold", "changed_xid"),
            ("seat", "changed_xid"),
            ("seat", "told_xid"),
        ):
            connection.execute(
                f"UPDATE {table} SET {column} = ({column}::text::bigint + {10 * AHEAD})"
                "::text::xid8".encode()
            )
