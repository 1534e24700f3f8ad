"""Messages to the person at the terminal, confirmations, and the signals that stop a command. Logs
go elsewhere."""

import argparse
import signal
import sys
from threading import Event


class CommandFailed(Exception):
    """The message is shown at the terminal."""


def say(text: str = "") -> None:
    print(text, flush=True)  # noqa: T201


def stop_signal() -> Event:
    """Set by SIGTERM and by Ctrl-C."""
    stopped = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stopped.set())
    return stopped


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
