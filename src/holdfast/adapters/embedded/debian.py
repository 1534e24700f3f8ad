"""Programs from Debian's packages, for what no wheel provides."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Together shorter than the timeout of a test that asks.
UPDATE_SECONDS_MAX, DOWNLOAD_SECONDS_MAX = 50, 60
UNPACK_SECONDS_MAX = 20


def unpack(packages: Sequence[str], kept: Path) -> Path | None:
    """Unpack the packages into a directory that is kept. Nothing is installed, no service started,
    and root is not needed. None where this is not Debian, or if its servers cannot be reached."""
    if kept.is_dir():
        return kept
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return None
    with one_at_a_time(kept.parent):
        return kept if kept.is_dir() else _fetch(packages, kept)


@contextmanager
def one_at_a_time(directory: Path) -> Iterator[None]:
    """Serialize processes that need the same program: apt refuses a second run."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str], seconds_max: float, cwd: Path | None = None) -> bool:
    """Whether the command succeeded in this time."""
    try:
        subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=seconds_max,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _fetch(packages: Sequence[str], kept: Path) -> Path | None:
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        files, downloads = Path(scratch, "files"), Path(scratch, "downloads")
        if not _download(packages, downloads):
            return None
        for archive in downloads.glob("*.deb"):
            if not run(["dpkg-deb", "-x", str(archive), str(files)], UNPACK_SECONDS_MAX):
                return None
        # In one step, so that an interruption leaves nothing half unpacked.
        files.rename(kept)
    return kept


def _download(packages: Sequence[str], into: Path) -> bool:
    """Download with the system's package lists, or with fresh private ones if these are missing or
    outdated."""
    into.mkdir()
    download = ["apt-get", "download", *packages]
    if run(download, DOWNLOAD_SECONDS_MAX, cwd=into):
        return True
    lists = into / "lists"
    (lists / "partial").mkdir(parents=True)
    ours = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={into / 'cache'}"]
    return run(["apt-get", *ours, "update"], UPDATE_SECONDS_MAX) and run(
        [*download, *ours], DOWNLOAD_SECONDS_MAX, cwd=into
    )
