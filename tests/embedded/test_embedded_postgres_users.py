"""The private PostgreSQL as root, as root without capabilities, and as an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import holdfast
from holdfast.adapters.embedded import EmbeddedPostgres, EmbeddedServiceError, placement
from holdfast.adapters.embedded.fallback import fallback_directory
from holdfast.adapters.embedded.installation import find_postgres
from holdfast.adapters.embedded.placement import RunAs, nobody_ids
from holdfast.adapters.embedded.processes import wait_until_gone

if TYPE_CHECKING:
    from tests.embedded.conftest import OwnerFactory

GONE_WITHIN_SECONDS = 5.0

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can try these: it changes users and namespaces"
)


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[Path]:
    """The directory used in place of tmp_path, removed afterwards."""
    path = fallback_directory(tmp_path)
    yield path
    if path.is_symlink() or path.is_file():
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def user_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def count_rows(url: str) -> int:
    """Add a row and count all rows."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (note text)")
        connection.execute("INSERT INTO kept VALUES ('x')")
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def running_as(user: RunAs, directory: Path) -> EmbeddedPostgres:
    service = EmbeddedPostgres(directory)
    service.run_as = user
    return service


def require_mount_namespace(*commands: str) -> None:
    """Skip without these programs or mount namespaces."""
    if any(shutil.which(command) is None for command in ("unshare", "mount", *commands)):
        pytest.skip(f"needs the programs unshare, mount and {', '.join(commands)}")
    probe = ["unshare", "--mount", "--propagation=private", "true"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let root make a mount namespace")


def test_root_runs_it_in_a_namespace_with_its_own_files(home: Path) -> None:
    with running_as(RunAs.NAMESPACE, home) as service:
        uid_map = Path(f"/proc/{service.pid}/uid_map").read_text().split()
        status = Path(f"/proc/{service.pid}/status").read_text()
        assert uid_map == [str(nobody_ids()[0]), "0", "1"]
        assert "CapEff:\t0000000000000000" in status
        assert service.data_directory.stat().st_uid == 0
        assert service.data_directory.parent == home


def test_forced_to_nobody_it_keeps_data_and_passwords(tmp_path: Path, stand_in: Path) -> None:
    with running_as(RunAs.NOBODY, tmp_path) as service:
        assert user_of(service.pid) == nobody_ids()[0]
        assert service.data_directory.is_relative_to(stand_in)
        assert count_rows(service.url) == 1
    # By default it runs where the data is, even if the files in the home are lost.
    for path in tmp_path.iterdir():
        path.unlink()
    with EmbeddedPostgres(tmp_path) as service:
        assert user_of(service.pid) == nobody_ids()[0]
        assert count_rows(service.url) == 2
    modes = {path.name: path.stat().st_mode & 0o777 for path in stand_in.iterdir()}
    assert stand_in.stat().st_mode & 0o777 == 0o755
    assert modes["cluster"] == 0o700
    assert modes["postgres-superuser.password"] == 0o600


def test_without_namespaces_it_falls_back_and_still_dies_with_its_owner(
    tmp_path: Path, stand_in: Path, start_owner: OwnerFactory
) -> None:
    require_mount_namespace("chroot")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    # The kernel refuses a user namespace inside a changed root, even an identical one.
    shell = f"mount --rbind / {mirror}; exec chroot {mirror}"
    owner = start_owner("EmbeddedPostgres", tmp_path, shell=shell)
    assert user_of(owner.pid) == nobody_ids()[0]
    assert stand_in.is_dir()
    assert count_rows(owner.url) == 1
    owner.kill()
    assert wait_until_gone(owner.marker, GONE_WITHIN_SECONDS) == []


def test_a_directory_that_root_cannot_open_is_served_as_nobody(tmp_path: Path) -> None:
    closed = tmp_path / "someone-elses"
    home = closed / "home"
    home.mkdir(parents=True)
    assert placement._choose(home, find_postgres()) is RunAs.NAMESPACE
    closed.chmod(0o700)
    os.chown(closed, *nobody_ids())
    assert placement._choose(home, find_postgres()) is RunAs.NOBODY
    # Data that exists but cannot be reached must not look like no data.
    (home / "postgres-data").mkdir()
    with pytest.raises(EmbeddedServiceError, match=r"cannot open .* as root"):
        placement._choose(home, find_postgres())


@pytest.mark.parametrize("squat", ["owned", "writable", "link", "file"])
def test_a_substitute_directory_of_another_user_is_refused(
    tmp_path: Path, stand_in: Path, squat: str
) -> None:
    if squat == "link":
        stand_in.symlink_to(tmp_path)
    elif squat == "file":
        stand_in.touch()
    else:
        stand_in.mkdir()
        stand_in.chmod(0o777 if squat == "writable" else 0o755)
        os.chown(stand_in, 0 if squat == "writable" else nobody_ids()[0], 0)
    with pytest.raises(EmbeddedServiceError, match="remove it to continue"):
        running_as(RunAs.NOBODY, tmp_path).start()


def test_data_of_another_user_is_not_replaced_by_an_empty_database(tmp_path: Path) -> None:
    data = tmp_path / "postgres-data"
    data.mkdir()
    os.chown(data, *nobody_ids())
    with pytest.raises(EmbeddedServiceError, match="belongs to user nobody"):
        EmbeddedPostgres(tmp_path).start()


def test_an_ordinary_user_runs_it_as_themselves(tmp_path: Path, start_owner: OwnerFactory) -> None:
    require_mount_namespace("setpriv")
    uid, gid = nobody_ids()
    home = Path("/var/tmp") / f"holdfast-test-{os.getpid()}"
    home.mkdir(mode=0o700)
    os.chown(home, uid, gid)
    drop = f"setpriv --reuid={uid} --regid={gid} --clear-groups"
    # The user must be able to read Python, the packages and the sources. Where these are closed to
    # others, as /root is, they are opened in the owner's own mount namespace.
    shell = f"{open_to_all(tmp_path, needed_trees())} exec {drop}"
    try:
        for expected in (1, 2):
            owner = start_owner("EmbeddedPostgres", home, shell=shell)
            assert user_of(owner.process.pid) == user_of(owner.pid) == uid
            assert (home / "postgres-data").stat().st_uid == uid
            assert count_rows(owner.url) == expected
            owner.kill()
            assert wait_until_gone(owner.marker, GONE_WITHIN_SECONDS) == []
    finally:
        shutil.rmtree(home, ignore_errors=True)


def needed_trees() -> list[Path]:
    sources = Path(holdfast.__file__).parent
    return [Path(place).resolve() for place in (sys.prefix, sys.base_prefix, sources)]


def open_to_all(scratch: Path, trees: list[Path]) -> str:
    """Shell code that mounts an open, empty directory over each closed one on the path."""
    closed = {tree: first for tree in trees if (first := first_closed(tree)) is not None}
    stages = {tree: scratch / f"stage-{number}" for number, tree in enumerate(closed)}
    lines = [f"mkdir -p {stage}; mount --bind {tree} {stage};" for tree, stage in stages.items()]
    lines += [f"mount -t tmpfs -o mode=755 none {first};" for first in set(closed.values())]
    lines += [f"mkdir -p {tree}; mount --move {stage} {tree};" for tree, stage in stages.items()]
    return " ".join(lines)


def first_closed(path: Path) -> Path | None:
    for step in (*reversed(path.parents), path):
        if not step.stat().st_mode & 0o001:
            return step
    return None
