"""A project without databases of its own: Holdfast needs none of them, and adds no model."""

import json
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from holdfast.entrypoints.drf.conf import configured
from tests.support.databases import own_environment, server_url
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import INSTALLATION_SECRET, ROOT, RunningServer

SECONDS_MAX = 120


@pytest.fixture
def sold(server: RunningServer) -> tuple[Platform, Sale]:
    platform = new_platform(server.base_url, server.database_url)
    return platform, platform.on_sale(100)


@pytest.mark.parametrize("mode", ["in process", "server"])
def test_holds_work_in_every_process_and_buyers_are_throttled(
    server: RunningServer, sold: tuple[Platform, Sale], mode: str
) -> None:
    platform, sale = sold
    engine = {
        "DATABASE_URL": server_url(server.database_url),
        "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
        "HOLDFAST_DEADLINE_SECONDS": "30",
        "HOLDFAST_DUTIES": "none",
    }
    where = {"IN_PROCESS": engine} if mode == "in process" else {"SERVER_URL": server.base_url}
    configured = {
        "holdfast": {**where, "KEY": platform.secret_key, "THROTTLE_RATES": {"change": "2/hour"}},
        "key": platform.secret_key,
        "token": platform.token(user_id="buyer"),
        "body": {
            "session_id": sale.session_id,
            "ticket_type_id": sale.ticket_type_id,
            "quantity": 1,
            "user_id": "somebody",
        },
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.drf.bare_project", json.dumps(configured)],
        # The project's own database is not Holdfast's.
        env={**own_environment(), "DATABASE_URL": "postgresql://the-projects-own.example/x"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert ("holdfast-api" in seen.pop("threads")) is (mode == "in process")
    seconds = int(seen.pop("retry after"))
    assert 1 <= seconds <= 3600
    assert seen == {
        "threads before": [],
        "placed": 201,
        "in a fork": 0,
        "placed after the fork": 201,
        "throttled": [201, 201, 429],
        "problem": "too_many_requests",
        "never throttled": [201, 201, 201],
        "called": 200,
        "models": [],
    }
    assert platform.available(sale) == [100 - 8]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({}, "set either IN_PROCESS"),
        ({"SERVER_URL": "http://x", "IN_PROCESS": {"DATABASE_URL": "x"}}, "set either IN_PROCESS"),
        ({"IN_PROCESS": {"REDIS_URL": "x"}}, "DATABASE_URL must be set"),
        ({"SERVER_URL": "http://x"}, "KEY"),
        ({"SERVER_URL": "http://x", "KEY": "hk_x", "TIMEOUT": 3}, "unknown TIMEOUT"),
    ],
)
def test_a_mistake_in_the_setting_is_found_by_check(
    setting: dict[str, object], message: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=message):
        configured(setting)
