"""`holdfast forget` and `holdfast reseal`."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.bootstrap.organizations import UnknownOrganization
from holdfast.bootstrap.privacy import desk
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress, InvalidValue
from holdfast.entrypoints.cli.terminal import (
    CommandFailed,
    add_yes,
    confirm,
    needs_database,
    say,
    uuid_argument,
)
from holdfast.ports.privacy.addresses import SecretMissing

_REPORTED_EVERY = 10_000


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    forget = commands.add_parser(
        "forget",
        help="erase a person's data",
        description="Erases an e-mail address, with the names, notes and metadata beside it, from "
        "ended holds, orders, tickets, facts and the audit log. Refused where the person still has "
        "open holds.",
    )
    forget.add_argument(
        "email", help="the address, or - to read it from standard input and out of the history"
    )
    forget.add_argument(
        "--organization",
        type=uuid_argument,
        help="only this organization, given the id of its test or live side",
    )
    add_yes(forget)
    forget.set_defaults(run=run_forget)
    reseal = commands.add_parser(
        "reseal",
        help="encrypt stored addresses with the current secret",
        description="Encrypts stored addresses and attendees with HOLDFAST_SECRET_KEY that were "
        "stored without a secret or with one of HOLDFAST_SECRET_KEY_FALLBACKS. Safe to run while "
        "the servers work, and to repeat.",
    )
    reseal.set_defaults(run=run_reseal)


def run_forget(settings: Settings, options: argparse.Namespace) -> int:
    email = _address(options.email)
    confirm("Erased data cannot be restored. Erase this person's data?", options)
    wanted = options.organization
    organization_id = None if wanted is None else OrganizationId(wanted)
    is_refused = False
    trouble = "the person could not be forgotten"
    try:
        with _says_what_is_missing(), needs_database(trouble, as_owner=True):
            for side, outcome in desk.forget(settings, email, organization_id):
                is_refused |= isinstance(outcome, Refusal)
                if isinstance(outcome, Refusal):
                    holds = outcome.details.get("hold_ids")
                    listed = f": {', '.join(map(str, holds))}" if isinstance(holds, list) else ""
                    say(f"{side.organization_id} {side.mode}: {outcome.message}{listed}")
                elif any(counts := outcome.counts().values()):
                    names = (name.replace("_", " ") for name in outcome.counts())
                    erased = ", ".join(f"{n} {name}" for n, name in zip(counts, names, strict=True))
                    say(f"{side.organization_id} {side.mode}: erased from {erased}")
    except UnknownOrganization:
        raise CommandFailed("there is no organization with this id") from None
    if is_refused:
        return 1
    say("Everything that these secrets find by this address is erased.")
    return 0


@contextmanager
def _says_what_is_missing() -> Iterator[None]:
    """Name the missing secret, instead of saying that the database cannot be used."""
    try:
        yield
    except CommandFailed as failure:
        if isinstance(failure.__cause__, SecretMissing):
            raise CommandFailed(str(failure.__cause__)) from None
        raise


def _address(text: str) -> EmailAddress:
    try:
        return EmailAddress(sys.stdin.readline().strip() if text == "-" else text)
    except InvalidValue as error:
        raise CommandFailed(error.message) from None


def run_reseal(settings: Settings, _: argparse.Namespace) -> int:
    if not settings.installation_secrets:
        raise SettingsError("HOLDFAST_SECRET_KEY: must be set to encrypt addresses with it")
    totals: dict[str, tuple[int, int]] = {}
    trouble = "the addresses could not be encrypted"
    with _says_what_is_missing(), needs_database(trouble, as_owner=True):
        resealing = desk.resealing(settings)
        for table, seen, changed in resealing.run():
            if seen // _REPORTED_EVERY > totals.get(table, (0, 0))[0] // _REPORTED_EVERY:
                say(f"{table}: {seen} seen, {changed} encrypted again")
            totals[table] = (seen, changed)
        left = resealing.finish()
    changed = sum(each for _, each in totals.values())
    if left:
        say(
            f"Encrypted {changed} rows again. {left} rows don't use the current secret: a process "
            "has written them with another one meanwhile, or they are damaged. Restart all "
            "processes with the current secret as HOLDFAST_SECRET_KEY, then run this again."
        )
        return 1
    say(f"Encrypted {changed} rows again. All use the current secret.")
    return 0
