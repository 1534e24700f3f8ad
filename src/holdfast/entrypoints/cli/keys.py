"""`holdfast keys`."""

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from holdfast.bootstrap.keys import KeyDesk, UnknownKey
from holdfast.bootstrap.organizations import UnknownOrganization
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.keys import OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX, IssuedKey
from holdfast.domain.access.scopes import SCOPE_SETS, Mode, Scope, scopes_named
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.cli.terminal import (
    CommandFailed,
    add_yes,
    confirm,
    needs_database,
    printable_name,
    say,
    uuid_argument,
)
from holdfast.services.access.keys import KeyAnswered

_UNITS = {"m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9]{1,6})([mhd])")


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    keys = commands.add_parser(
        "keys",
        help="create, list, rotate and revoke API keys",
        description="Manages the API keys of an organization. A change takes effect at once on "
        "every server.",
    )
    actions = keys.add_subparsers(title="actions", metavar="ACTION", required=True)
    _register_create(actions)
    listing = actions.add_parser("list", help="list the keys of an organization")
    listing.add_argument(
        "organization",
        type=uuid_argument,
        help="the id of its test or live side; the keys of both are listed",
    )
    listing.set_defaults(run=show)
    rotation = actions.add_parser(
        "rotate",
        help="replace a key",
        description="Prints a new key with the same name, scopes and lifetime. The old one keeps "
        "working for a while, so that you can switch over.",
    )
    rotation.add_argument("key", type=uuid_argument, help="the id of the key")
    rotation.add_argument(
        "--overlap",
        type=_duration,
        default=OVERLAP_SECONDS_DEFAULT,
        metavar="TIME",
        help="how long the old key keeps working: 30m, 24h (the default), 7d",
    )
    rotation.set_defaults(run=rotate)
    revocation = actions.add_parser("revoke", help="make a key stop working at once")
    revocation.add_argument("key", type=uuid_argument, help="the id of the key")
    add_yes(revocation)
    revocation.set_defaults(run=revoke)


def _register_create(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    creation = actions.add_parser(
        "create",
        help="create a key",
        description="Creates a key and prints its secret, which is shown only once.",
    )
    creation.add_argument(
        "organization", type=uuid_argument, help="the id of the organization's test or live side"
    )
    creation.add_argument("--name", type=printable_name, required=True, help="what the key is for")
    creation.add_argument(
        "--scopes",
        type=_scopes,
        default=tuple(Scope),
        metavar="SCOPE,...",
        help=f"comma-separated scopes or scope sets ({', '.join(SCOPE_SETS)}); default: all",
    )
    creation.add_argument(
        "--expires-in", type=_duration, metavar="TIME", help="30m, 24h, 90d; the default is never"
    )
    mode = creation.add_mutually_exclusive_group()
    for each in Mode:
        mode.add_argument(
            f"--{each.value}",
            dest="mode",
            action="store_const",
            const=each,
            help=f"create it for the {each.value} side; default: the side with the given id",
        )
    creation.set_defaults(run=create)


def create(settings: Settings, options: argparse.Namespace) -> int:
    expires_at = None
    if options.expires_in is not None:
        expires_at = datetime.now(UTC) + timedelta(seconds=options.expires_in)
    with _desk(settings) as desk:
        ring = desk.ring(options.organization, options.mode)
        _show_issued(ring.create(options.name, options.scopes, expires_at))
    return 0


def show(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings) as desk:
        for side, keys in desk.keys(options.organization):
            say(f"{side.name}, {side.mode.value} data, organization {side.organization_id}")
            for key in keys:
                used = (
                    "never used" if key.last_used_at is None else f"used {key.last_used_at:%F %R}"
                )
                ends = "" if key.expires_at is None else f", expires {key.expires_at:%F %R}"
                state = f"{key.status.value}, {used}{ends}"
                say(f"  {key.id}  {key.prefix}...  {key.name}  ({state})  {' '.join(key.scopes)}")
            if not keys:
                say("  no keys")
    return 0


def rotate(settings: Settings, options: argparse.Namespace) -> int:
    if options.overlap > OVERLAP_SECONDS_MAX:
        raise CommandFailed(f"--overlap can be {OVERLAP_SECONDS_MAX // _UNITS['d']}d at most")
    with _desk(settings) as desk:
        _show_issued(desk.ring_of(options.key).rotate(options.key, options.overlap, None))
    return 0


def revoke(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings) as desk:
        ring = desk.ring_of(options.key)
        confirm(f"Requests with key {options.key} will be refused at once. Revoke it?", options)
        _refuse(ring.revoke(options.key))
    say(f"{options.key} is revoked")
    return 0


@contextmanager
def _desk(settings: Settings) -> Iterator[KeyDesk]:
    try:
        with needs_database("the keys could not be read or changed", as_owner=True):
            yield KeyDesk(settings)
    except UnknownOrganization:
        raise CommandFailed("there is no organization with this id") from None
    except UnknownKey:
        raise CommandFailed("there is no key with this id") from None


def _show_issued(answer: KeyAnswered) -> None:
    _refuse(answer)
    assert isinstance(answer.outcome, IssuedKey)
    say(f"key_id      {answer.outcome.key.id}")
    say(f"secret_key  {answer.outcome.secret}")


def _refuse(answer: KeyAnswered) -> None:
    if isinstance(answer.outcome, Refusal):
        raise CommandFailed(answer.outcome.message)


def _scopes(text: str) -> tuple[Scope, ...]:
    try:
        return scopes_named(text.split(","))
    except ValueError:
        known = ", ".join((*SCOPE_SETS, *Scope))
        raise argparse.ArgumentTypeError(f"must be a comma-separated list of {known}") from None


def _duration(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError("must be a number of minutes, hours or days: 30m, 24h, 7d")
    return int(found[1]) * _UNITS[found[2]]
