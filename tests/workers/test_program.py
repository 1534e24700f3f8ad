"""The program `holdfast`: its commands, and what each of them loads."""

import subprocess
import sys

import pytest

from holdfast.entrypoints.cli.main import MODULES, main

LOADED = """
import sys
from holdfast.entrypoints.cli.main import parser

parser(*sys.argv[1:])
print(*(name for name in ("django.db", "kombu", "holdfast.engine") if name in sys.modules))
"""


def loaded(*command: str) -> list[str]:
    """What is there once the options of the command are known."""
    program = [sys.executable, "-c", LOADED, *command]
    return subprocess.run(program, capture_output=True, check=True, text=True).stdout.split()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main(words)
    return capsys.readouterr().out


def test_all_commands_are_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "--help").splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("    ")]
    assert [word for word in listed if word in MODULES] == list(MODULES)


@pytest.mark.parametrize("command", MODULES)
def test_each_command_knows_its_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert told(capsys, command, "--help").startswith(f"usage: holdfast {command} ")


def test_a_command_loads_only_what_it_needs() -> None:
    assert loaded("relay") == ["kombu"]
    assert loaded() == ["django.db", "kombu", "holdfast.engine"], "the control: all commands"
