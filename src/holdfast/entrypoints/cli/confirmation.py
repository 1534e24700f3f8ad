"""Confirmation of destructive commands."""

import argparse
import sys

from holdfast.entrypoints.cli.failure import CommandFailed


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def confirm(question: str, options: argparse.Namespace) -> None:
    """Ask at the terminal unless --yes is given; raises CommandFailed without a yes."""
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CommandFailed(f"{question} Cannot ask without a terminal: pass --yes to confirm.")
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise CommandFailed("nothing was changed")
