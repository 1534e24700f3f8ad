"""`holdfast migrate`."""

import argparse

import psycopg
from django.db import DatabaseError

from holdfast.bootstrap.database import MigrationBusy, migrate
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import CommandFailed, say


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "migrate",
        help="migrate the database",
        description="Migrates the database of DATABASE_URL to this version, as the owner of the "
        "tables (HOLDFAST_OWNER_DATABASE_URL if that is another login). Safe to run at any time.",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, _options: argparse.Namespace) -> int:
    try:
        migrate(settings, report=say)
    except MigrationBusy as error:
        raise CommandFailed(str(error)) from error
    except psycopg.OperationalError as error:
        raise CommandFailed("DATABASE_URL: PostgreSQL cannot be reached") from error
    except (psycopg.Error, DatabaseError) as error:
        raise CommandFailed(
            f"PostgreSQL refused to migrate: {str(error).strip().splitlines()[0]}. "
            "See docs/configuration.md for the rights that the login needs."
        ) from error
    return 0
