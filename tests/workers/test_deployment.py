"""The deployment files start every process, with commands that exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.connections.logins import login_problem
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.entrypoints.cli.main import parser
from tests.support.databases import DatabaseFactory
from tests.workers.commands import environment_of

ROOT = Path(__file__).parents[2]
PROGRAM = "/opt/holdfast/bin/holdfast"
SECRETS = (
    "HOLDFAST_DB_PASSWORD",
    "HOLDFAST_WEB_DB_PASSWORD",
    "HOLDFAST_MQ_PASSWORD",
    "HOLDFAST_SECRET_KEY",
)

# The full layout: every background duty has its own process.
LAYOUT = {
    "api": ["serve", "--api"],
    "pages": ["serve", "--pages"],
    "reaper": ["release-expired", "--watch"],
    "relay": ["relay"],
    "consumer": ["consume"],
    "cleanup": ["worker", "--queue", "cleanup"],
    "worker": ["worker", "--queue", "default"],
    "beat": ["beat"],
}


def in_procfile() -> dict[str, list[str]]:
    """The commands, without the variables before them."""
    lines = (ROOT / "Procfile").read_text().splitlines()
    named = (line.split(":", 1) for line in lines if not line.startswith("#"))
    return {
        name: [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
        for name, command in named
    }


def in_systemd() -> dict[str, list[str]]:
    return {
        unit.stem.removeprefix("holdfast-"): shlex.split(
            re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)[0]
        )
        for unit in (ROOT / "deploy" / "systemd").glob("*.service")
    }


def compose_services() -> dict[str, str]:
    """Each service and its lines."""
    text = (ROOT / "deploy" / "compose.yaml").read_text()
    services = text.split("\nservices:\n")[1].split("\nvolumes:\n")[0]
    parts = re.split(r"^  (\w+):\n", services, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def in_compose() -> dict[str, list[str]]:
    return {
        name: re.findall(r"[^\s,\[\]]+", re.findall(r"^    command: (.*)$", lines, re.MULTILINE)[0])
        for name, lines in compose_services().items()
        if "<<: *holdfast" in lines
    }


def test_every_layout_starts_every_process() -> None:
    assert in_procfile() == {name: ["holdfast", *command] for name, command in LAYOUT.items()}
    assert in_systemd() == {name: [PROGRAM, *command] for name, command in LAYOUT.items()}
    assert in_compose() == {"migrate": ["migrate"], **LAYOUT}


@pytest.mark.parametrize("command", LAYOUT.values(), ids=" ".join)
def test_the_commands_exist(command: list[str]) -> None:
    assert callable(parser().parse_args(command).run)


def test_compose_has_the_required_services() -> None:
    services = compose_services()
    assert set(services) == {"postgres", "valkey", "rabbitmq", "migrate", *LAYOUT}
    text = (ROOT / "deploy" / "compose.yaml").read_text()
    for variable in SECRETS:
        assert re.findall(rf"\$\{{{variable}(.*?)\}}", text)
        assert set(re.findall(rf"\$\{{{variable}(.*?)\}}", text)) == {":?"}, (
            "a password must have no default"
        )


def test_only_migrate_gets_the_owners_password() -> None:
    for name, lines in compose_services().items():
        is_owner = "HOLDFAST_DB_PASSWORD" in lines
        assert is_owner == (name in {"postgres", "migrate"}), name


def test_the_server_accepts_the_login_of_compose(
    databases: DatabaseFactory, fresh_database_url: str
) -> None:
    """The statements of the script, except for roles that already exist."""
    script = (ROOT / "deploy" / "postgres-login.sh").read_text()
    (statement,) = re.findall(r"^CREATE ROLE web .*;$", script, re.MULTILINE)
    name = f"web_{uuid4().hex[:8]}"
    with psycopg.connect(databases.postgres.superuser_url, autocommit=True) as superuser:
        made = statement.replace(" web ", f" {name} ").replace(":'password'", "'secret'")
        superuser.execute(made.encode())
    owner = urlsplit(fresh_database_url)
    address = fresh_database_url.replace(f"{owner.username}:{owner.password}@", f"{name}:secret@")
    assert login_problem(address) is None
    with closing(Database(address)) as database:
        database.open()
        assert PostgresHolds(database).seconds_until_due() is None


def test_docker_compose_accepts_the_file() -> None:
    if not _has_compose():
        pytest.skip("there is no Docker Compose here")
    read = subprocess.run(
        ["docker", "compose", "-f", "deploy/compose.yaml", "config", "--format", "json"],
        cwd=ROOT,
        env=environment_of(dict.fromkeys(SECRETS, "x" * 32)),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert set(json.loads(read.stdout)["services"]) == set(compose_services())


def _has_compose() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return asked.returncode == 0


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here")
    units = []
    for unit in (ROOT / "deploy" / "systemd").iterdir():
        # The program need not be installed to check its units.
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace(PROGRAM, sys.executable))
        units.append(str(copy))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not [line for line in checked.stderr.splitlines() if "holdfast" in line]
