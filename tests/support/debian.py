"""Programs that the tests need and that no wheel carries, from Debian's packages."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "debian"
# All together end before the timeout of the test that asks does.
UPDATE_SECONDS_MAX, INSTALL_SECONDS_MAX, DOWNLOAD_SECONDS_MAX = 50, 110, 60
UNPACK_SECONDS_MAX = 20


def announce(config: pytest.Config, sentence: str) -> None:
    """Tell the person who waits what for."""
    capture = config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print(f"\n{sentence}", flush=True)  # noqa: T201


def unavailable(sentence: str) -> NoReturn:
    """Skip, but not where nobody would notice that a part of the tests never runs."""
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)


def install(package: str) -> bool:
    """Into the system, where we may. For what must be installed to run."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    with _one_at_a_time():
        if shutil.which(package) is not None:
            return True
        return _run(["apt-get", "update"], UPDATE_SECONDS_MAX) and _run(
            ["apt-get", "install", "-y", "--no-install-recommends", package], INSTALL_SECONDS_MAX
        )


def unpack(name: str, packages: Sequence[str]) -> Path | None:
    """The files of the packages in a directory of our own, which is kept from one run to the next:
    nothing is installed, no service is started, nobody needs to be root."""
    kept = CACHE / name
    if kept.is_dir():
        return kept
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return None
    with _one_at_a_time():
        return kept if kept.is_dir() else _fetch(packages, kept)


def _fetch(packages: Sequence[str], kept: Path) -> Path | None:
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        files, downloads = Path(scratch, "files"), Path(scratch, "downloads")
        if not _download(packages, downloads):
            return None
        for archive in downloads.glob("*.deb"):
            if not _run(["dpkg-deb", "-x", str(archive), str(files)], UNPACK_SECONDS_MAX):
                return None
        _settle(files, kept)
    return kept


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """The workers of a run need the same program at the same moment, and apt refuses the second."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download(packages: Sequence[str], into: Path) -> bool:
    """With the lists that the system has; with fresh ones of our own where they are missing or too
    old."""
    into.mkdir()
    download = ["apt-get", "download", *packages]
    if _run(download, DOWNLOAD_SECONDS_MAX, cwd=into):
        return True
    lists = into / "lists"
    (lists / "partial").mkdir(parents=True)
    ours = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={into / 'cache'}"]
    return _run(["apt-get", *ours, "update"], UPDATE_SECONDS_MAX) and _run(
        [*download, *ours], DOWNLOAD_SECONDS_MAX, cwd=into
    )


def _settle(files: Path, kept: Path) -> None:
    """Whole or not at all; another run of the tests may have been faster."""
    try:
        files.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise


def _run(command: Sequence[str], seconds_max: float, cwd: Path | None = None) -> bool:
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
