"""The user that PostgreSQL runs as, and the place of its data.

PostgreSQL refuses to run as root. Root runs it in a user namespace, where it appears as `nobody`
and still owns root's files. If that is not allowed, or if the files cannot be reached that way, it
really runs as `nobody`, in a directory that `nobody` can enter.
"""

import os
import pwd
import signal
import stat
import subprocess
from enum import Enum
from pathlib import Path

from holdfast.adapters.embedded import fallback
from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.installation import PostgresInstallation
from holdfast.adapters.embedded.processes import clean_environment, launcher_command
from holdfast.domain.immutable import immutable

DATA_NAME = "postgres-data"
_PROBE_TIMEOUT_SECONDS = 20.0
_OVERFLOW_ID = 65534


class RunAs(Enum):
    """The ways to get a user that PostgreSQL agrees to run as."""

    SELF = "self"
    NAMESPACE = "namespace"
    NOBODY = "nobody"


@immutable
class Placement:
    """Everything that depends on the server's user."""

    installation: PostgresInstallation
    root: Path  # writable by us alone; contains the passwords
    cluster_parent: Path  # writable by the server
    identity: tuple[str, ...]  # for the launcher
    owner: tuple[int, int]  # of the files that the server must read

    @property
    def data(self) -> Path:
        return self.cluster_parent / DATA_NAME


def place(
    directory: Path, installation: PostgresInstallation, forced: RunAs | None = None
) -> Placement:
    """Choose a user, and prepare the directories."""
    run_as = forced or _choose(directory, installation)
    if run_as is RunAs.NOBODY:
        return _place_with_nobody(directory, installation)
    identity = _namespace_identity() if run_as is RunAs.NAMESPACE else ()
    owner = (os.geteuid(), os.getegid())
    return Placement(installation, directory, directory, identity, owner)


def _choose(directory: Path, installation: PostgresInstallation) -> RunAs:
    """Stay with existing data: a second, empty database would look like data loss."""
    data = directory / DATA_NAME
    _refuse_foreign_data(data)
    if os.geteuid() != 0:
        return RunAs.SELF
    if _fallback_holds_data(directory):
        return RunAs.NOBODY
    if _namespace_works(directory, installation):
        return RunAs.NAMESPACE
    if data.exists():
        raise EmbeddedServiceError(
            f"PostgreSQL cannot open {data} as root: this machine no longer allows user "
            "namespaces, or unprivileged root cannot access the path."
        )
    return RunAs.NOBODY


def _refuse_foreign_data(data: Path) -> None:
    """PostgreSQL opens only directories of its own user; this error is clearer than its own."""
    if not data.exists():
        return
    owner = data.stat().st_uid
    if owner != os.geteuid():
        raise EmbeddedServiceError(
            f"{data} belongs to user {_user_name(owner)}; "
            "start as that user, or with another directory."
        )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _namespace_works(directory: Path, installation: PostgresInstallation) -> bool:
    """Try to enter a namespace, access the directory and execute the server."""
    command = launcher_command(
        [str(installation.server), "--version"],
        death_signal=signal.SIGKILL,
        identity=(*_namespace_identity(), "--writable", str(directory)),
    )
    probe = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
        timeout=_PROBE_TIMEOUT_SECONDS,
        check=False,
    )
    return probe.returncode == 0


def _namespace_identity() -> tuple[str, ...]:
    uid, gid = nobody_ids()
    return ("--appear-as", f"{uid}:{gid}")


def nobody_ids() -> tuple[int, int]:
    """Find an unprivileged user with a name, which initdb requires."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
        if not others:
            return _OVERFLOW_ID, _OVERFLOW_ID
        entry = others[-1]
    return entry.pw_uid, entry.pw_gid


def _fallback_holds_data(directory: Path) -> bool:
    data = fallback.fallback_directory(directory) / fallback.CLUSTER_NAME / DATA_NAME
    try:
        mode = data.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISDIR(mode)


def _place_with_nobody(directory: Path, installation: PostgresInstallation) -> Placement:
    if os.geteuid() != 0:
        raise EmbeddedServiceError("Only root can run PostgreSQL as another user.")
    owner = nobody_ids()
    root = fallback.prepare(directory, owner)
    copied = PostgresInstallation(fallback.copy_installation(installation.root, root))
    identity = ("--become", f"{owner[0]}:{owner[1]}")
    return Placement(copied, root, root / fallback.CLUSTER_NAME, identity, owner)
