"""How a command talks to the person at the terminal, and hears that it should stop. Logs go
elsewhere."""

import argparse
import signal
import sys
from threading import Event


class CommandFailed(Exception):
    """One clear sentence for the person at the terminal."""


def say(text: str = "") -> None:
    print(text, flush=True)  # noqa: T201


def stop_signal() -> Event:
    """Set by SIGTERM and by Ctrl-C."""
    stopped = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stopped.set())
    return stopped


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
