"""`holdfast create-organization` and `holdfast create-admin`."""

import argparse
import getpass
import os
import sys

import psycopg
from django.db import DatabaseError

from holdfast.bootstrap import accounts
from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.members import PASSWORD_LENGTH_MIN, normal_username
from holdfast.domain.access.scopes import Mode
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.cli.terminal import (
    CommandFailed,
    add_yes,
    confirm,
    needs_database,
    printable_name,
    say,
)

PASSWORD_VARIABLE = "HOLDFAST_ADMIN_PASSWORD"  # noqa: S105


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    organization = commands.add_parser(
        "create-organization",
        help="create an organization and its first secret key",
        description="Creates an organization, with separate test and live data, and prints the id "
        "of one of the two and a secret key for it. The key is shown only once: Holdfast stores "
        "only its hash.",
    )
    organization.add_argument("name", type=printable_name, help="its display name")
    organization.add_argument(
        "--live", action="store_true", help="print a live key (hk_live_...), not a test key"
    )
    organization.set_defaults(run=create_organization)
    admin = commands.add_parser(
        "create-admin",
        help="let a person log in to the admin pages",
        description="Creates a user of the admin pages, or, after asking, sets a new password for "
        f"an existing one. Prompts for the password unless {PASSWORD_VARIABLE} is set.",
    )
    admin.add_argument("name", type=user_name, help="the name to log in with")
    add_yes(admin)
    admin.set_defaults(run=create_admin)


def user_name(text: str) -> str:
    """The same rule as in the admin pages."""
    try:
        return normal_username(text)
    except InvalidValue:
        raise argparse.ArgumentTypeError(
            "a name must be 1 to 150 characters: letters, digits and @ . + - _"
        ) from None


def create_organization(settings: Settings, options: argparse.Namespace) -> int:
    mode = Mode.LIVE if options.live else Mode.TEST
    with needs_database("the organization could not be created", as_owner=True):
        organization_id, secret = accounts.create_organization(settings, options.name, mode)
    say(f"organization_id  {organization_id}")
    say(f"secret_key       {secret}")
    return 0


def create_admin(settings: Settings, options: argparse.Namespace) -> int:
    _ = settings.required_owner_url  # Django would only say that it cannot connect
    setup_django(settings)
    try:
        if accounts.is_known_person(options.name):
            confirm(f"{options.name} already exists. Set a new password?", options)
        password = os.environ.get(PASSWORD_VARIABLE) or _asked()
        if len(password) < PASSWORD_LENGTH_MIN:
            raise CommandFailed(f"the password must have at least {PASSWORD_LENGTH_MIN} characters")
        accounts.ensure_admin(options.name, password)
    except accounts.BelongsToOrganization:
        raise CommandFailed(
            f"{options.name} is an account of an organization: choose another name"
        ) from None
    except (DatabaseError, psycopg.Error) as error:
        raise CommandFailed(
            "the user could not be created: is PostgreSQL running and migrated?"
        ) from error
    say(f"{options.name} can log in at /admin/")
    return 0


def _asked() -> str:
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"cannot ask for a password without a terminal: set {PASSWORD_VARIABLE}"
        )
    return getpass.getpass("Password: ")
