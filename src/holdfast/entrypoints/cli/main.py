"""The `holdfast` program."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import SettingsError, load_settings
from holdfast.entrypoints.cli.terminal import CommandFailed

# The module of each command. Only the called command's is loaded: loading all takes twice as long.
MODULES = {
    "demo": "demo.one_service",
    "demo-services": "demo.two_services",
    "serve": "serve",
    "inventory": "inventory.serve",
    "inventory-check": "inventory.check",
    "migrate": "migrate",
    "create-organization": "accounts",
    "create-admin": "accounts",
    "keys": "keys",
    "members": "members",
    "settings": "settings",
    "holds": "holds.commands",
    "orders": "orders.commands",
    "sessions": "orders.commands",
    "forget": "privacy.commands",
    "reseal": "privacy.commands",
    "worker": "worker",
    "beat": "worker",
    "relay": "relay",
    "consume": "consume",
    "dead-letters": "dead_letters",
    "release-expired": "release_expired",
    "reconcile": "inventory.reconcile",
    "audit": "audit",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: success; 1: the command failed; 2: wrong usage."""
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
    """The parser of this command, or of all commands if there is no such command."""
    program = argparse.ArgumentParser(
        prog="holdfast",
        description="Reserves tickets and seats during checkout, and never sells one twice.",
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
