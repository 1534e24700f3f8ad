"""Asking before something is lost."""

import argparse
import sys

from holdfast.entrypoints.cli.failure import CommandFailed


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


def confirm(question: str, options: argparse.Namespace) -> None:
    """Returns when somebody agrees, here or with --yes; everything else changes nothing."""
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
