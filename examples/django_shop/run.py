"""Runs the shop, and the Holdfast demo unless it is already running. Ctrl-C stops both."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

HERE = Path(__file__).parent
HOME = Path(os.environ.get("HOLDFAST_HOME", ".holdfast")).resolve()
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 30
DEMO = [sys.executable, "-m", "holdfast.entrypoints.cli.main", "demo"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8200)
    parser.add_argument(
        "--in-process",
        action="store_true",
        help="run Holdfast's engine in the shop's own process, on the demo's database",
    )
    options = parser.parse_args()
    os.environ["HOLDFAST_HOME"] = str(HOME)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with ExitStack() as running:
        if "SHOP_HOLDFAST_URL" not in os.environ and not _is_ready():
            running.enter_context(_program(DEMO))
            _wait_for_demo()
        if options.in_process:
            os.environ |= _engine_variables()
        manage = [sys.executable, str(HERE / "manage.py")]
        subprocess.run([*manage, "prepare"], check=True)
        print(
            f"\nThe shop is at http://127.0.0.1:{options.port}/ (ada or grace, password harbour)\n"
        )
        address = f"127.0.0.1:{options.port}"
        shop = running.enter_context(_program([*manage, "runserver", "--noreload", address]))
        shop.wait()


@contextmanager
def _program(command: list[str]) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(command)
    try:
        yield process
    except KeyboardInterrupt:
        print("Stopping ...")
    finally:
        process.terminate()
        process.wait(STOP_SECONDS_MAX)


def _demo() -> dict[str, str]:
    try:
        return dict(json.loads((HOME / "demo.json").read_text()))
    except OSError:
        return {}


def _is_ready() -> bool:
    try:
        return httpx.get(_demo().get("base_url", "http://127.0.0.1:1") + "/readyz").is_success
    except httpx.TransportError:
        return False


def _wait_for_demo() -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while not _is_ready():
        if time.monotonic() > deadline:
            sys.exit("The Holdfast demo does not answer: see its messages above")
        time.sleep(0.2)


def _engine_variables() -> dict[str, str]:
    """The demo's own server goes on with the background duties."""
    return {
        "SHOP_HOLDFAST_DATABASE_URL": _demo()["database_url"],
        "HOLDFAST_SECRET_KEY": (HOME / "secret_key").read_text(),
        "HOLDFAST_DUTIES": "none",
        "HOLDFAST_PAYMENTS": "demo",
    }


if __name__ == "__main__":
    main()
