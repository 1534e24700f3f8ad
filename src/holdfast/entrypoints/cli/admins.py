"""`holdfast create-admin`."""

import argparse
import getpass
import os
import sys

import psycopg
from django.db import DatabaseError

from holdfast.bootstrap.database import ensure_admin, setup_django
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.failure import CommandFailed
from holdfast.entrypoints.cli.output import say

PASSWORD_VARIABLE = "HOLDFAST_ADMIN_PASSWORD"  # noqa: S105
PASSWORD_LENGTH_MIN = 12


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "create-admin",
        help="let a person log in to the admin pages",
        description="Makes a user of the admin pages, or gives an existing one a new password. "
        f"Asks for the password, or takes it from {PASSWORD_VARIABLE}.",
    )
    parser.add_argument("name", help="the name to log in with")
    parser.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    if settings.owner_url is None:
        raise SettingsError("DATABASE_URL: must be set")
    password = os.environ.get(PASSWORD_VARIABLE) or _asked()
    if len(password) < PASSWORD_LENGTH_MIN:
        raise CommandFailed(f"a password has at least {PASSWORD_LENGTH_MIN} characters")
    setup_django(settings)
    try:
        ensure_admin(options.name, password)
    except (DatabaseError, psycopg.Error) as error:
        raise CommandFailed(
            "the user could not be made: is PostgreSQL there, and is it migrated?"
        ) from error
    say(f"{options.name} may log in at /admin/")
    return 0


def _asked() -> str:
    if not sys.stdin.isatty():
        raise CommandFailed(f"there is nobody to ask for a password: set {PASSWORD_VARIABLE}")
    return getpass.getpass("Password: ")
