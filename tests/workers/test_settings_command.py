"""`holdfast settings`, as an operator uses it."""

from getpass import getuser
from uuid import uuid4

import pytest

from holdfast.entrypoints.cli.main import main
from holdfast.entrypoints.cli.terminal import CommandFailed
from tests.support.platform import Platform
from tests.support.servers import RunningServer
from tests.workers.operator import Operator


@pytest.fixture
def operator(server: RunningServer, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(server.database_url, capsys)


def shown(operator: Operator, *words: str) -> dict[str, str]:
    printed = operator.says("settings", *words)
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in printed.splitlines()}


def test_settings_are_shown_changed_and_restored(operator: Operator, platform: Platform) -> None:
    before = shown(operator, platform.organization_id)
    assert (before["mode"], before["time_zone"], before["ttl_seconds"]) == ("test", "UTC", "-")
    change = ("ttl_seconds=60", "waitlist=true", "time_zone=Europe/Berlin", "mail_name=Box office")
    after = shown(operator, platform.organization_id, *change)
    assert (after["ttl_seconds"], after["waitlist"]) == ("60", "true")
    assert (after["time_zone"], after["mail_name"]) == ("Europe/Berlin", "Box office")
    assert platform.place(platform.on_sale(5)).json()["expires_in_seconds"] <= 60
    restored = shown(operator, platform.organization_id, "ttl_seconds=", "waitlist=", "mail_name=")
    assert (restored["ttl_seconds"], restored["waitlist"]) == ("-", "-")
    assert restored["mail_name"] == "-"


def test_the_audit_names_the_login_of_the_shell(operator: Operator, platform: Platform) -> None:
    shown(operator, platform.organization_id, "ttl_seconds=60")
    sent = {"action": "organization.changed", "actor": "operator"}
    (entry,) = platform.client.get("/api/audit", params=sent).json()["data"]
    assert entry["acting_user"] == getuser()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("ttl_seconds=soon", "ttl_seconds must be a whole number from 1 to 604800"),
        ("ttl_seconds=0", "ttl_seconds must be a whole number from 1 to 604800"),
        ("waitlist=perhaps", "waitlist must be true or false"),
        ("time_zone=Mars", "time_zone must be the name of a time zone"),
        ("name=", "name must be 1 to 200"),
        ("pay_url=ftp://a.example", "pay_url must be a URL"),
    ],
)
def test_an_invalid_value_is_explained(
    operator: Operator, platform: Platform, change: str, problem: str
) -> None:
    before = shown(operator, platform.organization_id)
    with pytest.raises(CommandFailed, match=problem):
        operator.says("settings", platform.organization_id, "mail_footer=x", change)
    assert shown(operator, platform.organization_id) == before


def test_an_unknown_organization_is_named_as_such(operator: Operator) -> None:
    with pytest.raises(CommandFailed, match="there is no organization with this id"):
        operator.says("settings", str(uuid4()))


@pytest.mark.parametrize("word", ["ttl_seconds", "colour=red", "=1"])
def test_wrong_usage_is_explained(capsys: pytest.CaptureFixture[str], word: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("settings", str(uuid4()), word))
    assert ended.value.code == 2
    assert "must be NAME=VALUE" in capsys.readouterr().err
