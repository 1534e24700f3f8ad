"""Every command of every page works when pasted in order into a shell next to the demo."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.adapters.embedded.installation import find_postgres
from tests.docs.pages import ROOT, all_pages, name_of
from tests.support.databases import own_environment
from tests.support.demo import Demo
from tests.support.servers import free_port

# Pages with blocks marked `not-run`, and why.
NOT_RUN = {
    "docs/django": "`make shop` runs until it is stopped, and `pip` installs from outside",
    "docs/desk": "cancels a session for good",
    "README": "`make demo` starts the demo that is running here, `make test` runs this test",
    "docs/tutorial": "`make demo` starts the demo that is running here",
    "docs/bench": "measures for an hour",
    "docs/celery": "starts processes that run until stopped, as tests/workers does",
    "docs/reconciler": "needs an Inventory Service, as tests/reconciler has",
    "docs/two-services": "starts two services, as tests/demo/test_two_services.py does",
    "docs/faults": "injects faults for minutes",
    "docs/configuration": "SQL of an administrator; docs/installation runs the usual way",
    "docs/privacy": "erases somebody of another installation, as tests/e2e/privacy does",
    "docs/maintenance": "restores into a second PostgreSQL, as tests/relay/test_restoring.py does",
}
# They need an empty PostgreSQL instead of the demo.
INSTALLATIONS = ("docs/installation", "docs/inventory")
TIMEOUT_SECONDS = 280
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# A block of commands, and its output if that follows directly.
BLOCK = re.compile(
    r"^```console\n(.*?)^```\n(?:\n^```(?:text|json)\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
MARK = "-- end of a block --"
# Values that differ between runs: ids, references, keys, rows, times and other numbers.
VARYING = re.compile(
    r'"seat_id_prefix": "[^"]*", "seat_id_suffixes": \[[^\]]*\]|h[kt]_(?:test|live)_\S+|'
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[A-Z0-9]{6}\b|(?<=row )\w+|\d[\d.,:TZ-]*"
)

pytestmark = [
    pytest.mark.skipif(shutil.which("curl") is None, reason="the commands need curl"),
    pytest.mark.timeout(TIMEOUT_SECONDS + 10),
]


@dataclass(frozen=True)
class Done:
    status: int
    printed: str
    complaints: str


def run(script: str, directory: Path) -> Done:
    """Run the script in its own session, to end any process it leaves running."""
    programs = (Path(sys.executable).parent, find_postgres().server.parent)
    path = ":".join([*map(str, programs), os.environ["PATH"]])
    output, complaints = directory / "stdout.txt", directory / "stderr.txt"
    with output.open("wb") as stdout, complaints.open("wb") as stderr:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=directory,
            env={**own_environment(), "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            status = process.wait(TIMEOUT_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return Done(status, output.read_text(), complaints.read_text())


def shape(text: str) -> list[str]:
    return [VARYING.sub("#", line).rstrip() for line in text.strip().splitlines()]


def run_page(page: Path, directory: Path, places: Mapping[str, str]) -> None:
    text = page.read_text()
    for shown, here in places.items():
        text = text.replace(shown, here)
    blocks = BLOCK.findall(text)
    script = "".join(f"{commands}echo '{MARK}'\n" for commands, _ in blocks)
    done = run(script, directory)
    printed = done.printed.split(f"{MARK}\n")
    number = len(printed) - 1
    assert done.status == 0, (
        f"block {number + 1} of {page.name} fails: {blocks[number][0]}\n"
        f"{printed[-1]}{done.complaints[-2000:]}"
    )
    for (commands, expected), output in zip(blocks, printed, strict=False):
        if expected:
            assert shape(output) == shape(expected), commands


def pages_to_run() -> list[Path]:
    return [
        page
        for page in all_pages()
        if BLOCK.search(page.read_text()) and name_of(page) not in INSTALLATIONS
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that looks like a checkout of Holdfast."""
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    return tmp_path


@pytest.mark.parametrize("page", pages_to_run(), ids=name_of)
def test_the_commands_of_a_page_print_what_it_shows(
    page: Path, checkout: Path, running_demo: Demo
) -> None:
    (checkout / ".holdfast").symlink_to(running_demo.home)
    run_page(page, checkout, {"127.0.0.1:8000": f"127.0.0.1:{running_demo.port}"})


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_the_installation_commands_start_a_server(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    with EmbeddedPostgres(tmp_path_factory.mktemp("empty")) as postgres:
        with psycopg.connect(postgres.superuser_url, autocommit=True) as administrator:
            administrator.execute("DROP DATABASE holdfast")
            administrator.execute(
                "DROP ROLE holdfast_app, holdfast_operator, holdfast_web, holdfast"
            )
        places = {
            "postgresql://postgres@db.example.com/postgres": postgres.superuser_url,
            "db.example.com": f"127.0.0.1:{postgres.port}",
            "8000": str(free_port()),
            "8001": str(free_port()),
            "8100": str(free_port()),
        }
        run_page(ROOT / f"{name}.md", checkout, places)


def test_every_shell_block_is_run_or_marked_as_not_run() -> None:
    kinds = {name_of(page): kinds_of(page) for page in all_pages()}
    known = {"", "console", "console not-run", "sql not-run", "text", "json", "python"}
    assert {name: found - known for name, found in kinds.items() if found - known} == {}
    marked = {name for name, found in kinds.items() if any("not-run" in kind for kind in found)}
    assert marked == set(NOT_RUN)


def kinds_of(page: Path) -> set[str]:
    return {fence["kind"] for fence in FENCE.finditer(page.read_text())}


@pytest.mark.parametrize(
    "mistake", ["echo $NOBODY_SET_THIS", "false | cat", "X=$(false)", "api() { false; }; api | cat"]
)
def test_a_mistake_in_a_page_is_detected(mistake: str, tmp_path: Path) -> None:
    assert run(f"{mistake}\ntrue", tmp_path).status != 0
