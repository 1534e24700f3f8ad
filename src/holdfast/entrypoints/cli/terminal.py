"""Messages to the person at the terminal, confirmations, and the signals that stop a command. Logs
go elsewhere."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from uuid import UUID

from holdfast.ports.store import StoreError

NAME_LENGTH_MAX = 200


class CommandFailed(Exception):
    """The message is shown at the terminal."""


NO_ANSWER = "there was no answer in time. Find out whether it was done before you try again"
_HINT = "is PostgreSQL running and migrated"
_OWNER_HINT = f"{_HINT}, and is HOLDFAST_OWNER_DATABASE_URL set to the owner of its tables"


@contextmanager
def needs_database(failure: str, *, as_owner: bool = False) -> Iterator[None]:
    """Say what failed if the database cannot be used."""
    try:
        yield
    except StoreError as error:
        hint = _OWNER_HINT if as_owner else _HINT
        raise CommandFailed(f"{failure}: {hint}?") from error


def printable_name(text: str) -> str:
    """The type of an argument that names something."""
    if not text.strip() or len(text) > NAME_LENGTH_MAX or not text.isprintable():
        raise argparse.ArgumentTypeError(
            f"a name must be 1 to {NAME_LENGTH_MAX} printable characters and must not be blank"
        )
    return text


def uuid_argument(text: str) -> UUID:
    """The type of an argument that is an id."""
    try:
        return UUID(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            "must be an id, such as 0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d"
        ) from None


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
