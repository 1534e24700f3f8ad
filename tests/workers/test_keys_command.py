"""`holdfast keys`, as an operator uses it."""

import re
from uuid import uuid4

import httpx
import pytest

from holdfast.entrypoints.cli.main import main
from tests.support.servers import RunningServer
from tests.workers.commands import run_command


def said(*words: str, url: str) -> str:
    done = run_command(*words, HOLDFAST_OWNER_DATABASE_URL=url, DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    return done.stdout


def values_in(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+) +(\S+)$", text, re.MULTILINE))


def status_with(secret: str, server: RunningServer) -> int:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.get(f"{server.base_url}/api/events", headers=headers, timeout=60).status_code


def test_the_life_of_a_key(server: RunningServer) -> None:
    url = server.database_url
    organization = values_in(said("create-organization", "River Stage", url=url))
    id_ = organization["organization_id"]
    words = ("keys", "create", id_, "--name", "scanner", "--scopes", "catalog,facts:read", "--live")
    created = values_in(said(*words, "--expires-in", "90d", url=url))
    assert created["secret_key"].startswith("hk_live_")
    assert status_with(created["secret_key"], server) == 200
    listed = said("keys", "list", id_, url=url)
    assert re.search(r"River Stage, live data.*\n.*scanner.*valid", listed)
    assert re.search(r"River Stage, test data.*\n.*first key.*valid, never used", listed)
    assert created["secret_key"] not in listed
    rotated = values_in(said("keys", "rotate", created["key_id"], "--overlap", "1h", url=url))
    assert status_with(created["secret_key"], server) == 200
    assert status_with(rotated["secret_key"], server) == 200
    assert "is revoked" in said("keys", "revoke", created["key_id"], "--yes", url=url)
    assert status_with(created["secret_key"], server) == 401
    assert status_with(rotated["secret_key"], server) == 200


def test_unknown_ids_and_a_missing_confirmation_change_nothing(server: RunningServer) -> None:
    url = server.database_url
    key = said("create-organization", "River Stage", url=url)
    organization_id = values_in(key)["organization_id"]
    created = values_in(said("keys", "create", organization_id, "--name", "x", url=url))
    for words, problem in (
        (("keys", "create", str(uuid4()), "--name", "x"), "there is no organization with this id"),
        (("keys", "list", str(uuid4())), "there is no organization with this id"),
        (("keys", "rotate", str(uuid4())), "there is no key with this id"),
        (("keys", "revoke", str(uuid4()), "--yes"), "there is no key with this id"),
        (("keys", "revoke", created["key_id"]), "pass --yes to confirm"),
        (("keys", "rotate", created["key_id"], "--overlap", "31d"), "--overlap can be 30d at most"),
    ):
        done = run_command(*words, HOLDFAST_OWNER_DATABASE_URL=url, DATABASE_URL=url)
        assert done.returncode == 1
        assert problem in done.stderr
    assert status_with(created["secret_key"], server) == 200


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("create", "7", "--name", "x"), "must be an id"),
        (("create", str(uuid4())), "--name"),
        (("create", str(uuid4()), "--name", " "), "a name must be"),
        (("create", str(uuid4()), "--name", "x", "--scopes", "holds,reed"), "must be some of"),
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
