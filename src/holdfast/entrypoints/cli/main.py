"""`holdfast`: one program, a few commands."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import SettingsError, load_settings
from holdfast.entrypoints.cli.terminal import CommandFailed

# The module of each command. Only that of the one that is called is loaded: all of them take
# twice as long, and who types a command waits for it.
MODULES = {
    "demo": "demo",
    "serve": "serve",
    "migrate": "migrate",
    "create-organization": "organizations",
    "create-admin": "admins",
    "worker": "worker",
    "beat": "worker",
    "relay": "relay",
    "consume": "consume",
    "dead-letters": "dead_letters",
    "release-expired": "release_expired",
    "audit": "audit",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when all went well, 1 when the command failed, 2 when it was not understood."""
    words = sys.argv[1:] if arguments is None else arguments
    options = parser(words[0] if words else None).parse_args(words)
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


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """Of this command; of all of them where it is none of them, so that they can be told."""
    program = argparse.ArgumentParser(
        prog="holdfast",
        description="A ticket hold engine: never sells one twice, gives each back on time.",
        epilog="Everything is configured by environment variables: see docs/configuration.md.",
    )
    program.add_argument("--version", action="version", version=f"holdfast {version('holdfast')}")
    commands = program.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if command == "--version":
        return program
    modules = dict.fromkeys(MODULES.values()) if command not in MODULES else [MODULES[command]]
    for module in modules:
        import_module(f"holdfast.entrypoints.cli.{module}").register(commands)
    return program


if __name__ == "__main__":
    sys.exit(main())
