"""`holdfast holds`."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from holdfast.bootstrap.holds.desk import (
    AmbiguousHold,
    HoldDesk,
    Unanswered,
    UnknownHold,
    hold_desk,
)
from holdfast.bootstrap.settings import Settings
from holdfast.domain.amounts import written
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import REASON_LENGTH_MAX
from holdfast.domain.group.outcomes import Extended, Released
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.policy import TTL_SECONDS_MAX
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.holds.answers import placed_hold_answer
from holdfast.entrypoints.cli.terminal import (
    NO_ANSWER,
    CommandFailed,
    add_yes,
    confirm,
    needs_database,
    say,
    uuid_argument,
)
from holdfast.ports.holds import SeenHold
from holdfast.services.reads import HoldWithPosition

_SECONDS_PER_MINUTE = 60
MINUTES_MAX = TTL_SECONDS_MAX // _SECONDS_PER_MINUTE


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    holds = commands.add_parser(
        "holds",
        help="show, extend and release a hold",
        description="Shows or changes a single hold. Exit code 0: done; 1: refused, or no such "
        "hold; 2: wrong usage. A refusal changes nothing.",
    )
    actions = holds.add_subparsers(title="actions", metavar="ACTION", required=True)
    _action(
        actions, "show", show, "show a hold", "Shows a hold, with the e-mail address shortened."
    )
    extension = _action(
        actions,
        "extend",
        extend,
        "give a hold more time",
        "Extends an active hold, even beyond the limits of its policy.",
    )
    extension.add_argument(
        "--minutes", type=_minutes, required=True, help=f"how many to add, 1 to {MINUTES_MAX}"
    )
    add_reason(extension)
    releasing = _action(
        actions,
        "release",
        release,
        "release a hold",
        "Releases an active hold, whose places are free at once, or takes a waiting one off the "
        "waitlist. A buyer with an e-mail address is notified.",
    )
    add_reason(releasing)
    add_yes(releasing)


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[Settings, argparse.Namespace], int],
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    action = actions.add_parser(name, help=summary, description=description)
    action.add_argument("hold", help="its reference, such as K7M2QX, or its id")
    action.add_argument(
        "--organization",
        type=uuid_argument,
        metavar="ID",
        help="look only here; needed if several organizations have such a hold",
    )
    action.add_argument("--json", action="store_true", help="print the hold as the API does")
    action.set_defaults(run=run)
    return action


def add_reason(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--reason",
        type=_reason,
        required=True,
        help="recorded in the audit log; do not enter personal data",
    )


def show(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings) as desk:
        _print(desk, desk.find(options.hold, options.organization), options)
    return 0


def extend(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings) as desk:
        hold = desk.find(options.hold, options.organization).hold
        seconds = options.minutes * _SECONDS_PER_MINUTE
        command = ExtendHold(
            hold.organization_id,
            hold.id,
            seconds,
            desk.origin(options.reason),
            is_operator=True,
        )
        _act(desk, command, options)
    return 0


def release(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings) as desk:
        seen = desk.find(options.hold, options.organization)
        hold = seen.hold
        what = f"{hold.reference}: {_places(hold)}"
        if hold.is_waiting(seen.at):
            confirm(f"{what}. It loses its place on the waitlist. Remove it?", options)
        else:
            confirm(f"{what} will be free at once. Release it?", options)
        command = ReleaseHold(
            hold.organization_id,
            hold.id,
            desk.origin(options.reason),
            is_operator=True,
            seen_version=hold.version,
        )
        _act(desk, command, options)
    return 0


def _act(desk: HoldDesk, command: Command, options: argparse.Namespace) -> None:
    outcome = desk.act(command)
    if isinstance(outcome, Refusal):
        raise CommandFailed(f"{outcome.message} ({outcome.code.value})")
    assert isinstance(outcome, Extended | Released)
    _print(desk, SeenHold(outcome.hold, outcome.at), options)


def _print(desk: HoldDesk, seen: SeenHold, options: argparse.Namespace) -> None:
    hold = seen.hold
    place = desk.place(seen) if hold.is_waiting(seen.at) else None
    if options.json:
        answer = placed_hold_answer(HoldWithPosition(seen, place))
        say(msgspec.json.format(msgspec.json.encode(answer)).decode())
        return
    holder = hold.holder
    email = None if holder.email is None else holder.email.redacted
    shown = {
        "reference": hold.reference,
        "hold_id": str(hold.id),
        "organization": str(hold.organization_id),
        "session_id": str(hold.session_id),
        "status": hold.status_at(seen.at).value,
        "position": None if place is None else str(place.position),
        "holder": " ".join(filter(None, (email, holder.user_id))),
        "places": _places(hold),
        "total": written(hold.total),
        "expires_at": f"{hold.expires_at:%Y-%m-%d %H:%M:%S}Z",
        "version": str(hold.version),
    }
    for name, value in shown.items():
        if value is not None:
            say(f"{name:<13}{value}")


def _places(hold: Hold) -> str:
    blocks = Counter(seat.block_name for seat in hold.seats)
    parts = [f"{seats} seat(s) in {name}" for name, seats in blocks.items()]
    others = hold.quantity - len(hold.seats)
    return ", ".join([*parts, f"{others} ticket(s)"] if others else parts)


@contextmanager
def _desk(settings: Settings) -> Iterator[HoldDesk]:
    try:
        with needs_database("the hold could not be read or changed"), hold_desk(settings) as desk:
            yield desk
    except Unanswered:
        raise CommandFailed(NO_ANSWER) from None
    except UnknownHold:
        raise CommandFailed("there is no hold with this reference or id") from None
    except AmbiguousHold as error:
        sides = (f"{each.organization_id} ({each.name}, {each.mode})" for each in error.sides)
        raise CommandFailed(
            f"several organizations have such a hold. Pass --organization: {', '.join(sides)}"
        ) from None


def _minutes(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MINUTES_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {MINUTES_MAX}")
    return int(text)


def _reason(text: str) -> str:
    if not text.strip() or len(text) > REASON_LENGTH_MAX or not text.isprintable():
        raise argparse.ArgumentTypeError(
            f"a reason must be 1 to {REASON_LENGTH_MAX} printable characters"
        )
    return text
