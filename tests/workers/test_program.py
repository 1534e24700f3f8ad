"""The `holdfast` program: its commands, and the modules each of them loads."""

import subprocess
import sys
from argparse import Namespace
from contextlib import nullcontext
from importlib.metadata import version
from uuid import uuid4

import pytest

from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli import accounts
from holdfast.entrypoints.cli.main import MODULES, main
from holdfast.entrypoints.cli.terminal import CommandFailed, confirm
from tests.support.auditing import rows

LOADED = """
import sys
from holdfast.entrypoints.cli.main import parser

parser(*sys.argv[1:])
print(*(name for name in ("django.db", "kombu", "holdfast.engine") if name in sys.modules))
"""


def loaded(*command: str) -> list[str]:
    """The modules loaded once the command's options are parsed."""
    program = [sys.executable, "-c", LOADED, *command]
    return subprocess.run(program, capture_output=True, check=True, text=True).stdout.split()


def output_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main(words)
    return capsys.readouterr().out


def test_all_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output_of(capsys, "--help").splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("    ")]
    assert [word for word in listed if word in MODULES] == list(MODULES)


@pytest.mark.parametrize("command", MODULES)
def test_each_command_knows_its_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert output_of(capsys, command, "--help").startswith(f"usage: holdfast {command} ")


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_of(capsys, "--version") == f"holdfast {version('holdfast')}\n"
    assert loaded("--version") == []


@pytest.mark.parametrize(
    "words",
    [
        ("create-organization", "   "),
        ("create-organization", ""),
        ("create-organization", "\u3000"),
        ("create-organization", "x" * 201),
        ("create-admin", "bob smith!"),
        ("create-admin", ""),
        ("create-admin", " "),
        ("create-admin", "x" * 151),
    ],
)
def test_an_invalid_name_is_rejected(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "a name must be 1 to" in capsys.readouterr().err


@pytest.mark.parametrize(("said", "is_agreed"), [("y", True), ("Yes ", True), ("", False)])
def test_only_yes_confirms_a_question(
    monkeypatch: pytest.MonkeyPatch, said: str, is_agreed: bool
) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return said

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", answer)
    with nullcontext() if is_agreed else pytest.raises(CommandFailed, match="nothing was changed"):
        confirm("Delete it?", Namespace(yes=False))
    assert asked == ["Delete it? [y/N] "]
    confirm("Delete it?", Namespace(yes=True))
    assert len(asked) == 1


def test_end_of_input_declines_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang_up(_question: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", hang_up)
    with pytest.raises(CommandFailed, match="nothing was changed"):
        confirm("Delete it?", Namespace(yes=False))


def test_an_existing_admin_gets_a_new_password_only_after_confirmation(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"ann-{uuid4().hex[:8]}"

    def make(password: str, *, yes: bool = False) -> None:
        monkeypatch.setenv("HOLDFAST_ADMIN_PASSWORD", password)
        accounts.create_admin(Settings(database_url=database_url), Namespace(name=name, yes=yes))

    def stored() -> object:
        return rows(database_url, "SELECT password FROM auth_user WHERE username = %s", name)

    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    make("correct horse battery")
    first = stored()
    with pytest.raises(CommandFailed, match=f"{name} already exists. Set a new password.*--yes"):
        make("another long password")
    assert stored() == first
    make("another long password", yes=True)
    assert stored() != first


def test_a_command_loads_only_what_it_needs() -> None:
    assert loaded("relay") == []
    assert loaded() == ["django.db", "kombu", "holdfast.engine"], "control: all commands"
