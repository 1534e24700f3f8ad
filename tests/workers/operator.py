"""An operator at the terminal, in this process: starting a program for each command takes a second
or two."""

from dataclasses import dataclass

import pytest

from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.main import parser


@dataclass
class Operator:
    database_url: str
    capsys: pytest.CaptureFixture[str]

    def says(self, *words: str, exit_code: int = 0) -> str:
        """What the command prints. It may raise CommandFailed."""
        options = parser(words[0]).parse_args(words)
        assert options.run(Settings(database_url=self.database_url), options) == exit_code
        return self.capsys.readouterr().out
