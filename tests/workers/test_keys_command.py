"""`holdfast keys`, as an operator uses it."""

import re
from uuid import uuid4

import httpx
import pytest

from holdfast.entrypoints.cli.main import main
from holdfast.entrypoints.cli.terminal import CommandFailed
from tests.support.patience import wait_until
from tests.support.servers import RunningServer
from tests.workers.operator import Operator


@pytest.fixture
def operator(server: RunningServer, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(server.database_url, capsys)


def values_in(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+) +(\S+)$", text, re.MULTILINE))


def status_with(secret: str, server: RunningServer) -> int:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.get(f"{server.base_url}/api/events", headers=headers, timeout=60).status_code


def test_the_life_of_a_key(server: RunningServer, operator: Operator) -> None:
    organization = values_in(operator.says("create-organization", "River Stage"))
    id_ = organization["organization_id"]
    words = ("keys", "create", id_, "--name", "scanner", "--scopes", "catalog,facts:read", "--live")
    created = values_in(operator.says(*words, "--expires-in", "90d"))
    assert created["secret_key"].startswith("hk_live_")
    assert status_with(created["secret_key"], server) == 200
    listed = operator.says("keys", "list", id_)
    assert re.search(r"River Stage, live data.*\n.*scanner.*valid", listed)
    assert re.search(r"River Stage, test data.*\n.*first key.*valid, never used", listed)
    assert created["secret_key"] not in listed
    rotated = values_in(operator.says("keys", "rotate", created["key_id"], "--overlap", "1h"))
    assert status_with(created["secret_key"], server) == 200
    assert status_with(rotated["secret_key"], server) == 200
    assert "is revoked" in operator.says("keys", "revoke", created["key_id"], "--yes")
    wait_until(lambda: status_with(created["secret_key"], server) == 401, "it is refused")
    assert status_with(rotated["secret_key"], server) == 200


def test_unknown_ids_and_a_missing_confirmation_change_nothing(
    server: RunningServer, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    organization = values_in(operator.says("create-organization", "River Stage"))
    id_ = organization["organization_id"]
    created = values_in(operator.says("keys", "create", id_, "--name", "x"))
    for words, problem in (
        (("keys", "create", str(uuid4()), "--name", "x"), "there is no organization with this id"),
        (("keys", "list", str(uuid4())), "there is no organization with this id"),
        (("keys", "rotate", str(uuid4())), "there is no key with this id"),
        (("keys", "revoke", str(uuid4()), "--yes"), "there is no key with this id"),
        (("keys", "revoke", created["key_id"]), "pass --yes to confirm"),
        (("keys", "rotate", created["key_id"], "--overlap", "31d"), "--overlap can be 30d at most"),
    ):
        with pytest.raises(CommandFailed, match=problem):
            operator.says(*words)
    assert status_with(created["secret_key"], server) == 200


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("create", "7", "--name", "x"), "must be an id"),
        (("create", str(uuid4())), "--name"),
        (("create", str(uuid4()), "--name", " "), "a name must be"),
        (
            ("create", str(uuid4()), "--name", "x", "--scopes", "holds,reed"),
            "must be a comma-separated list of",
        ),
        (("create", str(uuid4()), "--name", "x", "--expires-in", "soon"), "30m, 24h, 7d"),
        (("create", str(uuid4()), "--name", "x", "--test", "--live"), "not allowed with"),
        (("rotate", str(uuid4()), "--overlap", "-1h"), "--overlap"),
        ((), "ACTION"),
    ],
)
def test_wrong_usage_is_explained(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("keys", *words))
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err
