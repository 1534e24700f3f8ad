"""`holdfast create-admin`."""

import argparse
import getpass
import os
import re
import sys

import psycopg
from django.db import DatabaseError

from holdfast.bootstrap.accounts import ensure_admin, is_known_person
from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.terminal import CommandFailed, add_yes, confirm, say

PASSWORD_VARIABLE = "HOLDFAST_ADMIN_PASSWORD"  # noqa: S105
PASSWORD_LENGTH_MIN = 12
_NAME = re.compile(r"[\w.@+-]{1,150}")


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "create-admin",
        help="let a person log in to the admin pages",
        description="Creates a user of the admin pages, or, after asking, sets a new password for "
        f"an existing one. Prompts for the password unless {PASSWORD_VARIABLE} is set.",
    )
    parser.add_argument("name", type=_name, help="the name to log in with")
    add_yes(parser)
    parser.set_defaults(run=run)


def _name(text: str) -> str:
    """The same rule as in the admin pages."""
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            "a name must be 1 to 150 characters: letters, digits and @ . + - _"
        )
    return text


def run(settings: Settings, options: argparse.Namespace) -> int:
    if settings.owner_url is None:
        raise SettingsError("DATABASE_URL: must be set")
    setup_django(settings)
    try:
        return _run(options)
    except (DatabaseError, psycopg.Error) as error:
        raise CommandFailed(
            "the user could not be created: is PostgreSQL running and migrated?"
        ) from error


def _run(options: argparse.Namespace) -> int:
    if is_known_person(options.name):
        confirm(f"{options.name} already exists. Set a new password?", options)
    password = os.environ.get(PASSWORD_VARIABLE) or _asked()
    if len(password) < PASSWORD_LENGTH_MIN:
        raise CommandFailed(f"the password must have at least {PASSWORD_LENGTH_MIN} characters")
    ensure_admin(options.name, password)
    say(f"{options.name} can log in at /admin/")
    return 0


def _asked() -> str:
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"cannot ask for a password without a terminal: set {PASSWORD_VARIABLE}"
        )
    return getpass.getpass("Password: ")
