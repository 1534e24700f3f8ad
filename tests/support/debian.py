"""Programs from Debian's packages that the tests need and no wheel provides."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from holdfast.adapters.embedded.debian import UPDATE_SECONDS_MAX, one_at_a_time, run

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "debian"
# With the update, shorter than the timeout of the test that asks.
INSTALL_SECONDS_MAX = 110


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
    with one_at_a_time(CACHE):
        if shutil.which(package) is not None:
            return True
        return run(["apt-get", "update"], UPDATE_SECONDS_MAX) and run(
            ["apt-get", "install", "-y", "--no-install-recommends", package], INSTALL_SECONDS_MAX
        )
