"""An invalid value stops the start with one line that names the variable."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from holdfast.bootstrap import server
from holdfast.bootstrap.settings import Settings, SettingsError, load_settings

OLD_SECRET, NEW_SECRET = "the old secret of the installation", "the new secret of the installation"

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_defaults_apply_when_nothing_is_set() -> None:
    assert load_settings({}) == Settings()
    assert load_settings({"HOLDFAST_PORT": "  "}) == Settings()


def test_variables_are_read_and_typed() -> None:
    settings = load_settings({"HOLDFAST_PORT": "9000", "DATABASE_URL": "postgresql://x/y"})
    assert (settings.holdfast_port, settings.database_url) == (9000, "postgresql://x/y")
    assert settings.owner_url == "postgresql://x/y"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOLDFAST_PORT", "eighty"),
        ("HOLDFAST_PORT", "0"),
        ("HOLDFAST_PORT", "70000"),
        ("HOLDFAST_PROCESSES", "0"),
        ("HOLDFAST_LOG_FORMAT", "xml"),
        ("HOLDFAST_SECRET_KEY", "short"),
        ("HOLDFAST_ANSWERS_KEPT_HOURS", "1"),
        ("DATABASE_URL", "mysql://secret-password@somewhere/db"),
        ("REDIS_URL", "http://somewhere"),
        ("DATABASE_URL", "postgresql://web@somewhere:notaport/db"),
        ("DATABASE_URL", "postgresql://web@somewhere/db?foo=bar"),
        ("REDIS_URL", "redis://a:b:c"),
        ("AMQP_URL", "redis://somewhere"),
        ("AMQP_URL", "amqp://somewhere:notaport/"),
        ("HOLDFAST_DUTIES", "some"),
        ("HOLDFAST_REAPER_BEAT_SECONDS", "4000"),
        ("HOLDFAST_AUDIT_MINUTES", "-1"),
        ("HOLDFAST_FACTS_KEPT_DAYS", "-7"),
        ("HOLDFAST_NOTIFIER", "pigeon"),
        ("HOLDFAST_SMTP_URL", "http://somewhere"),
        ("HOLDFAST_MAIL_FROM", "nobody"),
        ("HOLDFAST_MAIL_FROM", "Tickets <tickets@shop.example>"),
        ("HOLDFAST_MAIL_FROM", "tickets@büro.example"),
        ("HOLDFAST_PAYMENTS", "gold"),
    ],
)
def test_an_error_names_the_variable_without_its_value(variable: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({variable: value})
    message = str(refused.value)
    assert message.startswith(f"{variable}: ")
    assert "\n" not in message
    assert value not in message


@pytest.mark.parametrize(
    ("variable", "value", "takes"),
    [
        ("HOLDFAST_PORT", "0", "must be a whole number from 1 to 65535"),
        ("HOLDFAST_PROMOTER_SECONDS", "soon", "must be a number from 0.05 to 3600"),
        ("HOLDFAST_LOG_FORMAT", "xml", "must be one of console, json"),
        ("HOLDFAST_SECRET_KEY", "short", "must be at least 32 characters"),
        ("REDIS_URL", "http://somewhere", "must start with redis://"),
    ],
)
def test_the_error_says_what_the_variable_takes(variable: str, value: str, takes: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({variable: value})
    assert str(refused.value) == f"{variable}: {takes}"


def test_a_secret_that_is_listed_twice_counts_once() -> None:
    """After a rotation, it may still be among the fallbacks: hashes must not be looked up twice."""
    settings = load_settings(
        {
            "HOLDFAST_SECRET_KEY": NEW_SECRET,
            "HOLDFAST_SECRET_KEY_FALLBACKS": f"{OLD_SECRET},{NEW_SECRET},{OLD_SECRET}",
        }
    )
    assert settings.installation_secrets == (NEW_SECRET, OLD_SECRET)
    assert settings.older_secrets == (OLD_SECRET, NEW_SECRET)


def test_sending_mail_requires_a_server() -> None:
    with pytest.raises(SettingsError, match=r"^HOLDFAST_SMTP_URL: "):
        load_settings({"HOLDFAST_NOTIFIER": "smtp"})
    with_server = {"HOLDFAST_NOTIFIER": "smtp", "HOLDFAST_SMTP_URL": "smtp://mail.shop.example"}
    assert load_settings(with_server).holdfast_notifier == "smtp"


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({}, ["rates.secret_is_temporary"]),
        ({"holdfast_secret_key_is_temporary": "yes"}, ["rates.secret_is_temporary"]),
        ({"holdfast_secret_key_is_temporary": "no"}, []),
        ({"redis_url": None}, []),
    ],
)
def test_shared_rate_limits_need_a_secret_that_lasts(
    changes: dict[str, Any], warnings: list[str]
) -> None:
    """Counts named with a secret of this start never meet those of other machines."""
    secret = "s" * 40 if changes.keys() == {"holdfast_secret_key_is_temporary"} else None
    given = {"redis_url": "redis://127.0.0.1:1", "holdfast_secret_key": secret, **changes}
    with capture_logs() as logs:
        server._rates(Settings(**given), SimpleNamespace(database=None))  # type: ignore[arg-type]
    assert [each["event"] for each in logs] == warnings


@pytest.mark.parametrize(
    ("given", "warnings"),
    [
        ({}, ["addresses.not_encrypted"]),
        (
            {"holdfast_secret_key": "s" * 40, "holdfast_secret_key_is_temporary": "yes"},
            ["addresses.not_encrypted"],
        ),
        ({"holdfast_secret_key": "s" * 40}, []),
    ],
)
def test_a_server_says_that_it_stores_addresses_unencrypted(
    given: dict[str, Any], warnings: list[str]
) -> None:
    with capture_logs() as logs:
        server.Server(Settings(database_url="postgresql://nobody@127.0.0.1:1/none", **given))
    assert [each["event"] for each in logs] == warnings


def test_the_program_exits_with_that_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast.entrypoints.cli.main", "serve"],
        env={"HOLDFAST_PORT": "eighty"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert ended.stderr.strip().startswith("holdfast: HOLDFAST_PORT: ")
    assert len(ended.stderr.strip().splitlines()) == 1


def test_the_reference_lists_every_variable_and_its_default() -> None:
    text = DOCS.read_text()
    for field in msgspec.structs.fields(Settings):
        line = next(line for line in text.splitlines() if f"`{field.name.upper()}`" in line)
        default = "unset" if field.default is None else f"`{field.default}`"
        assert default in line, line
