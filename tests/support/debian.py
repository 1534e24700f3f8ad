"""Programs from Debian packages that the tests need and no wheel provides."""

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
# Together shorter than the timeout of the test that asks.
UPDATE_SECONDS_MAX, INSTALL_SECONDS_MAX, DOWNLOAD_SECONDS_MAX = 50, 110, 60
UNPACK_SECONDS_MAX = 20


def announce(config: pytest.Config, sentence: str) -> None:
    """Show the developer why the run waits."""
    capture = config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print(f"\n{sentence}", flush=True)  # noqa: T201


def unavailable(sentence: str) -> NoReturn:
    """Skip, or fail in CI, where nobody would notice skipped tests."""
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)


def install(package: str) -> bool:
    """Install the package into the system, if allowed, for programs that run only when
    installed."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    with _one_at_a_time():
        if shutil.which(package) is not None:
            return True
        return _run(["apt-get", "update"], UPDATE_SECONDS_MAX) and _run(
            ["apt-get", "install", "-y", "--no-install-recommends", package], INSTALL_SECONDS_MAX
        )


def unpack(name: str, packages: Sequence[str]) -> Path | None:
    """Unpack the packages into a directory kept between runs. Nothing is installed, no service
    started, and root is not needed."""
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
    """Serialize workers that need the same program: apt refuses a second run."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download(packages: Sequence[str], into: Path) -> bool:
    """Download with the system's package lists, or with fresh private ones if these are missing or
    outdated."""
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
    """Move the files into place atomically; another run may have been faster."""
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
