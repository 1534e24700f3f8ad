"""The deployment files start every process, with commands that exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
import yaml

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

INVENTORY_SECRETS = (
    "HOLDFAST_INVENTORY_DB_PASSWORD",
    "HOLDFAST_INVENTORY_WEB_DB_PASSWORD",
    "HOLDFAST_INVENTORY_SECRET_KEY",
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


def compose_text() -> str:
    return (ROOT / "deploy" / "compose.yaml").read_text()


def compose_services() -> dict[str, str]:
    """Each service and its lines."""
    services = compose_text().split("\nservices:\n")[1].split("\nvolumes:\n")[0]
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
    # The Inventory Service is not part of the target: most installations have none.
    units = {**LAYOUT, "inventory": ["inventory"]}
    assert in_systemd() == {name: [PROGRAM, *command] for name, command in units.items()}
    assert in_compose() == {"migrate": ["migrate"], **LAYOUT}


@pytest.mark.parametrize("command", [*LAYOUT.values(), ["inventory"]], ids=" ".join)
def test_the_commands_exist(command: list[str]) -> None:
    assert callable(parser().parse_args(command).run)


def test_compose_has_the_required_services() -> None:
    services = compose_services()
    assert set(services) == {"postgres", "valkey", "rabbitmq", "migrate", *LAYOUT}
    text = compose_text() + (ROOT / "deploy" / "compose.services.yaml").read_text()
    for variable in (*SECRETS, *INVENTORY_SECRETS):
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


def in_two_services() -> dict[str, Any]:
    """What the second file of Docker Compose adds."""
    read = yaml.safe_load((ROOT / "deploy" / "compose.services.yaml").read_text())
    return dict(read["services"])


def test_every_process_of_the_hold_service_asks_the_inventory_service() -> None:
    services = in_two_services()
    for name in LAYOUT:
        asks = services.pop(name)["environment"]
        assert set(asks) == {"HOLDFAST_INVENTORY_URL", "HOLDFAST_INVENTORY_KEY"}
        assert asks["HOLDFAST_INVENTORY_URL"] == "http://inventory:8000"
    assert set(services) == {"inventory", "inventory-migrate", "inventory-postgres"}
    commands = [services[name]["command"] for name in ("inventory", "inventory-migrate")]
    assert commands == [["inventory"], ["migrate"]]


def test_the_two_services_share_the_broker_and_no_database() -> None:
    services = in_two_services()
    settings = services["inventory"]["environment"]
    assert "@inventory-postgres/inventory" in settings["DATABASE_URL"]
    assert settings["AMQP_URL"] in compose_text()
    assert "HOLDFAST_INVENTORY_URL" not in settings
    owners = [name for name, each in services.items() if _has_owners_password(each)]
    assert owners == ["inventory-migrate", "inventory-postgres"]


def _has_owners_password(service: dict[str, Any]) -> bool:
    return "HOLDFAST_INVENTORY_DB_PASSWORD" in str(service)


@pytest.mark.parametrize("files", [["compose.yaml"], ["compose.yaml", "compose.services.yaml"]])
def test_docker_compose_accepts_the_files(files: list[str]) -> None:
    if not _has_compose():
        pytest.skip("there is no Docker Compose here")
    named = [word for name in files for word in ("-f", f"deploy/{name}")]
    read = subprocess.run(
        ["docker", "compose", *named, "config", "--format", "json"],
        cwd=ROOT,
        env=environment_of(dict.fromkeys((*SECRETS, *INVENTORY_SECRETS), "x" * 32)),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    expected = set(compose_services()) | set(in_two_services() if len(files) > 1 else ())
    assert set(json.loads(read.stdout)["services"]) == expected


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
