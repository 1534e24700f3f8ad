"""Creating PostgreSQL's data directory, and the checks before and after each start."""

import hashlib
import os
import secrets
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.files import log_tail, remove_tree, sync_directory
from holdfast.adapters.embedded.placement import DATA_NAME, Placement
from holdfast.adapters.embedded.processes import end, launcher_command, spawn

SUPERUSER = "postgres"
ROLE = "holdfast"
SERVER_ROLE = "holdfast_web"
DATABASE = "holdfast"

_INITDB_TIMEOUT_SECONDS = 120.0
_CONNECT_TIMEOUT_SECONDS = 10
_READY_LINE = 7  # of postmaster.pid, where the server writes its own state


def ensure_initialised(placement: Placement, *, marker: str, password: str, log: Path) -> None:
    """Create the data directory if it is missing, under another name and then renamed: an
    interruption never leaves a partial one."""
    _remove_leftovers(placement)
    if (placement.data / "PG_VERSION").exists():
        return
    if placement.data.exists() and any(placement.data.iterdir()):
        raise EmbeddedServiceError(
            f"{placement.data} exists and is not a PostgreSQL data directory."
        )
    suffix = secrets.token_hex(4)
    draft = placement.cluster_parent / f"{DATA_NAME}.new-{suffix}"
    password_file = placement.root / f"initdb-{suffix}.password"
    try:
        _write_password(password_file, password, placement.owner)
        _run_initdb(placement, draft, password_file, marker=marker, log=log)
        draft.rename(placement.data)
    finally:
        password_file.unlink(missing_ok=True)
        remove_tree(draft)
    sync_directory(placement.cluster_parent)


def _remove_leftovers(placement: Placement) -> None:
    for draft in placement.cluster_parent.glob(f"{DATA_NAME}.new-*"):
        remove_tree(draft)
    for password_file in placement.root.glob("initdb-*.password"):
        password_file.unlink(missing_ok=True)


def _write_password(path: Path, password: str, owner: tuple[int, int]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(f"{password}\n")
        os.fchown(stream.fileno(), *owner)


def _run_initdb(
    placement: Placement, draft: Path, password_file: Path, *, marker: str, log: Path
) -> None:
    command = [
        str(placement.installation.initdb),
        f"--pgdata={draft}",
        f"--username={SUPERUSER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        # The builtin C.UTF-8 sorts the same on every machine and needs no installed locale.
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions",
        f"--set=cluster_name={marker}",
    ]
    offset = log.stat().st_size
    wrapped = launcher_command(command, death_signal=signal.SIGKILL, identity=placement.identity)
    process = spawn(wrapped, log=log, cwd=placement.root)
    try:
        status = process.wait(_INITDB_TIMEOUT_SECONDS)
    finally:
        end(process, [(signal.SIGKILL, 5.0)])
    if status != 0:
        raise EmbeddedServiceError(
            f"PostgreSQL could not create its data directory: initdb ended with status {status}.",
            log_tail(log, offset),
        )


def clear_stale_lock_file(data: Path) -> None:
    """Remove the lock file of a server that has certainly ended.

    PostgreSQL does so itself, but not when another process has got the same process id, as often
    happens after a restart of the machine or a container.
    """
    with suppress(FileNotFoundError):
        (data / "postmaster.pid").unlink()


def is_ready(data: Path, pid: int) -> bool:
    """Whether the server accepts connections, from its lock file as pg_ctl does."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, UnicodeDecodeError):
        return False
    if len(lines) <= _READY_LINE or lines[0].strip() != str(pid):
        return False
    return lines[_READY_LINE].strip() == "ready"


def server_password(owner_password: str) -> str:
    """The service login's password, derived one-way from the owner's."""
    return hashlib.sha256(f"{SERVER_ROLE}:{owner_password}".encode()).hexdigest()


def ensure_roles_and_database(superuser_url: str, password: str) -> None:
    """Create or correct our two logins, the roles that they assume, and the database. One login
    owns the tables; the service uses the other, which owns nothing."""
    with psycopg.connect(
        superuser_url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_SECONDS
    ) as connection:
        _ensure_role(connection, ROLE, "LOGIN CREATEROLE", password)
        _ensure_role(connection, SERVER_ROLE, "LOGIN NOINHERIT", server_password(password))
        for name in ("holdfast_app", "holdfast_operator"):
            _ensure_role(connection, name, "NOLOGIN", None)
            connection.execute(
                sql.SQL("GRANT {name} TO {owner}, {server} WITH INHERIT FALSE").format(
                    name=sql.Identifier(name),
                    owner=sql.Identifier(ROLE),
                    server=sql.Identifier(SERVER_ROLE),
                )
            )
    ensure_database(superuser_url, DATABASE)


def ensure_database(superuser_url: str, name: str) -> None:
    """Create a database of our owner, if there is none with this name."""
    with psycopg.connect(
        superuser_url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_SECONDS
    ) as connection:
        names = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if names.fetchone() is None:
            connection.execute(
                sql.SQL("CREATE DATABASE {database} OWNER {role}").format(
                    database=sql.Identifier(name), role=sql.Identifier(ROLE)
                )
            )


def _ensure_role(
    connection: psycopg.Connection[tuple[Any, ...]],
    name: str,
    options: LiteralString,
    password: str | None,
) -> None:
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    verifier = None
    if password is not None:
        # Encrypted here to keep the password out of the server's log.
        verifier = connection.pgconn.encrypt_password(
            password.encode("ascii"), name.encode("ascii"), b"scram-sha-256"
        ).decode("ascii")
    connection.execute(
        sql.SQL(
            "{verb} ROLE {name} WITH {options} NOSUPERUSER NOCREATEDB NOREPLICATION NOBYPASSRLS"
            " PASSWORD {verifier}"
        ).format(
            verb=sql.SQL("ALTER" if known else "CREATE"),
            name=sql.Identifier(name),
            options=sql.SQL(options),
            verifier=sql.Literal(verifier),
        )
    )
