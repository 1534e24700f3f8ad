"""`holdfast dead-letters`."""

import argparse
from uuid import UUID

from holdfast.bootstrap.consumers import dead_letters
from holdfast.bootstrap.logs import redact
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import CommandFailed, say
from holdfast.ports.facts.deliveries import DeadLetters
from holdfast.ports.facts.log import DeadLetter, PublishFailed

SHOWN_MAX = 100
BODY_LENGTH_MAX = 2_000
EVERY_ONE = "all"


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "dead-letters",
        help="show or replay dead letters",
        description=f"Shows the oldest {SHOWN_MAX} messages that a consumer refused or failed to "
        "handle too often, each with the reason. Search the log for the message id to learn more.",
    )
    parser.add_argument(
        "--replay",
        metavar="ID",
        nargs="?",
        const=EVERY_ONE,
        type=_message_id,
        help="deliver this message to its consumer again; without an ID, all messages",
    )
    parser.set_defaults(run=run)


def _message_id(text: str) -> UUID | str:
    if text == EVERY_ONE:
        return text
    try:
        return UUID(text)
    except ValueError:
        raise argparse.ArgumentTypeError("ID must be a UUID") from None


def run(settings: Settings, options: argparse.Namespace) -> int:
    letters = dead_letters(settings)
    try:
        if options.replay is None:
            _show(letters)
        else:
            _replay(letters, options.replay)
    except PublishFailed as error:
        raise CommandFailed("the broker cannot be reached") from error
    return 0


def _show(letters: DeadLetters) -> None:
    found = letters.peek(SHOWN_MAX)
    for letter in found:
        _show_one(letter)
    more = " or more" if len(found) == SHOWN_MAX else ""
    say(f"{len(found)}{more} dead letter(s)")


def _show_one(letter: DeadLetter) -> None:
    body = letter.message.body[:BODY_LENGTH_MAX].decode(errors="replace")
    say(f"id      {letter.message.id}")
    say(f"type    {letter.message.type}")
    say(f"queue   {letter.queue}")
    say(f"reason  {redact(None, '', letter.reason)}")
    say(f"body    {redact(None, '', body)}")
    say()


def _replay(letters: DeadLetters, which: UUID | str) -> None:
    sent = letters.replay(which if isinstance(which, UUID) else None)
    if sent == 0 and isinstance(which, UUID):
        raise CommandFailed("there is no such dead letter")
    say(f"{sent} dead letter(s) replayed")
