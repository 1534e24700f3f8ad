"""`holdfast`: one program, a few commands."""

import argparse
import sys
from collections.abc import Sequence

from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import SettingsError, load_settings
from holdfast.entrypoints.cli import (
    admins,
    auditing,
    consuming,
    dead_letters,
    demo,
    migrating,
    organizations,
    relaying,
    releasing_expired,
    serving,
    working,
)
from holdfast.entrypoints.cli.failure import CommandFailed

_COMMANDS = (
    *(demo, serving, migrating, organizations, admins),
    *(working, relaying, consuming, dead_letters, releasing_expired, auditing),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when all went well, 1 when the command failed, 2 when it was not understood."""
    options = parser().parse_args(arguments)
    try:
        settings = load_settings()
        configure_logs(settings)
        code: int = options.run(settings, options)
    except (SettingsError, CommandFailed) as error:
        print(f"holdfast: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def parser() -> argparse.ArgumentParser:
    program = argparse.ArgumentParser(
        prog="holdfast",
        description="A ticket hold engine: never sells one twice, gives each back on time.",
        epilog="Everything is configured by environment variables: see docs/configuration.md.",
    )
    commands = program.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.register(commands)
    return program


if __name__ == "__main__":
    sys.exit(main())
