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
        help="bring the tables up to date",
        description="Brings the tables of DATABASE_URL up to date, as their owner "
        "(HOLDFAST_OWNER_DATABASE_URL where that is another login). Safe to run at any time.",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, _options: argparse.Namespace) -> int:
    try:
        migrate(settings, report=say)
    except MigrationBusy as error:
        raise CommandFailed(str(error)) from error
    except psycopg.OperationalError as error:
        raise CommandFailed("DATABASE_URL: PostgreSQL cannot be reached there") from error
    except (psycopg.Error, DatabaseError) as error:
        raise CommandFailed(
            f"PostgreSQL refused to migrate: {str(error).strip().splitlines()[0]}. "
            "Which rights the login needs is in docs/configuration.md."
        ) from error
    return 0
