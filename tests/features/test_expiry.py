"""Releasing expired holds by hand, and with several workers at once."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.services.holds.sweep import sweep
from tests.features.conftest import TTL_SECONDS
from tests.features.scene import Scene, scene_on
from tests.support.databases import DatabaseFactory
from tests.support.servers import RunningServer
from tests.workers.commands import run_command

scenarios("expiry.feature")


@dataclass
class Operator:
    """Runs commands and keeps their output."""

    database_url: str
    done: list[subprocess.CompletedProcess[str]] = field(default_factory=list)

    def runs(self, *arguments: str) -> None:
        self.done.append(run_command(*arguments, DATABASE_URL=self.database_url))

    @property
    def report(self) -> str:
        return self.done[-1].stdout


@pytest.fixture(scope="module")
def server_without_duties(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server without duties, on its own database so that no reaper touches it."""
    log = tmp_path_factory.mktemp("without_duties") / "log"
    with RunningServer(databases.fresh(), log, {"HOLDFAST_DUTIES": "none"}) as running:
        yield running


@pytest.fixture
def operator(server_without_duties: RunningServer) -> Operator:
    return Operator(server_without_duties.database_url)


@given("no expiry worker is running", target_fixture="scene")
def no_worker(server_without_duties: RunningServer) -> Scene:
    """Also expire what earlier scenarios left behind."""
    settings = Settings(database_url=server_without_duties.database_url)
    with EngineRoom(settings).running() as room:
        sweep(room.reaper)
    return scene_on(server_without_duties)


@given(parsers.parse("a hold for {quantity:d} tickets that expired 1 minute ago"))
def expired_a_minute_ago(scene: Scene, quantity: int) -> None:
    _place(scene, quantity, TTL_SECONDS + 60)


@given(parsers.parse("a hold for {quantity:d} tickets that expired 10 minutes ago"))
def expired_long_ago(scene: Scene, quantity: int) -> None:
    _place(scene, quantity, TTL_SECONDS + 600)


@given(parsers.parse("a hold for {quantity:d} tickets that expires in 5 minutes"))
def expires_later(scene: Scene, quantity: int) -> None:
    _place(scene, quantity, TTL_SECONDS - 300)


@given(parsers.parse("{count:d} holds that expired 1 minute ago"))
def many_expired(scene: Scene, count: int) -> None:
    scene.put_on_sale(count)
    for _ in range(count):
        scene.place(1)
        scene.holds.append(scene.hold)
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS + 60)


def _place(scene: Scene, quantity: int, seconds_ago: int) -> None:
    """Makes all earlier holds older too."""
    scene.place(quantity)
    scene.owner.let_pass(scene.platform.organization_id, seconds_ago)


@when("the operator does a dry run")
def does_a_dry_run(operator: Operator) -> None:
    operator.runs("release-expired", "--dry-run", "-v")


@when("the operator releases expired holds")
def releases(operator: Operator) -> None:
    operator.runs("release-expired")
    assert operator.done[-1].returncode == 0, operator.done[-1].stderr


@when("the operator runs the integrity check")
def runs_the_integrity_check(operator: Operator) -> None:
    operator.runs("audit")


@when(parsers.parse("{count:d} expiry workers run at once"))
def several_workers_run(server_without_duties: RunningServer, count: int) -> None:
    settings = Settings(database_url=server_without_duties.database_url)
    rooms = [EngineRoom(settings) for _ in range(count)]
    for room in rooms:
        room.start()
    with ThreadPoolExecutor(count) as pool:
        swept = list(pool.map(lambda room: sweep(room.reaper), rooms))
    for room in rooms:
        room.stop()
    assert not any(each.failed for each in swept)


@then(parsers.parse('the report says "{line}"'))
def report_says(operator: Operator, line: str) -> None:
    assert line in operator.report.splitlines()


@then("the report names the hold")
def report_names(operator: Operator, scene: Scene) -> None:
    assert scene.hold["hold_id"] in operator.report
    assert scene.hold["session_id"] in operator.report
    assert "@" not in operator.report


@then("the hold is not released yet")
def not_released(scene: Scene) -> None:
    assert scene.owner.status(scene.hold["hold_id"]) == "active"


@then("each hold was expired exactly once")
def expired_once(scene: Scene) -> None:
    for hold in scene.holds:
        kinds = [kind for kind, _ in scene.owner.facts(hold["hold_id"])]
        assert kinds == ["hold.created", "hold.expired"]
    assert scene.held() == 0


@then(parsers.parse('the check finds "{damage}"'))
def the_check_finds(operator: Operator, damage: str) -> None:
    assert operator.done[-1].returncode == 1
    (line,) = (line for line in operator.report.splitlines() if line.startswith("FOUND"))
    assert line.endswith(damage)


@then("all checks pass")
def all_checks_pass(operator: Operator) -> None:
    assert operator.done[-1].returncode == 0, operator.report
    assert operator.report.splitlines()[-1] == "All checks passed."
